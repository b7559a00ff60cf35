"""Seccomp: which system calls a process may make. A filter in classic BPF that refuses with EPERM, so that code sees `PermissionError`.

Source: Documentation/userspace-api/seccomp_filter.rst and linux/{seccomp,bpf_common}.h. It refuses what is dangerous and lets the rest
pass: scientific libraries use more calls than a list of the allowed could name. Calls that take a command (`ioctl`, `fcntl`, `prctl`) pass
for the commands listed only, and calls newer than this list do not exist. Files are Landlock's concern, except for what Landlock does not
cover (modes, owners, times, attributes, locks, watches).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence

from tracebench_sandbox.kernel.syscalls import AUDIT_ARCH, NEWEST, direct, libc, number

_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _AND, _RETURN, _JUMP = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06, 0x05
_FARTHEST = 255
"""Steps that a test may jump over."""
_PRCTL = number("prctl") or 0
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 2, 10, 16, 1, 5
_MSG_OOB = 1
_HARMLESS_PRCTL = (2, 3, 15, 16, 21, 23, 29, 30, 39, 41, 42, 0x53564D41)
"""Reads of its own state; names, timer slack, huge pages and named memory of its own. PR_SET_PDEATHSIG (1) is not among them."""
_HARMLESS_FCNTL = (0, 1, 2, 3, 4, 1030, 1032)
"""Duplicates, flags, the size of a pipe. No owner (SIGIO for others), no lease, lock or watch on a file that others use."""
_HARMLESS_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what Python asks of any descriptor."""
_OWNERS_FCNTL = (8, 15, 1024, 1026)
"""F_SETOWN, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: signals to others, and doors held shut."""
_OWNERS_IOCTL = (0x8901, 0x8902, 0x5412, 0x541C)
"""FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX: the same by another call, and keys typed into a terminal."""
_TYPING_IOCTL = (0x5412, 0x541C)
"""TIOCSTI, TIOCLINUX."""

_RINGS = ("io_uring_enter", "io_uring_register", "io_uring_setup")
"""They make calls that no filter sees: a socket of another family is opened by one."""
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
    "fanotify_mark",
    "file_setattr",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    *_RINGS,
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "listmount",
    "lookup_dcookie",
    "lsm_set_self_attr",
    "memfd_secret",
    "migrate_pages",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "open_tree_attr",
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
    "statmount",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
]
_ALONE = [
    "accept",
    "accept4",
    "bind",
    "chmod",
    "chown",
    "connect",
    "execve",
    "execveat",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fchownat",
    "flock",
    "fork",
    "fremovexattr",
    "fsetxattr",
    "futimesat",
    "get_robust_list",
    "inotify_add_watch",
    "inotify_init",
    "inotify_init1",
    "ioprio_set",
    "lchown",
    "listen",
    "lremovexattr",
    "lsetxattr",
    "memfd_create",
    "mq_getsetattr",
    "mq_notify",
    "mq_open",
    "mq_timedreceive",
    "mq_timedsend",
    "mq_unlink",
    "msgctl",
    "msgget",
    "msgrcv",
    "msgsnd",
    "personality",
    "pidfd_open",
    "pidfd_send_signal",
    "removexattr",
    "removexattrat",
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
    "seccomp",
    "semctl",
    "semget",
    "semop",
    "semtimedop",
    "sendmmsg",
    "sendmsg",
    "setxattr",
    "setxattrat",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
    "socket",
    "sync",
    "syncfs",
    "utime",
    "utimensat",
    "utimes",
    "vfork",
]
_OF_OTHERS = ("connect", "inotify_add_watch", "inotify_init", "inotify_init1")
"""What reaches files that Landlock closes: sockets by their names, and the names in a folder that is watched."""
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE: with one of them, the mode counts."""
_TO_ITSELF = ("kill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill")
_OF_ITSELF = ("prlimit64",)
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


_PASS = _step(_RETURN, _ALLOW)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGS + 8 * index)


def _unless(index: int, values: Iterable[int]) -> bytes:
    """Refuse if the low word of an argument is one of `values`."""
    refused = list(values)
    tests = [_step(_EQUAL, value, yes=len(refused) - place) for place, value in enumerate(refused)]
    return b"".join([_argument(index), *tests, _PASS, _refuse()])


def _only(index: int, values: Iterable[int]) -> bytes:
    """Refuse unless the low word of an argument is one of `values`."""
    allowed = list(values)
    tests = [_step(_EQUAL, value, yes=len(allowed) - place) for place, value in enumerate(allowed)]
    return b"".join([_argument(index), *tests, _refuse(), _PASS])


def _alone() -> dict[str, bytes]:
    """No other process, no program, no socket; no death signal taken off, no SIGIO for others, no priority of others, no other core.

    `clone` makes threads; `clone3`, whose flags a filter cannot read, is said not to exist and the C library falls back. Half a socket pair
    is left for event loops; a message with descriptors or an urgent byte cannot be sent over it.
    """
    return {
        **dict.fromkeys((*_NEVER, *_ALONE), _refuse()),
        "clone3": _refuse(errno.ENOSYS),
        "clone": _argument(0) + _step(_ANY_BIT, _CLONE_THREAD, yes=1) + _refuse() + _PASS,
        "prctl": _only(0, _HARMLESS_PRCTL),
        "fcntl": _only(1, _HARMLESS_FCNTL),
        "ioctl": _only(1, _HARMLESS_IOCTL),
        "sendto": _argument(3) + _step(_ANY_BIT, _MSG_OOB, no=1) + _refuse() + _PASS,
        "setpriority": _argument(0) + _step(_EQUAL, 0, yes=1) + _refuse() + _only(1, (0, _ITS_PID)),
        "socketpair": _unix(_SOCK_STREAM),
        **dict.fromkeys(_TO_ITSELF, _only(0, (_ITS_PID,))),
        **dict.fromkeys(_OF_ITSELF, _only(0, (0, _ITS_PID))),
    }


def _unix(*kinds: int) -> bytes:
    """Refuse a socket, or a pair, but a Unix one of these kinds."""
    tests = [_step(_EQUAL, kind, yes=len(kinds) - place) for place, kind in enumerate(kinds)]
    of_kind = [_argument(1), _step(_AND, 0xF), *tests, _refuse(), _PASS]
    return b"".join([_argument(0), _step(_EQUAL, _AF_UNIX, yes=1), _refuse(), *of_kind])


def _without_set_id(index: int) -> bytes:
    """Refuse a mode with which a file runs as its owner or group, whoever starts it."""
    return _argument(index) + _step(_ANY_BIT, _SET_ID, no=1) + _refuse() + _PASS


def _created_without_set_id(index: int) -> bytes:
    """The same where the mode follows flags, and counts only where a file is made."""
    return _argument(index) + _step(_ANY_BIT, _CREATES, yes=1) + _PASS + _without_set_id(index + 1)


def _family() -> dict[str, bytes]:
    """No network, no debugging, no change of the system; processes and programs are allowed.

    Sockets stay within the family: no connection, which would reach a Unix socket of the host wherever it lies, as Landlock keeps nobody
    from one by its name, and no datagrams, which name whom they go to.
    """
    return {
        **dict.fromkeys((*_NEVER, *_OF_OTHERS), _refuse()),
        "socket": _unix(_SOCK_STREAM, _SOCK_SEQPACKET),
        "socketpair": _unix(_SOCK_STREAM, _SOCK_SEQPACKET),
        "fcntl": _unless(1, _OWNERS_FCNTL),
        "ioctl": _unless(1, _OWNERS_IOCTL),
    }


def _program() -> dict[str, bytes]:
    """No keys of the kernel's rings, which know no namespaces; no socket but Unix, IP and netlink, so that a machine's host is no peer.

    No file that runs as its owner: it would lie on the host, too, for its other users to start (as systemd's `RestrictSUIDSGID`).
    """
    return {
        **dict.fromkeys(("add_key", "keyctl", "request_key", *_RINGS), _refuse()),
        **dict.fromkeys(("chmod", "creat", "fchmod", "mknod"), _without_set_id(1)),
        **dict.fromkeys(("fchmodat", "fchmodat2", "mknodat"), _without_set_id(2)),
        "open": _created_without_set_id(1),
        "openat": _created_without_set_id(2),
        "openat2": _refuse(errno.ENOSYS),  # whose flags a filter cannot read
        "socket": _only(0, (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)),
        "ioctl": _unless(1, _TYPING_IOCTL),
    }


def _assemble(rules: Mapping[str, bytes]) -> bytes:
    """Return the filter: a binary search for the call's number, then the body of its rule.

    A search, because the kernel runs a new filter once for every call that there is, to learn which always pass: with a chain of
    tests that takes four times as long.
    """
    body = {found: rule for name, rule in rules.items() if (found := number(name)) is not None}
    edges = [(0, _PASS)]
    for found in sorted(body):
        if edges[-1][0] == found:
            edges.pop()
        if not (edges and edges[-1][1] == body[found]):
            edges.append((found, body[found]))
        edges.append((found + 1, _PASS))
    edges += [(NEWEST + 1, _refuse(errno.ENOSYS)), (_X32, _refuse())]
    head = [_step(_LOAD, _ARCH), _step(_EQUAL, AUDIT_ARCH or 0, yes=1), _step(_RETURN, _KILL), _step(_LOAD, _NR)]
    return b"".join(head) + _search(edges)


def _search(edges: Sequence[tuple[int, bytes]]) -> bytes:
    """Return steps that find the last edge not above the number, and its body."""
    if len(edges) == 1:
        return edges[0][1]
    middle = len(edges) // 2
    below, above = _search(edges[:middle]), _search(edges[middle:])
    far = len(below) // 8
    if far <= _FARTHEST:
        return _step(_ABOVE, edges[middle][0], yes=far) + below + above
    return _step(_ABOVE, edges[middle][0], no=1) + _step(_JUMP, far) + below + above


class Filters:
    """The two filters, assembled once: `alone` for a single process, `family` for a command that may start others."""

    def __init__(self) -> None:
        self._alone = _Program(_assemble(_alone()))
        self._family = _Program(_assemble(_family()))

    def alone(self) -> None:
        """Confine this process, for good: no other process, no program, no socket, no reach out of itself."""
        self._alone.install()

    def family(self) -> None:
        """Confine this process and those it starts, for good: no network, no debugging, no change of the system."""
        self._family.install()


def hold_program() -> None:
    """Confine this process and those it starts, for good: a program that is trusted in part, and may hold others by filters of its own."""
    _Program(_assemble(_program())).install()


class _Program:
    """A filter in the form that the kernel takes, with the places where the process's own number goes."""

    def __init__(self, steps: bytes) -> None:
        self._code = ctypes.create_string_buffer(steps, len(steps))
        header = struct.pack("@HP", len(steps) // 8, ctypes.addressof(self._code))
        self._header = ctypes.create_string_buffer(header, len(header))
        self._address = ctypes.addressof(self._header)
        place = _step(_EQUAL, _ITS_PID)[4:]
        self._places = [at + 4 for at in range(0, len(steps), 8) if steps[at + 4 : at + 8] == place]

    def install(self) -> None:
        if self._places:
            pid = os.getpid()
            for place in self._places:
                struct.pack_into("=I", self._code, place, pid)
        direct(_PRCTL, a=_SET_SECCOMP, b=_MODE_FILTER, c=self._address)
