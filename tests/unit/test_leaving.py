"""A process that leaves does all that an interpreter does at its end and anybody can see; real processes."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, sys, threading, time, weakref
from tracebench_sandbox.exit import code_of, leave
class Kept: pass
kept = Kept()
weakref.finalize(kept, sys.stdout.write, "finalized\\n")
atexit.register(sys.stdout.write, "exit function\\n")
def late():
    while threading.main_thread().is_alive() and not asked: time.sleep(0.01)
    sys.stdout.write("thread\\n")
asked = []
threading.Thread(target=late).start()
class Held:
    def __del__(self): sys.stdout.write("taken apart\\n")
held = Held()
sys.stdout.write("said\\n")
asked.append(True)
try:
    sys.exit({code})
except SystemExit as err:
    leave(code_of(err))
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program whose thread, finalizer and exit function each say a line, and which ends with `sys.exit(code)`."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(code=code)], capture_output=True, text=True, check=False
    )


def test_threads_exit_functions_and_buffers_come_first() -> None:
    done = run("7")

    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines()[:2] == ["said", "thread"]
    assert sorted(done.stdout.splitlines()[2:]) == ["exit function", "finalized"]


def test_codes_are_those_of_the_interpreter() -> None:
    assert [run(code).returncode for code in ("None", "0", "True", "'why'")] == [0, 0, 1, 1]
    assert run("'why'").stderr == "why\n"
