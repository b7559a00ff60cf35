"""A trainer's program sees no other process and is given no key, under whatever name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tracebench_engine.builtin.command import passed

APART = [sys.executable, "-I", "-m", "tracebench_sandbox.jail"]
needs_namespaces = pytest.mark.skipif(
    b"sees the host" in subprocess.run([*APART, "true"], check=False, capture_output=True).stderr,
    reason="this host has no user namespaces, or masks its /proc",
)
LOOK = """
import ctypes, os, pathlib
seen = []
for place in pathlib.Path("/proc").iterdir():
    if place.name.isdigit():
        try: seen.append(place.joinpath("environ").read_text())
        except OSError: pass
libc = ctypes.CDLL(None)
print(len(seen), "sk-of-the-runner" in "".join(seen), libc.umount2(b"/proc", 2), libc.unshare(0x20000))
libc.unshare(0x10020000)
print(libc.umount2(b"/proc", 2), libc.umount2(b"/proc", 0))
try: os.kill(%d, 0); print("reached")
except ProcessLookupError: print("out of reach")
"""


@needs_namespaces
def test_a_program_sees_no_environment_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = subprocess.Popen(["sleep", "600"], env={**os.environ, "PROVIDER_KEY": "sk-of-the-runner"})
    try:
        seen = subprocess.run(
            [*APART, sys.executable, "-c", LOOK % runner.pid], capture_output=True, text=True, check=False, timeout=60
        )
    finally:
        runner.kill()
        runner.wait()
    assert seen.returncode == 0, seen.stderr
    first, second, third = seen.stdout.splitlines()
    count, found, unmounted, unshared = first.split()
    assert int(count) <= 2
    assert (found, unmounted, unshared, second, third) == ("False", "-1", "-1", "-1 -1", "out of reach")


@needs_namespaces
def test_a_program_ends_as_it_ends_and_takes_its_children_along() -> None:
    def code(*argv: str) -> int:
        return subprocess.run([*APART, *argv], check=False, capture_output=True, timeout=60).returncode

    assert code("sh", "-c", "exit 7") == 7
    assert code("true") == 0
    assert code("sh", "-c", "kill -TERM $$") == -signal.SIGTERM
    assert code("no-such-program-anywhere") == 127
    left = subprocess.run(
        [*APART, "sh", "-c", "setsid sleep 611 >/dev/null 2>&1 & echo on"], capture_output=True, text=True, check=True
    )
    assert left.stdout == "on\n"
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert "sleep 611" not in running


def test_a_program_is_given_listed_variables_only() -> None:
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HF_TOKEN": "x",
        "MY_PROVIDER_KEY": "x",
        "AWS_SECRET": "x",
        "OMP_NUM_THREADS": "1",
    }
    assert passed(environ) == {"PATH": "/bin", "LC_ALL": "C", "OMP_NUM_THREADS": "1"}
