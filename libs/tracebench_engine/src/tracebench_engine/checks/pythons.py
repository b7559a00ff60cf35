"""Build, list and remove named interpreters: environments for libraries that do not live beside Trace-Bench."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tracebench_core.errors import MissingRequirementError, OutputError, PluginError, UsageError, quoted
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.interpreters import READY, has_python, pythons_folder
from tracebench_core.specs import PythonSpec

ASKED = "import sys, venv, ensurepip; print('.'.join(map(str, sys.version_info[:3])))"
SECONDS = 20.0
"""How long one may take to tell its version; a shim that starts nothing ends at once."""


def installed_python(wanted: str) -> str | None:
    """Return the path of an installed Python whose version satisfies a specifier such as `>=3.12`; None where there is none.

    This very Python comes first, then those on PATH, then pyenv's, newest last name first. Each tells its version itself: a name promises
    none, and one that cannot build environments (`venv`, `ensurepip`) is passed over.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - only where something is built

    fits = SpecifierSet(wanted)
    return next((path for path in _candidates() if (told := _version(path)) and fits.contains(told)), None)


def _candidates() -> Iterator[str]:
    yield sys.executable
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    pyenv = Path(os.path.expanduser(os.environ.get("PYENV_ROOT") or "~/.pyenv"), "versions")  # noqa: PTH111 - `Path.expanduser` raises where there is no such user
    folders += sorted(pyenv.glob("*/bin"), reverse=True)
    for folder in folders:
        for path in sorted(folder.glob("python3*"), reverse=True):
            if path.name.removeprefix("python3").removeprefix(".").isdigit() or path.name == "python3":
                yield str(path)


def _version(path: str) -> str:
    """Return what an interpreter says its version is; nothing where it says none."""
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter that is installed here
            [path, "-I", "-c", ASKED], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


LAST_WORDS = 2_000
"""Characters of the installer's output that an error shows."""


@dataclass(frozen=True, slots=True)
class NamedPython:
    """One interpreter that a plugin offers, or that lies in the folder."""

    name: str
    title: str
    requirements: tuple[str, ...]
    path: str
    ready: bool
    stale: bool
    """It was built from other requirements than the plugin names now."""


def list_pythons(host: PluginHost) -> list[NamedPython]:
    """Return every interpreter that a plugin offers, then those that lie in the folder and nobody offers."""
    offered = _offered(host)
    there = {p.parent.name for p in pythons_folder().glob(f"*/{READY}")} if pythons_folder().is_dir() else set()
    return [_describe(name, offered.get(name)) for name in [*offered, *sorted(there - offered.keys())]]


def create_python(name: str, host: PluginHost) -> NamedPython:
    """Build a named interpreter anew and return it; nothing is left of a build that fails.

    Raises:
        UsageError: when no plugin offers it, or something else lies in its place.
        PluginError: when its packages cannot be installed, or its name can be no folder's.
    """
    offered = _offered(host)
    if name not in offered:
        raise UsageError(
            f"No plugin offers an interpreter `{name}`.{did_you_mean(name, offered)}", hint="trace-bench pythons list"
        )
    spec = offered[name]
    home = place_of(pythons_folder(), name)
    with built_anew(home) as record:
        build_environment(f"The interpreter `{name}`", home, python=spec.python, requirements=spec.requirements)
        record |= {"name": name, "requirements": list(spec.requirements), "python": spec.python}
    return _describe(name, spec)


def remove_python(name: str) -> None:
    """Remove a named interpreter.

    Raises:
        UsageError: when there is none.
    """
    remove_built(pythons_folder(), name, what="interpreter", listed="trace-bench pythons list")


def place_of(folder: Path, name: str) -> Path:
    """Return the folder in which what a plugin offers under a name is built.

    Raises:
        PluginError: when no folder of its own has such a name: a build would empty another one.
    """
    if not _is_own_name(name):
        raise PluginError(
            f"`{name}`, as a plugin calls it, cannot be the name of a folder.", hint="trace-bench plugins"
        )
    return folder / name


def _is_own_name(name: str) -> bool:
    return name not in {"", ".."} and Path(name).name == name and "\0" not in name


@contextmanager
def built_anew(home: Path) -> Iterator[dict[str, object]]:
    """Hold and empty a folder for a build, of which nothing is left when it fails; what the record is given makes it ready.

    Raises:
        UsageError: when something lies there that was not built here, such as a folder of the user's.
        OutputError: when the folder cannot be made or emptied.
    """
    record: dict[str, object] = {}
    if os.path.lexists(home) and (home.is_symlink() or not _was_built(home)):
        raise UsageError(
            f"`{home}` is there, and was not built by this command: nothing of it is touched.",
            hint=f"mv {quoted(home)} {quoted(home.with_name(f'{home.name}-mine'))}",
        )
    with _told(home), locked(home):
        shutil.rmtree(home, ignore_errors=True)
        try:
            yield record
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
        (home / READY).write_text(json.dumps(record, indent=2) + "\n")


def remove_built(folder: Path, name: str, *, what: str, listed: str) -> None:
    """Remove what was built under a name; `what` it is called, and the command that lists those that there are.

    Of a link to what was built elsewhere only the link goes.

    Raises:
        UsageError: when there is none.
        OutputError: when it cannot be removed.
    """
    home = folder / name
    missing = UsageError(f"There is no {what} `{name}` in `{folder}`.", hint=listed)
    if not _is_own_name(name) or not _was_built(home):
        raise missing
    with _told(home), locked(home):
        if not os.path.lexists(home):  # another command was quicker
            raise missing
        if home.is_symlink():
            home.unlink()
            return
        (home / READY).unlink(missing_ok=True)
        shutil.rmtree(home)


def _was_built(home: Path) -> bool:
    """Tell whether a folder is of a build: one that ended, or one that was cut short, of which the lock is left beside it."""
    try:
        return (home / READY).is_file() or (home.is_dir() and not home.is_symlink() and _lock_of(home).is_file())
    except OSError:  # no file system has such a name
        return False


@contextmanager
def _told(home: Path) -> Iterator[None]:
    """Say in words what keeps a folder from being made or removed."""
    try:
        yield
    except OSError as err:
        raise OutputError(
            f"`{err.filename or home}` cannot be used: {err.strerror or err}.", hint=f"ls -ld {quoted(home.parent)}"
        ) from err


def _offered(host: PluginHost) -> dict[str, PythonSpec]:
    return {n: s for n, s in host.catalog().components["python"].items() if isinstance(s, PythonSpec)}


def _describe(name: str, spec: PythonSpec | None) -> NamedPython:
    home = pythons_folder() / name
    built = _built_from(home) if has_python(name) else None
    return NamedPython(
        name=name,
        title=spec.title if spec else "offered by no plugin",
        requirements=spec.requirements if spec else built or (),
        path=str(home / "bin" / "python"),
        ready=built is not None,
        stale=built is not None and spec is not None and built != spec.requirements,
    )


def _built_from(home: Path) -> tuple[str, ...]:
    try:
        return tuple(json.loads((home / READY).read_text()).get("requirements", ()))
    except (OSError, ValueError, AttributeError):
        return ()


def find_uv() -> str | None:
    """Return the path of `uv`: beside this Python, else on PATH; None where it is neither."""
    return shutil.which(
        "uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    )


def build_environment(what: str, home: Path, *, python: str, requirements: Sequence[str]) -> None:
    """Build an environment in a folder, with packages from PyPI.

    Raises:
        MissingRequirementError: when no Python is here that will do.
        PluginError: when it cannot be built; in words that begin with `what`.
    """
    home = home.absolute()
    here = installed_python(python)
    if (uv := find_uv()) is not None:
        run_installer([uv, "venv", "--quiet", "--python", here or python, str(home)], what)
        installer = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(home)]
    else:
        run_installer([here or _refuse(what, python), "-m", "venv", str(home)], what)
        installer = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    if requirements:
        run_installer(
            [*installer, *requirements], what, folder=home
        )  # uv would heed the settings of a checkout that it is called in


def _refuse(what: str, python: str) -> NoReturn:
    own = ".".join(map(str, sys.version_info[:3]))
    raise MissingRequirementError(
        f"{what} needs Python {python}, which is neither on PATH nor among pyenv's; this one is {own}, and `uv` is not here to fetch "
        "another.",
        hint='pip install "uv>=0.9,<1"',
    )


def run_installer(argv: Sequence[str], what: str, *, folder: Path | None = None) -> None:
    """Run one step of an installation.

    Raises:
        PluginError: when it fails, with its last words.
    """
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603 - uv, pip or npm
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-LAST_WORDS:]
        raise PluginError(f"{what} cannot be built: {said}", hint="trace-bench doctor")


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the name of a folder, so that two builds of it wait for each other."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with _lock_of(home).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_of(home: Path) -> Path:
    return home.parent / f".{home.name}.lock"
