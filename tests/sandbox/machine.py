"""A machine of its own with cgroup v2, for hosts that have none: the kernel as a program (User Mode Linux) on this host's files.

`apt-get install user-mode-linux`. What is run there writes on this host's files, as root.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

KERNEL = shutil.which("linux.uml")
_INIT = """#!/bin/sh
mount -t proc proc /proc && mount -t sysfs sys /sys && mkdir -p /sys/fs/cgroup
mount -t cgroup2 -o nsdelegate none /sys/fs/cgroup && mount -t tmpfs shm /dev/shm
ip link set lo up 2>/dev/null
cd {cwd} && PATH={path} {command} > {output} 2>&1
echo $? > {output}.code
echo o > /proc/sysrq-trigger
sleep 60
"""


def run_there(command: Sequence[str], *, folder: Path, path: str, seconds: float = 900.0) -> tuple[int, str]:
    """Run a command as root of a machine that is started for it; return its exit code and what it printed."""
    assert KERNEL is not None
    output, init = folder / "output", folder / "init"
    init.write_text(
        _INIT.format(
            cwd=shlex.quote(str(Path.cwd())), path=shlex.quote(path), command=shlex.join(command), output=output
        )
    )
    init.chmod(0o755)
    boot = [
        "mem=512M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rw",
        f"init={init}",
        "con0=null,fd:2",
        "con=null",
        "quiet",
    ]
    subprocess.run([KERNEL, *boot], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds)
    return int((folder / "output.code").read_text()), output.read_text()
