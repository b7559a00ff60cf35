"""A root of its own for a program: the system read-only, one folder writable, what is named; of the host's other files there is nothing.

It is built of bind mounts and entered by `pivot_root`, not `chroot`, so that a program that brings a sandbox of its own can make further
namespaces in it, which then see no more than it does. Source: mount_namespaces(7), pivot_root(2), mount_setattr(2).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.namespaces import BIND, RECURSIVE
from tracebench_sandbox.kernel.syscalls import checked, libc, syscall

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/sys/devices/system/cpu",
)
"""Shown read-only, where they are."""
SETTINGS = (
    "/etc/alternatives", "/etc/ca-certificates", "/etc/fonts", "/etc/ld.so.conf.d", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
)  # fmt: skip
"""The same, of the system's settings."""
COPIED = (
    "ca-certificates.conf", "gai.conf", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf", "localtime",
    "mime.types", "nsswitch.conf", "os-release", "passwd", "protocols", "resolv.conf", "services", "shells", "timezone",
)  # fmt: skip
"""Files of `/etc` that are copied: name resolution, users' names; links among them may lead to what is not shown. Git's
settings are not among them: they may hold tokens."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
"""Of `/dev`, by name."""
KERNEL = ("bus", "fs", "irq", "scsi", "sys", "sysrq-trigger")
"""What of `/proc` the owner of the host could change without any capability."""
_OLD, _NEW = "old", "new"
_PLACE = Path("/tmp")  # noqa: S108 - nothing is written there: a mount that nobody else sees lies over it
_LARGEST_COPY = 1 << 20
_DETACH = 2
_NO_SUID, _NO_DEVICES = 2, 4


class Enclosure(NamedTuple):
    """What a program finds: absolute paths, as the host names them."""

    folder: str
    """Writable."""
    current: str
    """The working directory, in it."""
    readable: tuple[str, ...] = ()
    placed: tuple[tuple[str, str], ...] = ()
    """Folders that lie elsewhere for it: on the host, and in here."""
    hidden: tuple[str, ...] = ()
    """Empty, even where a folder above them may be read. The folder itself may lie within."""

    def build(self) -> None:
        """Move the calling process, the first of new namespaces, into the root; its working directory is the folder.

        Raises:
            OSError: when this host does not allow it; the process is then of no further use.
        """
        namespaces.mount("tmpfs", _PLACE, kind="tmpfs", flags=_NO_SUID | _NO_DEVICES, options="mode=755,size=8m")
        os.chdir(_PLACE)
        for name in (_OLD, _NEW):
            Path(name).mkdir()
        _pivot(".", _OLD)
        os.chdir("/")
        root = Path("/", _NEW)
        namespaces.mount(root, root, flags=BIND)
        self._furnish(root)
        _detach(Path("/", _OLD))
        os.chdir(root)
        _pivot(".", ".")
        _detach(Path())
        os.chdir("/")
        self._close()
        os.chdir(self.current)

    def _furnish(self, root: Path) -> None:
        _devices(root)
        (root / "proc").mkdir()
        namespaces.mount("proc", root / "proc", kind="proc")
        _scratch(root / "tmp")  # before what is shown, some of which may lie below it
        shown = [Path(path) for path in (*SYSTEM, *SETTINGS, *self.readable)]
        show(root, shown)
        for path in map(Path, self.hidden):
            if (root / path.relative_to("/")).exists():
                _cover(root / path.relative_to("/"))
        for name in COPIED:
            _copy(Path("/", _OLD, "etc", name), root / "etc" / name)
        for source, place in ((self.folder, self.folder), *self.placed):
            target = root / Path(place).relative_to("/")
            target.mkdir(parents=True, exist_ok=True)
            namespaces.mount(_outside(Path(source)), target, flags=BIND | RECURSIVE)

    def _close(self) -> None:
        """Make everything read-only but the folder, scratch space and the processes' own settings."""
        namespaces.set_read_only(Path("/"))
        for own in (self.folder, "/tmp", "/dev/shm", "/dev/pts", "/proc"):  # noqa: S108 - the program's own
            namespaces.set_writable(Path(own))
        if os.getuid() == 0:  # whose files the kernel's settings are, with or without capabilities
            for path in (Path("/proc", name) for name in KERNEL):
                if path.exists():
                    namespaces.mount(path, path, flags=BIND | RECURSIVE)
                    namespaces.set_read_only(path)


def show(root: Path, paths: Iterable[Path]) -> None:
    """Bind host paths into a root where they lie outside, with the links that lead to them; one that is missing is left out."""
    reals = {}
    for path in paths:
        with suppress(OSError, RuntimeError):
            reals[path] = _real(path)
    for real in sorted(set(reals.values()), key=lambda path: len(path.parts)):
        _bind(root, real)
    for path, real in reals.items():
        if path != real:
            _link(root, path, real)


def _real(path: Path) -> Path:
    """Return a host path with its links resolved, as the host sees them: the old root is not `/` any more."""
    real = Path("/")
    left = list(path.parts[1:])
    for _ in range(1000):
        if not left:
            return real
        name = left.pop(0)
        if name == "..":
            real = real.parent
            continue
        found = _outside(real / name)
        if not found.is_symlink():
            found.lstat()
            real /= name
            continue
        to = found.readlink()
        left[:0] = to.parts[1:] if to.is_absolute() else to.parts
        real = Path("/") if to.is_absolute() else real
    raise RuntimeError(f"{path}: too many links")


def _outside(path: Path) -> Path:
    """Return where a host path lies while the root is built."""
    return Path("/", _OLD) / path.relative_to("/")


def _bind(root: Path, path: Path) -> None:
    target, source = root / path.relative_to("/"), _outside(path)
    if os.path.lexists(target):  # by a folder above it
        return
    if source.is_dir():
        target.mkdir(parents=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    namespaces.mount(source, target, flags=BIND | RECURSIVE)


def _link(root: Path, path: Path, real: Path) -> None:
    target = root / path.relative_to("/")
    with suppress(OSError):  # a link below a folder that is shown is there already
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(real)


def _cover(target: Path) -> None:
    if target.is_dir():
        namespaces.mount("tmpfs", target, kind="tmpfs", flags=_NO_SUID | _NO_DEVICES, options="mode=755,size=1m")
    else:
        namespaces.mount(Path("/", _OLD, "dev/null"), target, flags=BIND)


def _copy(source: Path, target: Path) -> None:
    """Copy a small file; a link is resolved as the host would."""
    with suppress(OSError, RuntimeError):
        real = _outside(_real(Path("/", *source.parts[2:])))
        if real.is_file() and real.stat().st_size <= _LARGEST_COPY and not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(real.read_bytes())


def _devices(root: Path) -> None:
    folder = root / "dev"
    folder.mkdir()
    for name in DEVICES:
        if _outside(Path("/dev", name)).exists():
            (folder / name).touch()
            namespaces.mount(_outside(Path("/dev", name)), folder / name, flags=BIND)
    for name, to in LINKS.items():
        (folder / name).symlink_to(to)
    _scratch(folder / "shm")
    (folder / "pts").mkdir()
    namespaces.mount(
        "devpts", folder / "pts", kind="devpts", flags=_NO_SUID, options="newinstance,ptmxmode=0666,mode=620"
    )


def _scratch(target: Path) -> None:
    """Mount an empty file system in memory, for short-lived files."""
    target.mkdir(parents=True, exist_ok=True)
    namespaces.mount("tmpfs", target, kind="tmpfs", flags=_NO_SUID | _NO_DEVICES, options="mode=1777,size=512m")


def _pivot(new: str, old: str) -> None:
    syscall("pivot_root", os.fsencode(new), os.fsencode(old))


def _detach(target: Path) -> None:
    checked(libc.umount2(bytes(target), _DETACH), f"umount {target}")
