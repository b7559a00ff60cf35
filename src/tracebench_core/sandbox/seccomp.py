"""Seccomp: which system calls a process may make. A filter in classic BPF that refuses with EPERM, so that code sees `PermissionError`.

Source: Documentation/userspace-api/seccomp_filter.rst and linux/{seccomp,bpf_common}.h. It refuses what is dangerous and lets the rest
pass: scientific libraries use more calls than a list of the allowed could name. Files are Landlock's concern, except for what Landlock
does not cover (modes, owners, times, attributes).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from tracebench_core.sandbox.syscalls import AUDIT_ARCH, checked, libc, number, prctl

_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_AF_UNIX, _SOCK_STREAM = 1, 1
_PR_SET_PDEATHSIG = 1
_SET_OWNERS = (8, 15)  # F_SETOWN and F_SETOWN_EX would send SIGIO to another process

_NEVER = [
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "memfd_secret",
    "migrate_pages",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_mrelease",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
]
_ALONE = [
    "chmod",
    "chown",
    "execve",
    "execveat",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fchownat",
    "fork",
    "fremovexattr",
    "fsetxattr",
    "futimesat",
    "ioprio_set",
    "lchown",
    "lremovexattr",
    "lsetxattr",
    "memfd_create",
    "mq_open",
    "msgget",
    "personality",
    "pidfd_open",
    "pidfd_send_signal",
    "removexattr",
    "removexattrat",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
    "semget",
    "setxattr",
    "setxattrat",
    "shmget",
    "socket",
    "utime",
    "utimensat",
    "utimes",
    "vfork",
]
_TO_ITSELF = ("kill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill")
_OF_ITSELF = ("prlimit64", "sched_setaffinity")
_ITS_PID = 0xFFFFFFF1
"""Stands for the process's own number until the filter is installed."""


def available() -> bool:
    """Say whether the kernel takes filters (a null one must be a bad address, not a bad call) and this machine's numbers are known."""
    if AUDIT_ARCH is None:
        return False
    refused = libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), None, 0, 0)
    return bool(refused < 0 and ctypes.get_errno() == errno.EFAULT)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(code: int = errno.EPERM) -> bytes:
    return _step(_RETURN, _REFUSE | code)


def _call(name: str, *body: bytes) -> bytes:
    """Return the steps for one call: skipped by any other; the body leaves with a return or falls through to allow it."""
    found = number(name)
    if found is None:
        return b""
    return _step(_EQUAL, found, no=len(body) + 1) + b"".join(body) + _step(_RETURN, _ALLOW)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGS + 8 * index)


def _forbid(names: Iterable[str]) -> bytes:
    """Refuse these calls: every test jumps to the one refusal behind the last of them."""
    numbers = [found for name in names if (found := number(name)) is not None]
    last = len(numbers) - 1
    tests = [_step(_EQUAL, found, yes=last - place, no=int(place == last)) for place, found in enumerate(numbers)]
    return b"".join(tests) + _refuse()


def _only(index: int, values: Iterable[int]) -> list[bytes]:
    """Refuse unless the low word of an argument is one of `values`."""
    allowed = list(values)
    tests = [_step(_EQUAL, value, yes=len(allowed) - place) for place, value in enumerate(allowed)]
    return [_argument(index), *tests, _refuse()]


def _head() -> bytes:
    steps = [_step(_LOAD, _ARCH), _step(_EQUAL, AUDIT_ARCH or 0, yes=1), _step(_RETURN, _KILL), _step(_LOAD, _NR)]
    steps += [_step(_ABOVE, _X32, no=1), _refuse()]
    return b"".join(steps)


def _process_own() -> bytes:
    """No death signal taken off, no SIGIO for others, no priority of others; half a socket pair for event loops."""
    return b"".join(
        [
            _call("prctl", _argument(0), _step(_EQUAL, _PR_SET_PDEATHSIG, no=1), _refuse()),
            _call(
                "fcntl",
                _argument(1),
                *(_step(_EQUAL, cmd, yes=1 - i, no=i) for i, cmd in enumerate(_SET_OWNERS)),
                _refuse(),
            ),
            _call("setpriority", *_only(1, (0,))),
            _call(
                "socketpair",
                *_only(0, (_AF_UNIX,)),
                _argument(1),
                _step(_AND, 0xF),
                _step(_EQUAL, _SOCK_STREAM, yes=1),
                _refuse(),
            ),
        ]
    )


def _threads_only() -> bytes:
    """`clone` makes threads; `clone3`, whose flags a filter cannot read, is said not to exist and the C library falls back."""
    clone3 = number("clone3") or 0
    return (
        _step(_EQUAL, clone3, no=1)
        + _refuse(errno.ENOSYS)
        + _call("clone", _argument(0), _step(_ANY_BIT, _CLONE_THREAD, yes=1), _refuse())
    )


def _build_alone() -> bytes:
    return _head() + _forbid((*_NEVER, *_ALONE)) + _threads_only() + _process_own()


def _build_family() -> bytes:
    return _head() + _forbid(_NEVER) + _call("socket", *_only(0, (_AF_UNIX,)))


class Filters:
    """The two filters, assembled once: `alone` for a single process, `family` for a command that may start others."""

    def __init__(self) -> None:
        own = b"".join(_call(name, *_only(0, (_ITS_PID,))) for name in _TO_ITSELF)
        own += b"".join(_call(name, *_only(0, (0, _ITS_PID))) for name in _OF_ITSELF)
        self._alone = _Program(_build_alone() + own)
        self._family = _Program(_build_family())

    def alone(self) -> None:
        """Confine this process, for good: no other process, no program, no socket, no reach out of itself."""
        self._alone.install()

    def family(self) -> None:
        """Confine this process and those it starts, for good: no network, no debugging, no change of the system."""
        self._family.install()


class _Program:
    """A filter in the form that the kernel takes, with the places where the process's own number goes."""

    def __init__(self, steps: bytes) -> None:
        steps += _step(_RETURN, _ALLOW)
        self._code = ctypes.create_string_buffer(steps, len(steps))
        self._header = struct.pack("@HP", len(steps) // 8, ctypes.addressof(self._code))
        place = _step(_EQUAL, _ITS_PID)[4:]
        self._places = [at + 4 for at in range(0, len(steps), 8) if steps[at + 4 : at + 8] == place]

    def install(self) -> None:
        pid = os.getpid()
        for place in self._places:
            struct.pack_into("=I", self._code, place, pid)
        prctl(_NO_NEW_PRIVS, 1)
        checked(libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), self._header, 0, 0), "seccomp")
