"""The process that a sandbox of an image lives with: limits, namespaces, a copy-on-write root. Killing it ends and removes all of it.

    python -m tracebench_terminalbench.oci.holder '{"rootfs": "…", "below": null, "size": "1g", "processes": 512, "memory_mb": 2048}'

It prints `READY`; commands enter the namespaces of its child's child. Source: overlayfs, pivot_root(2), pid_namespaces(7).
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

from tracebench_engine.api.sandboxes import (
    DEVICES,
    KERNEL,
    LINKS,
    checked,
    libc,
    limits,
    namespaces,
    prctl,
    syscall,
)
from tracebench_terminalbench.oci.mapped import PLACE, end_with_parent, fork_mapped, has_range

_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_DETACH = 2
_SET_DUMPABLE = 4
_NAMESERVER = "nameserver 10.0.2.3\n"
"""That of slirp4netns; without it nobody answers there."""


def main() -> None:
    """Hold one sandbox until killed."""
    asked = json.loads(sys.argv[1])
    rootfs = Path(asked["rootfs"])
    store = rootfs.parent.parent
    lowers = ":".join(str(Path(root).relative_to(store)) for root in (rootfs, asked["below"]) if root)
    bounds = limits.Limits(processes=asked["processes"], memory_mb=asked["memory_mb"])
    group = limits.open_group(bounds)
    in_group = group is not None and group.join()
    limits.limit_process(bounds, in_group=in_group)

    used = [os.open(Path(root).parent, os.O_RDONLY | os.O_DIRECTORY) for root in (rootfs, asked["below"]) if root]
    for place in used:  # so that nobody removes them meanwhile
        fcntl.flock(place, fcntl.LOCK_SH)
    ranged = has_range()
    codecs.lookup("ascii")  # now: that root may not read this Python's own files

    def hold() -> None:
        for place in used:  # which lead out of the sandbox
            os.close(place)
        first = os.fork()
        if first:
            os.waitpid(first, 0)
            return
        end_with_parent()
        limits.limit_namespace(bounds)
        build_root(lowers, size=asked["size"])
        os.write(1, b"READY\n")
        reap(hidden=ranged)

    child = fork_mapped(hold, store, kinds=namespaces.PIDS | namespaces.NET | namespaces.IPC | namespaces.UTS)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if group is not None:
        group.close()
    sys.exit(abs(code))


def build_root(lowers: str, *, size: str) -> None:
    """Make an image's files, copy-on-write, the root of the calling process, the first of new namespaces.

    Args:
        lowers: folders of files below the working directory, as overlayfs takes them: those of the first come before those of the next.
        size: of all that may be written, in memory, as mount(8) takes it.
    """
    namespaces.mount("tmpfs", PLACE, kind="tmpfs", options=f"mode=755,size={size}")
    root = PLACE / "root"
    for folder in (root, PLACE / "up", PLACE / "work"):
        folder.mkdir(mode=0o755)
    layers = f"lowerdir={lowers},upperdir={PLACE / 'up'},workdir={PLACE / 'work'},userxattr"
    namespaces.mount("overlay", root, kind="overlay", options=layers, flags=_NO_DEVICES)
    for name in ("proc", "dev", "sys", "tmp", "run", "etc"):
        _folder(root / name)
    namespaces.mount("proc", root / "proc", kind="proc", flags=_NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
    # in another one, everybody had all rights again
    (root / "proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
    _devices(root / "dev")
    namespaces.mount("tmpfs", root / "run", kind="tmpfs", options="mode=755,size=64m", flags=_NO_SUID | _NO_DEVICES)
    _written(root / "etc/resolv.conf", _NAMESERVER)
    _written(root / "etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n")
    socket.sethostname("sandbox")
    _loopback_up()
    os.chdir(root)
    syscall("pivot_root", b".", b".")
    checked(libc.umount2(b".", _DETACH), "umount")
    os.chdir("/")
    Path("/tmp").chmod(0o1777)  # noqa: S108 - the image's own
    for path in (Path("/proc", name) for name in KERNEL):
        if path.exists():
            namespaces.mount(path, path, flags=namespaces.BIND | namespaces.RECURSIVE)
            namespaces.set_read_only(path)


def reap(*, hidden: bool) -> None:
    """Be the first process of the sandbox: do nothing but bury the others, and be read by none of them where it is `hidden`."""
    if hidden:  # one user alone could not enter it then
        prctl(_SET_DUMPABLE, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        signal.sigwait([signal.SIGCHLD])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _devices(folder: Path) -> None:
    namespaces.mount("tmpfs", folder, kind="tmpfs", options="mode=755,size=64k", flags=_NO_SUID)
    for name in DEVICES:
        (folder / name).touch()
        namespaces.mount(Path("/dev", name), folder / name, flags=namespaces.BIND)
    for name, to in LINKS.items():
        (folder / name).symlink_to(to)
    for name, kind, options in (
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
        ("shm", "tmpfs", "mode=1777,size=64m"),
    ):
        (folder / name).mkdir()
        namespaces.mount(kind, folder / name, kind=kind, options=options, flags=_NO_SUID)


def _loopback_up() -> None:
    """Switch the loopback device of a new network on. Source: netdevice(7), SIOCSIFFLAGS with IFF_UP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))


def _folder(place: Path) -> None:
    """Make a folder where an image has none, or something else."""
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        place.unlink()
    place.mkdir(exist_ok=True)


def _written(place: Path, text: str) -> None:
    """Replace a file, whatever it is: a link in the image may lead out of it as long as the root is not entered."""
    with suppress(FileNotFoundError):
        place.unlink()
    place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
