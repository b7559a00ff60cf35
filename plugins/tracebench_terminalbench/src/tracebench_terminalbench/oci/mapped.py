"""Run something as root of a user namespace of its own, a root that is nobody on the host.

Real root has a whole range of users in there; anybody else has one, root, who is that user outside. Source: user_namespaces(7).
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tracebench_engine.api.sandboxes import Enclosure, limits, namespaces, prctl

FIRST, COUNT = 0x6FFF0000, 0x10000
"""Users of the host that are the image's users 0 to 65535: the last of those that systemd sets aside for containers."""
PROCESSES = 4096
"""Processes and threads that a build may have."""
PLACE = Path("/tmp")  # noqa: S108 - a mount that nobody else sees lies over it
_LARGE = "/var/tmp"  # noqa: S108 - the same folder: where skopeo and buildah put large files, whatever TMPDIR says
_USER = 0x10000000
_PRIVATE, _SET_PDEATHSIG = 0x40000, 1
_SETTERS = (1 << 6) | (1 << 7)
"""CAP_SETGID and CAP_SETUID."""


class MappedError(RuntimeError):
    """A command failed in its user namespace; says which, and what it wrote."""


def has_range() -> bool:
    """Tell whether this user may map a whole range: real root, which also hands files over to the range."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    held = next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1]
    return os.getuid() == 0 and int(held, 16) & _SETTERS == _SETTERS


def hand_over(folder: Path) -> Path:
    """Give a folder and all in it to the root of the namespaces; without a range it has the right owner already."""
    if has_range():
        for place, names, files in os.walk(folder):
            for name in (".", *names, *files):
                os.chown(Path(place, name), FIRST, FIRST, follow_symlinks=False)
    return folder


def end_with_parent() -> None:
    """Have the calling process killed when its parent ends; a change of user forgets it."""
    prctl(_SET_PDEATHSIG, signal.SIGKILL)


def fork_mapped(work: Callable[[], None], folder: Path, *, kinds: int = 0) -> int:
    """Return the child of this process that does `work` as root of a new user namespace, with mounts of its own, and ends with this one.

    Its working directory is `folder`, also where that root may not enter the folders above it.

    Args:
        work: called in the child; what it raises becomes exit code 1 and one line on stderr.
        kinds: further namespaces, flags of unshare(2). With a PID namespace, only children of the child are in it.

    Raises:
        OSError: when this host allows no user namespace.
    """
    unshared, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            end_with_parent()
            os.chdir(folder)
            namespaces.unshare(_USER | namespaces.MOUNTS | kinds)
            os.write(unshared[1], b"1")
            os.close(mapped[1])
            if not os.read(mapped[0], 1):
                os._exit(1)
            os.setresgid(0, 0, 0)
            with suppress(PermissionError):  # of one user, whose groups cannot be left
                os.setgroups([])
            os.setresuid(0, 0, 0)
            end_with_parent()
            namespaces.mount(None, Path("/"), flags=_PRIVATE | namespaces.RECURSIVE)
            work()
            os._exit(0)
        except BaseException as err:  # noqa: BLE001 - a child's last words
            os.write(2, f"{type(err).__name__}: {err}\n".encode())
            os._exit(1)
    os.close(unshared[1])
    if os.read(unshared[0], 1):
        _write_maps(child)
        os.write(mapped[1], b"1")
    for end in (unshared[0], *mapped):
        os.close(end)
    return child


def run_mapped(argv: Sequence[str], folder: Path, *, environ: Mapping[str, str], network: bool = False) -> str:
    """Run a command as root of a user namespace to its end, in a folder that it finds as `/tmp`, and return what it printed.

    Of the host's other files it has the system's programs and libraries, read-only: a step of a Dockerfile can leave a `chroot`.

    Raises:
        MappedError: when it fails, or is not here.
    """

    def work() -> None:
        for number in (1, 2):
            os.dup2(out.fileno(), number)
        limits.limit_process(limits.Limits(processes=PROCESSES), in_group=False)
        namespaces.supervise()  # so that nothing the command started outlives it
        # its path may lead through folders that this root may not enter
        namespaces.mount(".", PLACE, flags=namespaces.BIND)
        Enclosure(str(PLACE), str(PLACE), placed=((str(PLACE), _LARGE),)).build()
        namespaces.set_writable(Path(_LARGE))
        os.execvpe(argv[0], list(argv), {"PATH": os.environ["PATH"], "TMPDIR": str(PLACE), **environ})  # noqa: S606 - named tools

    with tempfile.TemporaryFile() as out:
        child = fork_mapped(work, folder, kinds=namespaces.PIDS | (0 if network else namespaces.NET))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        said = out.read().decode(errors="replace").strip()
    if code != 0:
        raise MappedError(f"`{argv[0]}` ended with {code}: {said[-1500:] or 'it said nothing'}")
    return said


def _write_maps(child: int) -> None:
    place = Path("/proc", str(child))
    if has_range():
        for name in ("uid_map", "gid_map"):
            (place / name).write_text(f"0 {FIRST} {COUNT}", encoding="ascii")
        return
    (place / "setgroups").write_text("deny", encoding="ascii")
    (place / "uid_map").write_text(f"0 {os.getuid()} 1", encoding="ascii")
    (place / "gid_map").write_text(f"0 {os.getgid()} 1", encoding="ascii")
