"""The lockdown of one forked child: everything that is prepared once in the server, and the steps that the child takes itself."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tracebench_core.sandbox import landlock, seccomp
from tracebench_core.sandbox.syscalls import checked, libc, prctl

_SET_PDEATHSIG = 1
_CAPABILITY_VERSION_3 = 0x20080522
_MAX_FILES = 256
_MB = 1 << 20

SYSTEM = [
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
]
PROGRAMS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives")
DEVICES = ("/dev/null",)


class Request(NamedTuple):
    """What one process may use: wall seconds, memory beyond the template's, the largest file."""

    seconds: float
    memory_mb: int
    file_mb: int


class Lockdown:
    """The mechanisms of this host, opened and assembled before any fork."""

    def __init__(self, *, home: Path, path: Sequence[str], readable: Sequence[Path] = ()) -> None:
        self.landlock = landlock.abi()
        self.seccomp = seccomp.available()
        self._filters = seccomp.Filters() if self.seccomp else None
        self._alone: list[landlock.Grant] = []
        self._family: list[landlock.Grant] = []
        if self.landlock:
            data = [*map(Path, SYSTEM), *interpreter_paths(home, path), *readable]
            programs = [*data, *map(Path, PROGRAMS), Path(sys.prefix), Path(sys.base_prefix)]
            devices = landlock.grants(map(Path, DEVICES), version=self.landlock, write=True)
            self._alone = devices + landlock.grants(_outermost(data), version=self.landlock)
            self._family = devices + landlock.grants(_outermost(programs), version=self.landlock, execute=True)
        self._address_space = 0

    @property
    def strong(self) -> bool:
        """Whether files, network and other processes are out of reach, and not only out of sight."""
        return bool(self.landlock and self.seccomp)

    def measure(self) -> None:
        """Note how much address space the template takes; call it once, when everything is imported."""
        self._address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    def enter(self, box: Path, *, family: bool) -> None:
        """Confine the calling process, for good, to `box`; then only `limit` is left to be called."""
        if self.landlock:
            shared = self._family if family else self._alone
            landlock.restrict(shared, own=box, version=self.landlock, execute=family)
        _drop_capabilities()
        if self._filters is not None and family:
            self._filters.family()
        elif self._filters is not None:
            self._filters.alone()

    def limit(self, request: Request, *, family: bool) -> None:
        """Limit what the calling process may use; without capabilities, no limit can be raised again."""
        cpu = -int(-request.seconds // 1)
        memory = request.memory_mb * _MB + (0 if family else self._address_space)
        size = request.file_mb * _MB
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_FILES, _MAX_FILES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that forked it ends; leave at once if that is already so."""
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def interpreter_paths(home: Path, path: Sequence[str]) -> list[Path]:
    """Return what Python code needs to read: the interpreter, its libraries and its own `path`, less what is the user's own."""
    known = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    libraries = [Path(sys.base_prefix, "lib"), Path(sys.prefix, "pyvenv.cfg"), Path(sys.executable)]
    candidates = [*map(Path, known), *libraries, *(Path(entry) for entry in path if Path(entry).is_absolute())]
    return [place for place in dict.fromkeys(candidates) if not _is_private(place, home)]


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths, links resolved, that lie beneath no other: a rule covers all below it."""
    found = {path.resolve() for path in paths}
    return sorted(path for path in found if not found.intersection(path.parents))


def _is_private(path: Path, home: Path) -> bool:
    if path in {home, *home.parents}:
        return True
    return path.is_dir() and any((path / name).exists() for name in (".env", ".git", ".ssh"))


def _drop_capabilities() -> None:
    """Give up every capability, so that not even root can raise its limits again (capset(2))."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    checked(libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))), "capset")
