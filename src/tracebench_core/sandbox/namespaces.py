"""User, process and network namespaces for commands: what a command started dies with its first process, and the files are read-only.

Source: user_namespaces(7), pid_namespaces(7), mount_setattr(2). The calling process must have one thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from pathlib import Path

from tracebench_core.sandbox.syscalls import AUDIT_ARCH, checked, libc, prctl, syscall

_MOUNTS, _UTS, _IPC, _USER, _PIDS, _NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x4000
_AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = -100, 0x8000, 0x1
_SET_PDEATHSIG = 1


def available() -> bool:
    """Try it in a child: many hosts switch unprivileged user namespaces off."""
    if AUDIT_ARCH is None:
        return False
    pid = os.fork()
    if pid == 0:
        try:
            enter(Path("/tmp"))  # noqa: S108 - a folder that is there; nothing is written
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def enter(box: Path) -> None:
    """Leave the host's processes, network and users; every file system becomes read-only but `box`. The next child is process 1."""
    user, group = os.getuid(), os.getgid()
    checked(libc.unshare(_USER | _MOUNTS | _PIDS | _NET | _IPC | _UTS), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount(None, "/", _PRIVATE | _RECURSIVE)
    _mount(box, str(box), _BIND)
    _set_read_only("/", on=_READ_ONLY, flags=_AT_RECURSIVE)
    _set_read_only(str(box), off=_READ_ONLY)


def supervise() -> None:
    """Return in the first process of the namespace; this one waits for it and leaves as it left."""
    first = os.fork()
    if first == 0:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        return
    leave_like(os.waitpid(first, 0)[1])


def leave_like(status: int) -> None:
    """End this process with the exit code of another, 128 + number for a signal, as a shell does."""
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _mount(source: Path | None, target: str, flags: int) -> None:
    origin = ctypes.c_char_p(bytes(source) if source else None)
    checked(libc.mount(origin, target.encode(), None, ctypes.c_ulong(flags), None), f"mount {target}")


def _set_read_only(target: str, *, on: int = 0, off: int = 0, flags: int = 0) -> None:
    attributes = struct.pack("=QQQQ", on, off, 0, 0)
    path = ctypes.c_char_p(target.encode())
    words = [ctypes.c_long(_AT_FDCWD), path, ctypes.c_long(flags)]
    syscall("mount_setattr", *words, attributes, len(attributes))
