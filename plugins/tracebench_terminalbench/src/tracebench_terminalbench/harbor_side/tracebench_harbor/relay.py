"""Enter a sandbox without any program of the image: copy files as its root, or run a command with the rights that a container has.

python -I relay.py PID in /app < files.tar
python -I relay.py PID out /logs agent > files.tar
python -I relay.py PID run 0:0 ls /app
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

_USER = 0x10000000
_OTHERS = ("ipc", "uts", "net", "pid", "mnt")
_DROP_BOUND = 24
"""PR_CAPBSET_DROP of prctl(2)."""
_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})
"""Docker's own default, by the numbers of capabilities(7). Without CAP_SYS_ADMIN nobody mounts memory that no limit counts."""
_KNOWN = 64
_LIBC = ctypes.CDLL(None)


def main() -> None:
    """Enter the sandbox, then copy or run."""
    pid, direction, folder, *name = sys.argv[1:]
    if direction == "run":
        run(pid, folder, name)
    enter(pid)
    if direction == "in":
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
            archive.extractall(folder, filter=_roots)  # noqa: S202 - by a filter, in the sandbox's own root
    else:
        os.chdir(folder)
        with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
            archive.add(name[0])


def enter(pid: str, spaces: list[int] | None = None) -> None:
    """Become root of the sandbox in its files, and enter further namespaces.

    No library of the image is loaded: names of users would be looked up by one.
    """
    users, root = (os.open(f"/proc/{pid}/{name}", os.O_RDONLY) for name in ("ns/user", "root"))
    os.setns(users, _USER)  # type: ignore[attr-defined,unused-ignore]
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    for space in spaces or ():
        os.setns(space)  # type: ignore[attr-defined,unused-ignore]
    os.fchdir(root)
    os.chroot(".")
    for name in ("pwd", "grp"):
        setattr(tarfile, name, None)  # as where a system has no users


def run(pid: str, user: str, argv: list[str]) -> None:
    """Run a command in all namespaces, the limits and the control group of the sandbox, as `user:group`, and end as it ends."""
    for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::") and "/trace-bench-" in line:
            Path(f"/sys/fs/cgroup{line.removeprefix('0::')}/cgroup.procs").write_text("0", encoding="ascii")
    bounds = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    for what, name in ((resource.RLIMIT_NPROC, "processes"), (resource.RLIMIT_DATA, "data size")):
        most = next(line for line in bounds.splitlines() if line.startswith(f"Max {name} ")).split()[-2]
        resource.setrlimit(what, (int(most),) * 2 if most.isdecimal() else (resource.RLIM_INFINITY,) * 2)
    spaces = [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in _OTHERS]
    enter(pid, spaces)
    child = os.fork()  # of which the first is in the sandbox's processes
    if child == 0:
        try:
            for capability in set(range(_KNOWN)) - _CAPABILITIES:
                _LIBC.prctl(_DROP_BOUND, capability, 0, 0, 0)
            for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and what is executed would go on so
                signal.signal(ignored, signal.SIG_DFL)
            number, _, group = user.partition(":")
            os.setresgid(*[int(group)] * 3)
            with suppress(PermissionError):  # of one user, whose groups cannot be left
                os.setgroups([])
            os.setresuid(*[int(number)] * 3)
            os.execvp(argv[0], argv)  # noqa: S606 - the sandbox's own
        except OSError as err:
            os.write(2, f"{argv[0]}: {err.strerror}\n".encode())
            os._exit(127)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0 and -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def _roots(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo | None:
    """Make an entry root's, and remove what is no folder in its place: a FIFO would be waited for without end, a link followed."""
    there = Path(place, member.name)
    if there.is_symlink() or not there.is_dir():
        there.unlink(missing_ok=True)
    return tarfile.tar_filter(member, place).replace(uid=0, gid=0, uname="", gname="", deep=False)


if __name__ == "__main__":
    main()
