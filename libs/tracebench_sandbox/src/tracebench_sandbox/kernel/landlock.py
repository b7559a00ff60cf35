"""Landlock: which files a process may touch, no TCP, no signals out of it.

Source: Documentation/userspace-api/landlock.rst of Linux (ABI 1 = 5.13 files; 4 = 6.7 TCP; 5 = 6.10 device ioctls; 6 = 6.12 signals
and abstract sockets). Rights that the running kernel does not know are left out.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.kernel.syscalls import AUDIT_ARCH, checked, direct, libc, number, syscall

_VERSION = 1
_PATH_BENEATH = 1
_RESTRICT_SELF = number("landlock_restrict_self") or 0
_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_DEVICES = 1 << 6 | 1 << 11
"""LANDLOCK_ACCESS_FS_MAKE_CHAR and MAKE_BLOCK."""


class Grant(NamedTuple):
    """Rights on one path, held open, and both as the kernel takes them (`struct landlock_path_beneath_attr`)."""

    fd: int
    rights: int
    rule: bytes


_add_rule = ctypes.CFUNCTYPE(
    ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long, use_errno=True
)(("syscall", libc))


def abi() -> int:
    """Return the kernel's Landlock ABI; 0 when it has none."""
    if AUDIT_ARCH is None:
        return 0
    try:
        return syscall("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def _known(version: int) -> int:
    """Return all rights on files that an ABI handles: 13 bits at first, one more with ABI 2, 3 and 5."""
    return (1 << 13 + sum(version >= since for since in (2, 3, 5))) - 1


def grants(
    paths: Iterable[Path], *, version: int, execute: bool = False, write: bool = False, names: bool = False
) -> list[Grant]:
    """Open the paths that exist and say what may be done beneath them; the caller keeps the descriptors open.

    With `names`, folders may be listed and nothing read.
    """
    wanted = _known(version) & ~_DEVICES if write else _READ_DIR if names else _READ | _READ_DIR
    wanted = wanted | _EXECUTE if execute else wanted & ~_EXECUTE
    found = []
    for path in paths:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        rights = wanted if folder else wanted & _OF_FILES
        found.append(Grant(fd, rights, struct.pack("=Qi", rights, fd)))
    return found


def build(granted: Iterable[Grant], *, version: int) -> int:
    """Return a ruleset: the granted files and no others; no TCP from ABI 4 on, no signal to others from ABI 6 on."""
    attributes = struct.pack("=QQQ", _known(version), 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)  # noqa: PLR2004
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # noqa: PLR2004
    ruleset = syscall("landlock_create_ruleset", attributes, size, 0)
    for grant in granted:
        checked(_add_rule(number("landlock_add_rule") or 0, ruleset, _PATH_BENEATH, grant.rule, 0), "landlock_add_rule")
    return ruleset


def enter(ruleset: int) -> None:
    """Confine this process, for good, to a ruleset. It, or its parent, must have given up new privileges."""
    direct(_RESTRICT_SELF, a=ruleset)


def scope() -> None:
    """Confine this process, for good, to abstract sockets and signals of its own, where the kernel can (ABI 6), and leave files alone."""
    if abi() >= 6:  # noqa: PLR2004
        ruleset = syscall("landlock_create_ruleset", struct.pack("=QQQ", 0, 0, 0b11), 24, 0)
        enter(ruleset)
        os.close(ruleset)
