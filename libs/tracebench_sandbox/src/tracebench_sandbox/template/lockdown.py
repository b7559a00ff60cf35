"""The lockdown of one forked child: everything that is prepared once in the template, and the steps that the child takes itself."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.kernel import landlock, seccomp
from tracebench_sandbox.kernel.syscalls import LARGEST, direct, number, prctl
from tracebench_sandbox.reach import Reach, carve, libraries

_SET_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
_PRCTL, _CAPSET = number("prctl") or 0, number("capset") or 0
_CAPABILITY_VERSION_3 = 0x20080522
_MAX_FILES = 256
_MB = 1 << 20
_LONGEST = 1e9
"""Seconds of processors that are limited; more take thirty years."""

SYSTEM = (
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
)
PROGRAMS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives")
DEVICES = ("/dev/null",)
_FOR_ALL = {resource.RLIMIT_CORE: 0, resource.RLIMIT_MSGQUEUE: 0, resource.RLIMIT_SIGPENDING: 1024}
"""Limits that the children inherit: no core dumps, and little of what the kernel counts by user and not by process."""

_FOR_EACH = (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)


class Request(NamedTuple):
    """What one process may use: processor seconds, those on the clock, memory beyond the template's, the largest file, and one core where
    it may not use all."""

    seconds: float
    clock_seconds: float
    memory_mb: int
    file_mb: int
    core: int | None = None


class Lockdown:
    """The mechanisms of this host, opened and assembled before any fork."""

    def __init__(self, reach: Reach) -> None:
        self.landlock = landlock.abi()
        self.seccomp = seccomp.available()
        self._filters = seccomp.Filters() if self.seccomp else None
        self._alone: list[landlock.Grant] = []
        self._family: list[landlock.Grant] = []
        system = [*map(Path, SYSTEM), *libraries(), Path(sys.base_prefix, "lib"), Path(sys.prefix, "pyvenv.cfg")]
        programs = [*system, *map(Path, PROGRAMS), Path(sys.prefix), Path(sys.base_prefix)]
        data = {*carve(system, holes=reach.holes(whole=True)), *carve(reach.readable, holes=set())}
        some = {*carve(programs, holes=reach.holes(whole=False)), *carve(reach.readable, holes=set())}
        self.paths = carve(data, holes=set())
        """What a candidate may read."""
        self.family_paths = carve(some, holes=set())
        """What a command may read and run."""
        self.links = [path for path in (*programs, *reach.readable) if path.resolve() != path]
        """Links by which either is known."""
        if self.landlock:
            devices = landlock.grants(map(Path, DEVICES), version=self.landlock, write=True)
            self._alone = devices + landlock.grants(self.paths, version=self.landlock)
            self._family = devices + landlock.grants(self.family_paths, version=self.landlock, execute=True)
            among = {hole.parent for hole in reach.holes(whole=False)}  # Python finds a package by listing its folder
            self._family += landlock.grants(among, version=self.landlock, names=True)
        self._no_capabilities = _no_capabilities()
        self._address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        self._hard = {what: resource.getrlimit(what)[1] for what in _FOR_EACH}
        prctl(_NO_NEW_PRIVS, 1)
        for what, most in _FOR_ALL.items():
            resource.setrlimit(what, (most, most))

    @property
    def strong(self) -> bool:
        """Whether files, network and other processes are out of reach, and not only out of sight."""
        return bool(self.landlock and self.seccomp)

    def confinement(self, box: Path) -> int:
        """Return the ruleset of a candidate whose private folder is `box`: an open descriptor, -1 where there is no Landlock."""
        if not self.landlock:
            return -1
        own = landlock.grants((box,), version=self.landlock, write=True)
        ruleset = landlock.build([*self._alone, *own], version=self.landlock)
        os.close(own[0].fd)
        return ruleset

    def enter(self, confinement: int) -> None:
        """Confine the calling process, for good, to itself and its private folder."""
        if self.landlock:
            landlock.enter(confinement)
        self._drop_capabilities()
        if self._filters is not None:
            self._filters.alone()

    def enter_family(self, box: Path, devices: Iterable[str] = ()) -> None:
        """Confine the calling process and those it will start, for good, to programs, `box`, `devices` and its own `/proc` entry."""
        if self.landlock:
            own = landlock.grants((box,), version=self.landlock, write=True, execute=True)
            own += landlock.grants(map(Path, devices), version=self.landlock, write=True)
            mine = landlock.grants((Path("/proc/self"),), version=self.landlock)
            landlock.enter(landlock.build([*self._family, *own, *mine], version=self.landlock))
        self._drop_capabilities()
        if self._filters is not None:
            self._filters.family()

    def limit(self, request: Request, *, family: bool, pid: int = 0) -> None:
        """Limit what a process may use, by default the calling one; without capabilities, it can raise no limit again."""
        cpu = -int(-min(request.seconds, _LONGEST) // 1)
        if request.clock_seconds > request.seconds:
            cpu *= 2  # who looks at all of them ends them; this is for when nobody can look, and counts by ticks
        memory = request.memory_mb * _MB + (0 if family else self._address_space)
        size = request.file_mb * _MB
        for what, most in zip(_FOR_EACH, (cpu + 1, memory, size, _MAX_FILES), strict=True):
            hard = self._hard[what]
            least = min(
                most, LARGEST if hard == resource.RLIM_INFINITY else hard
            )  # who began the run may have set less
            resource.prlimit(pid, what, (min(cpu, least) if what == resource.RLIMIT_CPU else least, least))
        if request.core is not None:
            os.sched_setaffinity(pid, {request.core})

    def _drop_capabilities(self) -> None:
        """Give up every capability, so that not even root can raise its limits again (capset(2))."""
        header, data = self._no_capabilities
        direct(_CAPSET, a=ctypes.addressof(header), b=ctypes.addressof(data))


def drop_capabilities() -> None:
    """Give up every capability of the calling process."""
    header, data = _no_capabilities()
    direct(_CAPSET, a=ctypes.addressof(header), b=ctypes.addressof(data))


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that forked it ends; leave at once if that is already so."""
    direct(_PRCTL, a=_SET_PDEATHSIG, b=signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _no_capabilities() -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    return ctypes.create_string_buffer(header, len(header)), ctypes.create_string_buffer(24)
