"""Start a program of a job apart from the host: without its processes, and with as much of its network and files as was said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, NamedTuple
from urllib.parse import urlsplit

import tracebench_core
import tracebench_sandbox
from tracebench_core.contracts import Problem
from tracebench_core.errors import ModelError, ProgramError
from tracebench_core.specs import Cage
from tracebench_sandbox.granted import granted_folders
from tracebench_sandbox.jail import ENCLOSED, LIMITS, ONLY, TELL

_HOMES = [
    *dict.fromkeys(str(Path(place).parent) for it in (tracebench_sandbox, tracebench_core) for place in it.__path__)
]
APART = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path[:0] = {_HOMES!r}; from tracebench_sandbox.jail import main; main()",
)
"""The command that keeps other processes out of a program's sight (see `sandbox.jail`); without `site`, it starts at once."""

Network = Literal["open", "gateway"]
Files = Literal["folder", "host"]
_LARGEST_REASON = 4096
_MEND = (
    "user namespaces (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0); "
    "with all your files open to it:  -o sandbox.require=process"
)
_GIT_SETTINGS = ".gitconfig"


@dataclass(frozen=True, slots=True)
class Hold:
    """How far a program reaches."""

    name: str
    """What results call it."""
    network: Network = "open"
    """`gateway`: of the network it reaches the run's models, and nothing else."""
    files: Files = "host"
    """`folder`: of the host's files it finds the system, what is named here, and its own folder, which alone it may write to."""
    own: Path | None = None
    """That folder, where it is not the working directory but one above it."""
    readable: Sequence[str] = ()
    """Further files and folders, by absolute names, in which `~` and `$NAME` are expanded."""
    copied: Sequence[str] = ()
    """Files and folders below the user's home that are copied to the same place in the program's: a tool's settings."""
    shown: Sequence[Path] = ()
    """What the program's own start needs."""
    placed: Sequence[tuple[Path, Path]] = ()
    """Folders that lie elsewhere for it: on the host, and for the program."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Variables that say something else to it for that reason."""


class Streams(NamedTuple):
    """What a program reads and writes; None for what the job's process does."""

    stdin: int | IO[bytes] | None = None
    stdout: int | IO[bytes] | None = None
    stderr: int | IO[bytes] | None = None


def start_held(
    problem: Problem,
    argv: Sequence[str],
    hold: Hold,
    *,
    folder: Path,
    environ: Mapping[str, str],
    streams: Streams = Streams(),  # noqa: B008 - a tuple
) -> subprocess.Popen[bytes]:
    """Start a program in a folder, in a process group of its own, and have the job record how it is held.

    Raises:
        OSError: when it cannot be started.
        ProgramError: when its files or network cannot be kept to what was said, and the run's `sandbox.require` demands that.
        UsageError: when `readable` names what cannot be shown.
    """
    held = [*APART, *_network(problem, hold.network), *_limits(problem)]
    reason = ""
    if hold.files == "folder":
        process, reason = _start_enclosed(
            problem, argv, hold, held, folder=folder.resolve(), environ=environ, streams=streams
        )
        if process is not None:
            problem.confinement.told(hold.name, Cage(files="folder"))
            return process
        if problem.confinement.require != "process":
            raise ProgramError(f"`{argv[0]}` is not started: {reason}.", hint=_MEND)
    problem.confinement.told(hold.name, Cage(files="host", reason=reason))
    return _start([*held, *argv], folder, environ, streams)


def _start_enclosed(
    problem: Problem,
    argv: Sequence[str],
    hold: Hold,
    held: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    streams: Streams,
) -> tuple[subprocess.Popen[bytes] | None, str]:
    """Start a program with a root of its own; without one, return None and why not."""
    enclosed = _enclosed(problem, argv, hold, folder=folder)
    own = _settle_in((hold.own or folder).resolve(), {**environ, **hold.within}, copied=hold.copied)
    ear, mouth = os.pipe()
    with os.fdopen(ear, "rb") as told:
        try:
            command = [*held, f"{ENCLOSED}{enclosed}", f"{TELL}{mouth}", *argv]
            process = _start(command, folder, own, streams, pass_fds=(mouth,))
        finally:
            os.close(mouth)
        said = told.readline(_LARGEST_REASON).decode(
            errors="replace"
        )  # to the end would last: what holds the program has it, too
    if said == "\n":
        return process, ""
    process.wait()
    return None, said.strip() or "the process that was to hold it ended"


def held_command(
    argv: Sequence[str],
    folder: Path,
    *,
    files: Files = "folder",
    network: Literal["open", "closed"] = "closed",
    processes: int | None = None,
    memory_mb: int | None = None,
    readable: Sequence[Path] = (),
) -> list[str]:
    """Return the command that runs a program of no job as one of a job is held; it ends with `NOT_STARTED` where that cannot be done."""
    options = [] if network == "open" else [ONLY]
    most = {name: value for name, value in (("processes", processes), ("memory_mb", memory_mb)) if value is not None}
    if most:
        options.append(f"{LIMITS}{json.dumps(most)}")
    if files == "folder":
        options.append(f"{ENCLOSED}{_root(argv, folder.resolve(), shown=readable)}")
    return [*APART, *options, *argv]


def _start(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    streams: Streams,
    *,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the config's own program
        command,
        cwd=folder,
        env=environ,
        process_group=0,
        pass_fds=pass_fds,
        stdin=streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
    )


def _network(problem: Problem, network: Network) -> Iterator[str]:
    if network == "open":
        return
    try:
        address = urlsplit(problem.endpoint("optimizer").base_url).netloc
    except ModelError:  # a job without models
        address = ""
    yield f"{ONLY}{address}"


def _limits(problem: Problem) -> Iterator[str]:
    most = {"processes": problem.confinement.processes, "memory_mb": problem.confinement.memory_mb}
    yield f"{LIMITS}{json.dumps(most)}"


def _enclosed(problem: Problem, argv: Sequence[str], hold: Hold, *, folder: Path) -> str:
    return _root(
        argv,
        folder,
        own=(hold.own or folder).resolve(),
        shown=[*hold.shown, *granted_folders(hold.readable)],
        placed=hold.placed,
        hidden=[path.resolve() for path in problem.confinement.hidden],
    )


def _root(
    argv: Sequence[str],
    folder: Path,
    *,
    own: Path | None = None,
    shown: Sequence[Path] = (),
    placed: Sequence[tuple[Path, Path]] = (),
    hidden: Sequence[Path] = (),
) -> str:
    """Return what `sandbox.jail` is told of a program's root."""
    needs = [*belongings(folder / argv[0]), *shown]
    return json.dumps(
        {
            "folder": str(own or folder),
            "current": str(folder),
            "readable": [*dict.fromkeys(map(str, needs))],
            "placed": [[str(source), str(place)] for source, place in placed],
            "hidden": [*map(str, hidden)],
        }
    )


def belongings(program: Path) -> Iterator[Path]:
    """Yield what a program needs beside the system: itself, what its links lead to, and its Python's or Node's own folders."""
    place = Path(os.path.abspath(program))  # noqa: PTH100 - links are followed one by one
    for _ in range(40):
        yield place
        yield from _installation(place.parent.parent if place.parent.name == "bin" else None)
        if not place.is_symlink():
            return
        place = Path(os.path.normpath(place.parent / place.readlink()))


def _installation(prefix: Path | None) -> Iterator[Path]:
    """Yield the folders of the Python or Node that is installed at a prefix."""
    if prefix is None:
        return
    if (prefix / "pyvenv.cfg").is_file():
        yield prefix
    elif any(prefix.glob("lib/python3*/os.py")):
        yield from (prefix / "bin", prefix / "lib")
    elif (prefix / "lib/node_modules").is_dir():
        yield from (prefix / "bin", prefix / "lib/node_modules")


def _settle_in(folder: Path, environ: Mapping[str, str], *, copied: Sequence[str]) -> dict[str, str]:
    """Return an environment whose home and temporary files lie in the folder; who commits is known there, and `copied` is."""
    here = {name: value for name, value in environ.items() if not name.startswith("XDG_") or _is_in(value, folder)}
    for name, place in (("HOME", "home"), ("TMPDIR", "tmp")):
        if not _is_in(here.get(name, ""), folder):
            here[name] = str(folder / place)
        Path(here[name]).mkdir(parents=True, exist_ok=True)
    real, home = Path.home(), Path(here["HOME"])
    for name in copied:
        source = Path(os.path.normpath(os.path.expanduser(os.path.expandvars(name))))  # noqa: PTH111 - `Path` raises where there is no such user
        if not source.is_absolute() or real not in source.parents:
            raise ProgramError(f"`{name}` cannot be copied for a program: it does not lie below `{real}`.")
        target = home / source.relative_to(real)
        try:
            _copy(source, target)
        except FileNotFoundError:
            continue
        except OSError as err:
            first = err.args[0][0] if isinstance(err.args[0], list) else ()
            why = first[2] if first else err.strerror or err
            raise ProgramError(f"`{name}` cannot be copied for a program: {why}.") from err
    _introduce(real, home)
    return here


def _copy(source: Path, target: Path) -> None:
    """Copy what links lead to; a link that leads nowhere is left out."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    else:
        shutil.copyfile(source, target)


def _introduce(real: Path, home: Path) -> None:
    """Write git's settings for the program: the user's name and address, and none of what else may stand in the user's or the machine's."""
    git = shutil.which("git")
    if git is None or (home / _GIT_SETTINGS).exists():
        return
    found: dict[bytes, bytes] = {}
    for place in (("--system",), ("--file", str(real / _GIT_SETTINGS))):
        asked = subprocess.run(  # noqa: S603 - git's own reading of its files
            [git, "config", *place, "--get-regexp", r"^user\.(name|email)$"],
            capture_output=True,
            check=False,
        )
        found |= dict(line.split(b" ", 1) for line in asked.stdout.split(b"\n") if b" " in line)
    if found:
        lines = [b'\t%s = "%s"\n' % (name.removeprefix(b"user."), _escaped(told)) for name, told in found.items()]
        (home / _GIT_SETTINGS).write_bytes(b"[user]\n" + b"".join(lines))


def _escaped(value: bytes) -> bytes:
    """Return a value as it stands between quotes in git's settings, which know no other escapes than these."""
    return value.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _is_in(value: str, folder: Path) -> bool:
    return bool(value) and folder in Path(value).resolve().parents
