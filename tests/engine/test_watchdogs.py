"""Nothing waits for ever: any process of a run may be held, hang or refuse to die, and the run and its end still come to an end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from tests.crash.processes import everyone
from tests.crash.soak import install_ward, matrix
from tests.warm import trace_bench
from tests.whole import HEAVY

from tracebench_core.specs.events import EvaluationDone
from tracebench_engine.api import load_run
from tracebench_engine.job import kernel
from tracebench_engine.run import supervisor

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


@HEAVY  # those that are cancelled below are ended alike
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
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
    told = trace_bench("cancel", str(run), "--reason", "held", folder=run.parent, environ=os.environ)
    assert told.returncode == 0, told.stderr
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert gone(everyone)


HURRIED = """
import os
from pathlib import Path
from tracebench_engine.run import supervisor
beat = supervisor.Heartbeat.beat
def beat_and_tell(heartbeat):
    beat(heartbeat)
    if heartbeat._has_answered:
        Path(os.environ["ANSWERED"], type(heartbeat._knock.__self__).__name__).touch()
supervisor.Heartbeat.beat = beat_and_tell
supervisor.ASK_AFTER, supervisor.HELD, supervisor.ENDING, supervisor.STARTING = 0.4, 4.0, 1.0, 60.0
from tracebench_engine.cli.app import main
main()
"""
HELPERS = {"sandbox": "SupervisedSandbox", "gateway": "GatewayHandle", "environments": "SupervisedEnvironments"}


@pytest.fixture
def helped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose jobs stand on a gateway, a sandbox server and an environment, with little patience for them."""
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    install_ward(tmp_path / "site")
    config = tmp_path / "c.yaml"
    config.write_text(yaml.safe_dump({**matrix(1, has_environments=True), "run_id": "run", "runs_dir": str(tmp_path)}))
    process = subprocess.Popen(
        [sys.executable, "-c", HURRIED, "run", "--config", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "ANSWERED": str(tmp_path)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            kernel.kill_tree(process.pid)
        process.wait()


def hold(process: subprocess.Popen[bytes], helper: str, answered: Path) -> None:
    """Hold a helper while a job runs, once it has answered: one that never did is taken for one that starts, and waited for."""
    for _ in range(3000):
        there = everyone(process.pid)
        if (answered / HELPERS[helper]).exists() and {"job", helper} <= {*there.values()}:
            break
        time.sleep(0.02)
    os.kill(next(pid for pid, kind in there.items() if kind == helper), signal.SIGSTOP)


@HEAVY  # three seconds of processors, and nine of waits; those below look after helpers of a moment
@pytest.mark.parametrize("helper", HELPERS)
def test_a_helper_that_is_held_is_replaced_and_passes_for_no_measurement(
    helped: subprocess.Popen[bytes], tmp_path: Path, helper: str
) -> None:
    hold(helped, helper, tmp_path)
    _, words = helped.communicate(timeout=170)
    assert helped.returncode == 0, words
    assert b"answers no more and is started again" in words
    run = load_run(tmp_path / "run")
    assert {r.status for r in run.results.values()} == {"ok"}
    told = [event for job_id in run.results for event in run.events(job_id) if isinstance(event, EvaluationDone)]
    assert {event.status for event in told if event.by != "trainer"} == {"ok"}  # the stub's candidates may fail


@HEAVY  # one that is cancelled while all of them are held ends alike
@pytest.mark.parametrize("helper", ["gateway", "sandbox", "environments"])
def test_a_run_can_be_ended_while_a_helper_is_held(
    helped: subprocess.Popen[bytes], tmp_path: Path, helper: str
) -> None:
    hold(helped, helper, tmp_path)
    below = kernel.descendants(helped.pid)
    helped.send_signal(signal.SIGTERM)
    _, words = helped.communicate(timeout=170)
    assert helped.returncode == 130, words
    assert gone(below)


class Dying:
    """A helper that is found dead once, by whoever looks while it is listened to."""

    def __init__(self) -> None:
        self.look: Callable[[], None] | None = None
        self.is_dead = False
        self.starts = 0
        self.knocks = 0

    def is_alive(self) -> bool:
        return not self.is_dead

    def restart(self) -> None:
        self.is_dead, self.starts = False, self.starts + 1

    def knock(self) -> socket.socket:
        self.knocks += 1
        return Heard(self)


class Heard(socket.socket):
    def __init__(self, helper: Dying) -> None:
        super().__init__()
        self._helper = helper

    def fileno(self) -> int:
        if self._helper.look is not None:
            other, self._helper.look = threading.Thread(target=self._helper.look), None
            self._helper.is_dead = True
            other.start()
            other.join(0.5)
        return super().fileno()


def test_two_may_look_after_one_helper_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "ASK_AFTER", 0.0)
    monkeypatch.setattr(supervisor, "INTERVAL", 0.01)
    helper = Dying()
    watch = supervisor.Supervisor([helper])
    helper.look = lambda: watch.look(helper)
    try:
        for _ in range(3000):
            if helper.starts and helper.knocks > 1:
                break
            time.sleep(0.01)
        assert helper.starts == 1
        assert helper.knocks > 1, "nobody looks any more"
    finally:
        watch.close()


class Slow(Dying):
    """A helper that is gone, and whose start takes until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.is_dead = True
        self.begun, self.go_on = threading.Event(), threading.Event()

    def restart(self) -> None:
        self.begun.set()
        assert self.go_on.wait(60)
        super().restart()


class Starved(Dying):
    """A helper whose every start takes a second until it answers; the first one is held, and never does."""

    def __init__(self) -> None:
        super().__init__()
        self._answers_at: float | None = None
        self.answered = threading.Event()
        self.ends: list[socket.socket] = []

    def restart(self) -> None:
        super().restart()
        self._answers_at = time.monotonic() + 1.0

    def knock(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.ends.append(theirs)
        start = self.starts

        def answer() -> None:
            if start == self.starts and not self.answered.is_set():  # else it was killed since
                self.answered.set()
                with suppress(OSError):  # it is killed just now
                    theirs.sendall(b"!")

        if self._answers_at is not None:
            threading.Timer(self._answers_at - time.monotonic(), answer).start()
        return ours


def test_a_helper_that_starts_slowly_while_the_run_ends_is_not_replaced_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "ASK_AFTER", 0.02)
    monkeypatch.setattr(supervisor, "INTERVAL", 0.01)
    monkeypatch.setattr(supervisor, "ENDING", 0.1)
    helper = Starved()
    watch = supervisor.Supervisor([helper])
    watch.hurry()
    try:
        assert helper.answered.wait(60), f"started {helper.starts} times, and none was waited for"
    finally:
        watch.close()
        for end in helper.ends:
            end.close()


def test_no_helper_waits_for_what_another_takes_to_start() -> None:
    slow, other = Slow(), Dying()
    watch = supervisor.Supervisor([slow, other])
    try:
        assert slow.begun.wait(60)
        other.is_dead = True
        watch.look(other)
        assert (other.starts, slow.starts) == (1, 0)
        other.is_dead = True
        for _ in range(3000):
            if other.starts == 2:
                break
            time.sleep(0.01)
        assert (other.starts, slow.starts) == (2, 0)
    finally:
        slow.go_on.set()
        watch.close()
    assert slow.starts == 1
