"""User, process and network namespaces for commands: what a command started dies with its first process, and the files are read-only.

Source: user_namespaces(7), pid_namespaces(7), mount_setattr(2). The calling process must have one thread.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import time
from pathlib import Path

from tracebench_sandbox.kernel.syscalls import AUDIT_ARCH, checked, libc, prctl, syscall

MOUNTS, GROUPS, UTS, IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_USER, PIDS, NET = 0x10000000, 0x20000000, 0x40000000
BIND, _PRIVATE, RECURSIVE = 0x1000, 0x40000, 0x4000
_AT_FDCWD, _AT_RECURSIVE, _READ_ONLY, _NO_SUID = -100, 0x8000, 0x1, 0x2
_SET_PDEATHSIG = 1
_FOR_GOOD = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL}
"""Errors by which a kernel says that it allows no namespaces; any other may be gone a moment later."""


def available() -> bool:
    """Try it in a child: many hosts switch user namespaces off. What may pass, as too little memory, is tried for two seconds."""
    if AUDIT_ARCH is None:
        return False
    for pause in (0.05, 0.2, 0.5, 1.25, 0):
        status = _try_in_child()
        if status == 0 or (os.WIFEXITED(status) and os.WEXITSTATUS(status) in _FOR_GOOD):
            return status == 0
        time.sleep(pause)
    return False


def _try_in_child() -> int:
    """Return how a child ended that entered namespaces: with nothing, or with the number of the error."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            enter(Path("/tmp"))  # noqa: S108 - a folder that is there; nothing is written
            code = 0
        except OSError as err:
            code = err.errno or code
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def enter(box: Path) -> None:
    """Leave the host's processes, network and users; every file system becomes read-only but `box`. The next child is process 1.

    What is mounted below `box` is shown there, too, and read-only: the kernel would refuse to uncover what lies beneath.
    """
    leave_host(PIDS | NET | IPC | UTS)
    mount(box, box, flags=BIND | RECURSIVE)
    set_read_only(Path("/"))
    set_writable(box)


def leave_host(kinds: int) -> None:
    """Enter a user namespace with the same user, mounts that nobody else sees, and further kinds; all capabilities count in there only."""
    user, group = os.getuid(), os.getgid()
    unshare(_USER | MOUNTS | kinds)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    mount(None, Path("/"), flags=_PRIVATE | RECURSIVE)


def unshare(kinds: int) -> None:
    """Enter new namespaces; raises OSError as the kernel says."""
    checked(libc.unshare(kinds), "unshare")


def supervise() -> None:
    """Return in the first process of the namespace; this one waits for it and leaves as it left."""
    first = os.fork()
    if first == 0:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        return
    leave_like(wait_for(first))


def wait_for(child: int) -> int:
    """Return the status with which a child of this process ended, and reap whatever else ends before it.

    The first process of a namespace ends only when all of the namespace were reaped, and some may have been handed to this process.
    """
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def leave_like(status: int) -> None:
    """End this process with the exit code of another, 128 + number for a signal, as a shell does."""
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def end_like(status: int) -> None:
    """End this process by the signal that ended another, or with its exit code; one above 128 stands for a signal, as in a shell."""
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else code - 128
    if 0 < number < signal.NSIG:
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(max(code, 0))


def mount(
    source: Path | str | None, target: Path, *, flags: int = 0, kind: str | None = None, options: str = ""
) -> None:
    """Mount; raises OSError as the kernel says."""
    origin, name, words = (ctypes.c_char_p(None if not text else os.fsencode(text)) for text in (source, kind, options))
    checked(libc.mount(origin, bytes(target), name, ctypes.c_ulong(flags), words), f"mount {target}")


def set_read_only(target: Path) -> None:
    """Make a mount and all below it read-only, and its programs without the rights of their owners."""
    _set_attributes(target, on=_READ_ONLY | _NO_SUID, flags=_AT_RECURSIVE)


def set_writable(target: Path) -> None:
    """Make one mount writable that `set_read_only` closed in this namespace."""
    _set_attributes(target, off=_READ_ONLY)


def _set_attributes(target: Path, *, on: int = 0, off: int = 0, flags: int = 0) -> None:
    attributes = struct.pack("=QQQQ", on, off, 0, 0)
    words = [ctypes.c_long(_AT_FDCWD), ctypes.c_char_p(bytes(target)), ctypes.c_long(flags)]
    syscall("mount_setattr", *words, attributes, len(attributes))
