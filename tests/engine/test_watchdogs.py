"""Nothing waits for ever: any process of a run may be held, hang or refuse to die, and the run and its end still come to an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_engine.api import load_run
from tracebench_engine.job import kernel

ORPHAN = """
import ctypes, os, signal, sys, time
from tracebench_engine.job import kernel

kernel.adopt_orphans()
middle = os.fork()
if middle == 0:
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000 | 0x20000000):
        os._exit(77)
    for number in range(7):  # the first child is process 1 of the namespace; the others end at once, and are nobody's there
        if os.fork() == 0:
            if number == 0:
                time.sleep(600)
            os._exit(0)
    os._exit(0)
if os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1]) == 77:
    sys.exit(77)
while len(kernel.children()) < 7: time.sleep(0.01)
sys.exit(len(kernel.kill_children()))
"""


def test_a_subreaper_reaps_what_a_dying_namespace_waits_for() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHAN], check=False, timeout=60)
    if done.returncode == 77:
        pytest.skip("this host has no user namespaces")
    assert done.returncode == 0


LAB = """
import os, pathlib, signal, time
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Settings(BaseModel, extra="forbid"):
    pass

class Waits:
    def __init__(self, settings): pass
    def train(self, problem):
        problem.evaluate({"x": 1.0})
        if not os.path.exists("../../../let_go"):
            open("../../../waiting", "w").write(str(os.getpid()))
            time.sleep(600)

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a")]}
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context): return Feedback(score=output)

@hookimpl
def tracebench_tasks(): return [TaskSpec(name="one", loader="fake_dogs:Lab", title="one")]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Waits", loader="fake_dogs:Waits", settings="fake_dogs:Settings", uses_model=False)]
"""
SHORT = """
import os, sys
from tracebench_engine.run.local import process
process.TICK, process.PING_AFTER, process.CLOSING = 0.1, 0.5, 2.0
process.LIFELESS = float(os.environ.get("DOGS_LIFELESS", "2.0"))
from tracebench_sandbox.forkserver import plant
asks = sys.modules["tracebench_sandbox.forkserver.launch"]  # the package has a function of that name
asks.ANSWER_SECONDS, asks._PATIENCE = 2.0, 0.5
plant("tracebench_engine.builtin.template_main", ahead=["tracebench_engine.builtin.template_main"])  # it is held as well
from tracebench_engine.cli.app import main
main()
"""


@pytest.fixture
def waiting(install_plugin: Callable[..., None], tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A run of one job that waits, with short patience, and its folder."""
    install_plugin("dogs", LAB)
    config = tmp_path / "c.yaml"
    config.write_text(f"{{run_id: run, runs_dir: {tmp_path}, tasks: ['dogs:one'], trainers: [Waits]}}")
    command = [sys.executable, "-c", SHORT, "run", "--config", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    run = tmp_path / "run"
    try:
        for _ in range(600):
            if (run / "waiting").exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        assert process.poll() is None
        yield process, run
    finally:
        if process.poll() is None:
            kernel.kill_tree(process.pid)
        process.wait()


def gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() and "Z" not in _state(pid) for pid in pids)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_run_whose_template_is_held_starts_another_one_and_goes_on(
    waiting: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, run = waiting
    everyone = kernel.descendants(process.pid)
    job = int((run / "waiting").read_text())
    template = int(Path(f"/proc/{job}/stat").read_text().rpartition(")")[2].split()[1])
    (run / "let_go").touch()
    os.kill(template, signal.SIGSTOP)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 0, words
    assert b"has not said a word" in words
    assert [r.status for r in load_run(run).results.values()] == ["ok"]
    assert gone(everyone)


@pytest.mark.parametrize("asked", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=HEAVY)])
def test_a_run_can_be_ended_while_everything_below_it_is_held(
    waiting: tuple[subprocess.Popen[bytes], Path], asked: signal.Signals
) -> None:
    process, _ = waiting
    everyone = kernel.descendants(process.pid)
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    process.send_signal(asked)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert gone(everyone)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch, runtime_dir: Path) -> None:
    """Let a silent template be taken for lost only after longer than a test takes."""
    monkeypatch.setenv("DOGS_LIFELESS", "600")


@pytest.mark.usefixtures("unhurried")
def test_a_run_can_be_cancelled_while_everything_below_it_is_held(
    waiting: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, run = waiting
    everyone = kernel.descendants(process.pid)
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    command = str(Path(sys.executable).parent / "trace-bench")
    subprocess.run([command, "cancel", str(run), "--reason", "held"], check=True, timeout=60, capture_output=True)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert gone(everyone)
