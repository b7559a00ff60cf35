"""What limits by control groups come to, tried by root of a machine with cgroup v2: `python -m tests.sandbox.groups` prints it as JSON.

Each program is started as a job's programs are, as root and as a plain user to whom a group was handed (as systemd does for every login).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tracebench_engine.door.held import APART
from tracebench_sandbox.jail import LIMITS

GROUPS = Path("/sys/fs/cgroup")
USER = 1000
MEMORY_MB, PROCESSES = 64, 40
_TOUCH = """
import mmap, os, sys, time
BIG = 90
def fill(place):
    with open('/dev/zero', 'rb', buffering=0) as zero:  # the machine takes long for each page that it is asked for one by one
        zero.readinto(place)
"""
PROGRAMS = {
    "less": "fill(bytearray(16 << 20))",
    "alone": "fill(bytearray(BIG << 20))",
    "shared": "fill(mmap.mmap(-1, BIG << 20))",
    "unmapped": "f = os.memfd_create('x')\nfor n in range(BIG): os.write(f, bytes(1 << 20))",
    "together": (
        "for n in range(4):\n    if os.fork() == 0:\n        x = bytearray(24 << 20); fill(x); time.sleep(3); os._exit(0)\n"
        "ends = [os.wait()[1] for n in range(4)]\nsys.exit(int(any(ends)))"
    ),
    "moved out": (
        "import glob\n"
        "for place in sorted(glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)):\n"
        "    try: open(place, 'w').write('0')\n"
        "    except OSError: pass\n"
        "fill(bytearray(BIG << 20))"
    ),
    "crowd": (
        "made = 0\n"
        "for n in range(200):\n"
        "    try:\n        if os.fork() == 0: time.sleep(1); os._exit(0)\n        made += 1\n"
        "    except OSError: break\n"
        f"sys.exit(int(made >= {PROCESSES}))"
    ),
}


def command(limits: dict[str, int], *argv: str) -> list[str]:
    """Return the command of a program that is held as those of jobs are; this interpreter may lie where a plain user does not get."""
    python = sys.executable if os.getuid() == 0 else "/usr/bin/python3"
    return [python, *APART[1:], f"{LIMITS}{json.dumps(limits)}", *argv]


def started(program: str, limits: dict[str, int]) -> int:
    """Return the exit code of a program that is held as those of jobs are."""
    argv = command(limits, "/usr/bin/python3", "-c", _TOUCH + program)
    return subprocess.run(argv, check=False, timeout=240, stderr=subprocess.DEVNULL).returncode


def killed(limits: dict[str, int]) -> None:
    """Kill what holds a program, with the program."""
    process = subprocess.Popen(command(limits, "sleep", "60"))
    for _ in range(100):
        if left():
            break
        time.sleep(0.1)
    process.kill()
    process.wait()
    time.sleep(1)


def left() -> list[str]:
    """Return the groups of programs that are there."""
    return [str(path) for path in GROUPS.rglob("trace-bench-*")]


def tell() -> dict[str, object]:
    """Try every program in this process's place among groups."""
    limits = {"memory_mb": MEMORY_MB, "processes": PROCESSES}
    found: dict[str, object] = {name: started(program, limits) for name, program in PROGRAMS.items()}
    found["left"] = left()
    killed(limits)
    found["left by one that was killed"] = len(left())
    found["after two more"] = [started("pass", limits), started("pass", limits), left()]  # one may take long to end
    return found


def as_user(place: Path) -> dict[str, object]:
    """Tell, from below a group, as a plain user."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            (place / "cgroup.procs").write_text("0")
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            os.chdir("/")
            os.write(mouth, json.dumps(tell()).encode())
        except BaseException as error:  # noqa: BLE001 - told to the test
            os.write(mouth, json.dumps({"error": repr(error)}).encode())
        finally:
            os._exit(0)
    os.close(mouth)
    with os.fdopen(ear, "rb") as told:
        words = told.read()
    os.waitpid(child, 0)
    return dict(json.loads(words or b"{}"))


def main() -> None:
    """Print what comes of it: by a group that nobody handed on, by root's, and by one that was handed to a user."""
    alone = GROUPS / "alone"
    alone.mkdir()
    (alone / "cgroup.procs").write_text("0")
    found = {
        "without": {
            name: started(PROGRAMS[name], {"memory_mb": MEMORY_MB}) for name in ("shared", "unmapped", "together")
        }
    }
    (GROUPS / "cgroup.subtree_control").write_text("+pids +memory")
    found["root"] = tell()
    session = GROUPS / "user" / "session"
    session.mkdir(parents=True)
    (GROUPS / "user" / "cgroup.subtree_control").write_text("+pids +memory")
    for folder in (session.parent, session):
        for path in (folder, *folder.iterdir()):
            if path.is_dir() or path.name in {"cgroup.procs", "cgroup.subtree_control", "cgroup.threads"}:
                os.chown(path, USER, USER)
    found["user"] = as_user(session)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
