"""A holder process that owns the namespaces and the file system of one sandbox; killing it ends and removes everything inside.

The holder unshares mount, pid, ipc, uts and network (and, for an ordinary user, user) namespaces, mounts a tmpfs, shows `/usr`
copy-on-write in it with a copy of `/etc`, and makes that its root: `/home`, `/root`, `/tmp` and all else of the host do not exist inside.
Commands enter by `nsenter`. Sources: unshare(1), nsenter(1), mount(8) overlay, pivot_root(8), prctl(2) PR_SET_PDEATHSIG.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_SHOWN = ("/usr/", "/bin/", "/lib", "/sbin/")
"""What every sandbox has of the host."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TOOLS = ("unshare", "nsenter", "mount", "umount", "pivot_root", "tar", "bash", "tmux")
_CAP_SYS_ADMIN = 21
_ROOT = r"""
set -eu
S=$1; SIZE=$2; OPT=$3; R=$S/root; shift 3
mount --make-rprivate /
mount -t tmpfs -o size=$SIZE,mode=755 tmpfs "$S"
mkdir "$S/layers" "$R"
overlay() {  # what to show copy-on-write, where, a name
  mkdir -p "$S/layers/$3/up" "$S/layers/$3/work" "$2"
  cd "$S/layers/$3"  # relative, as a comma or a colon in the path would split the options
  mount -t overlay overlay -o "lowerdir=$1,upperdir=up,workdir=work$OPT" "$2"
}
mount --bind "$R" "$R"
# copied: in a container /etc has mounts of its own, which a user namespace may not clone
cp -a /etc "$R/etc" 2>/dev/null || true
for d in usr bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$R/$d"; elif [ -d "/$d" ]; then overlay "/$d" "$R/$d" "$d"; fi
done
mkdir -p "$R/var/tmp" "$R/var/log" "$R/opt" "$R/srv" "$R/home" "$R/proc" "$R/dev" "$R/tmp" "$R/run" "$R/root"
mount -t proc proc "$R/proc"
mount -t tmpfs -o mode=1777 tmpfs "$R/tmp"
mount -t tmpfs tmpfs "$R/run"
N=0; for d in "$@"; do N=$((N + 1)); overlay "$d" "$R$d" "brought-$N"; done
mount -t tmpfs -o mode=755 tmpfs "$R/dev"
for d in null zero full random urandom tty; do : > "$R/dev/$d"; mount --bind "/dev/$d" "$R/dev/$d"; done
mkdir "$R/dev/pts" "$R/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$R/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$R/dev/shm"
ln -s pts/ptmx "$R/dev/ptmx"
ln -s /proc/self/fd "$R/dev/fd"; ln -s fd/0 "$R/dev/stdin"; ln -s fd/1 "$R/dev/stdout"; ln -s fd/2 "$R/dev/stderr"
ip link set lo up 2>/dev/null || true
hostname sandbox 2>/dev/null || true
cd "$R"; mkdir .old; pivot_root . .old; umount -l /.old; rmdir /.old
echo READY
exec sleep infinity
"""


def holder_argv(folder: Path, *, size: str, brought: Sequence[str] = ()) -> list[str]:
    """Return the command that builds the sandbox on the mount point `folder`, says READY and stays.

    `brought` are places outside of the system that are in it where they are here; what is written there is thrown away.
    """
    further = [place for place in brought if Path(place).is_dir() and not place.startswith(_SHOWN)]
    return [*_unshare(), "sh", "-c", _ROOT, "holder", str(folder), size, _overlay_options(), *further]


def enter_argv(pid: int, cwd: str) -> list[str]:
    """Return the command that runs what follows it inside the sandbox of the holder's child `pid`."""
    argv = ["nsenter", "--target", str(pid), "--mount", "--pid", "--ipc", "--uts", "--net", "--root"]
    if _needs_user_namespace():
        argv += ["--user", "--preserve-credentials"]
    return [*argv, "sh", "-c", 'cd "$0" && exec "$@"', cwd]  # nsenter's own --wdns needs util-linux 2.38


def die_with_parent() -> None:
    """Ask to be killed when Harbor ends; for use between fork and exec."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def why_impossible() -> str:
    """Return why no such sandbox can be built on this machine, or nothing."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux namespaces"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=f"{PATH}:{os.environ.get('PATH', '')}") is None]
    if missing:
        return f"these commands are missing: {', '.join(missing)} (Debian: apt install util-linux tar bash tmux)"
    with tempfile.TemporaryDirectory() as folder:
        options = f"lowerdir=/usr,upperdir=u,workdir=w{_overlay_options()}"
        script = f"mount -t tmpfs tmpfs {folder} && cd {folder} && mkdir u w r && mount -t overlay o -o {options} r"
        tried = subprocess.run(  # noqa: S603 - our own words
            [*_unshare(), "sh", "-c", script], capture_output=True, text=True, timeout=20, check=False
        )
    return f"no mount namespace with an overlay: {tried.stderr.strip()}" if tried.returncode else ""


def _unshare() -> list[str]:
    argv = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--kill-child=SIGKILL"]
    return [*argv, "--user", "--map-root-user"] if _needs_user_namespace() else argv


def _overlay_options() -> str:
    return ",userxattr" if _needs_user_namespace() else ""


def _needs_user_namespace() -> bool:
    """Tell whether this is an ordinary user, or a root without CAP_SYS_ADMIN, as in most containers."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return found is None or not int(found.group(1), 16) >> _CAP_SYS_ADMIN & 1
