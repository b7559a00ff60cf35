"""Evaluations that are ended in the middle: nothing of the engine is left locked, and nothing of theirs open."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.specs import Limits
from tracebench_engine.measure import bounded as module
from tracebench_engine.measure.bounded import Gate, OutOfTime, Overdue, bounded
from tracebench_engine.measure.sandbox import EvaluationSandbox
from tracebench_sandbox import SandboxClient, open_sandbox

CODE = "def f(x):\n    import time\n    time.sleep(x)\n    return x\n"


def turning(gate: Gate, seconds: float) -> Callable[[], float]:
    def work() -> float:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with gate.passed():
                pass
        return seconds

    return work


@pytest.mark.parametrize("seconds", [0.002, 60.0], ids=["ends as its time ends", "never ends"])
def test_an_end_at_any_moment_leaves_nothing_waiting(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_GRACE", 0.0)
    monkeypatch.setattr(module, "GRACE_SHARE", 0.0)
    before, ended = threading.active_count(), 0

    for _ in range(100):
        gate = Gate()
        try:
            assert bounded(turning(gate, seconds), 0.002, gate) == seconds
        except Overdue:
            ended += 1

    assert ended == 100 or seconds < 1
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_thread_that_has_left_is_not_ended() -> None:
    gate = Gate()
    gate.leave()
    gate.close(threading.get_ident())

    for _ in range(1000):
        threading.get_ident()


def test_what_uses_the_sandbox_is_ended_between_two_requests_and_closes_its_session() -> None:
    with open_sandbox() as sandbox:
        gate = Gate()
        sessions = []

        def work() -> None:
            with EvaluationSandbox(sandbox, gate).session(CODE, "f", limits=Limits(seconds=20)) as session:
                sessions.append(session)
                while True:
                    session.call(0.01)

        assert sandbox.call(CODE, "f", 0).value == 0  # its server is there
        with pytest.raises(Overdue):
            bounded(work, 1.5, gate)

        with pytest.raises(OutOfTime):
            sessions[0].call(0)
        assert sandbox.call(CODE, "f", 0).value == 0
        assert sandbox.call_many(CODE, "f", [(0,), (0,)])[1].value == 0


def test_a_session_that_opens_as_time_ends_is_closed() -> None:
    gate = Gate()

    class EndsMeanwhile(SandboxClient):
        def open(self) -> str:
            gate.close(0)
            return sandbox.open()

    with open_sandbox() as sandbox:
        assert sandbox.call(CODE, "f", 0).value == 0
        before = len(list(Path("/proc/self/fd").iterdir()))
        with pytest.raises(OutOfTime):
            EvaluationSandbox(EndsMeanwhile(""), gate).session(CODE, "f")
        assert len(list(Path("/proc/self/fd").iterdir())) == before
