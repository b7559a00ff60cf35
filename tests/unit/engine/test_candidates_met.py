"""Equal values are one candidate whoever proposes them, and signals end a run as Ctrl-C does."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.specs import ExampleResult, Feedback
from tracebench_engine.job.archive import Archive
from tracebench_engine.run.interrupts import terminated_is_interrupted


class Ranked:
    """A ranking that keeps what it is told."""

    def __init__(self) -> None:
        self.seen, self.recorded, self.best = list[str](), list[Any](), "c0"

    def see(self, id_: str) -> None:
        self.seen.append(id_)

    def record(self, id_: str, example: str, **told: Any) -> bool:
        self.recorded.append((id_, example, told))
        return len(self.recorded) == 1


@pytest.fixture
def archive() -> Archive:
    return Archive({"x": 0.0}, Ranked())  # type: ignore[arg-type]  # ranks nothing


def test_equal_values_are_one_candidate(archive: Archive) -> None:
    one, is_new = archive.admit({"x": 1.0, "y": [1, None]}, parents=["c0"], origin="mutate")
    assert (one.id, one.parents, one.origin, is_new) == ("c1", ("c0",), "mutate", True)
    again, is_new = archive.admit({"y": [1, None], "x": 1.0}, parents=["c9"], origin="other")
    assert (again, is_new) == (one, False)
    other, is_new = archive.admit({"x": 1.0, "y": [None, 1]})
    assert (other.id, other.parents, other.origin, is_new) == ("c2", (), "", True)
    assert archive.ranking.seen == ["c0", "c1", "c2"]  # type: ignore[attr-defined]  # keeps it
    assert archive.find({"x": 1.0, "y": [1, None]}) == one
    assert archive.find({"x": 9.0}) is None


def test_what_is_admitted_is_not_changed_by_whoever_proposed_it(archive: Archive) -> None:
    values: dict[str, Any] = {"x": [1]}
    archive.admit(values)
    values["x"].append(2)
    assert archive.candidate("c1").values == {"x": [1]}


def test_a_candidate_is_found_by_its_id_alone(archive: Archive) -> None:
    assert (archive.candidate("c0").origin, archive.best.id) == ("initial", "c0")
    for id_ in ("c1", "c-1", "c", "", "c00", "x0", "0", "cx", "c²"):
        with pytest.raises(KeyError):
            archive.candidate(id_)


def test_a_measurement_is_ranked_with_all_that_it_tells(archive: Archive) -> None:
    feedback = Feedback(score=0.5, metrics={"m": 1.0}, text="so")
    result = ExampleResult(example="e1", split="train", feedback=feedback, seconds=0.0)
    candidate = archive.candidate("c0")
    assert [archive.record(candidate, result) for _ in range(2)] == [True, False]
    told = ("c0", "e1", {"score": 0.5, "status": "ok", "metrics": {"m": 1.0}})
    assert archive.ranking.recorded == [told, told]  # type: ignore[attr-defined]  # keeps it


def test_candidates_of_another_job_are_taken_over_with_where_they_are_from(archive: Archive) -> None:
    start: Any = SimpleNamespace(
        values=[{"x": 0.0}, {"x": 1.0}, {"x": 2.0}, {"x": 1.0}], candidates=["c0", "c4", "c7", "c9"], run="r", job="j"
    )
    assert archive.begin_from(start, lambda _values: "") == ["c1", "c2"]
    assert [archive.candidate(id_).origin for id_ in ("c0", "c1", "c2")] == ["initial", "from r/j/c4", "from r/j/c7"]
    with pytest.raises(UsageError, match=r"^Candidate r/j/c4 does not fit this task: x is 1$"):
        archive.begin_from(start, lambda values: "x is 1" if values["x"] == 1.0 else "")
    start.candidates.pop()
    with pytest.raises(ValueError, match="shorter"):
        archive.begin_from(start, lambda _values: "")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Leave signals as they were."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_interrupts_and_is_as_before_afterwards(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def end() -> None:
        os.kill(os.getpid(), number)
        signal.sigtimedwait([], 60)

    with pytest.raises(KeyboardInterrupt), terminated_is_interrupted():
        end()
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_was_ignored_stays_ignored(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_IGN)
    with terminated_is_interrupted():
        os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_IGN


@pytest.mark.parametrize(("handler", "told"), [(signal.SIG_IGN, True), (signal.default_int_handler, False)])
def test_where_ctrl_c_is_ignored_what_stops_the_run_is_told(
    caplog: pytest.LogCaptureFixture, handler: Any, told: bool
) -> None:
    signal.signal(signal.SIGINT, handler)
    with caplog.at_level(logging.WARNING), terminated_is_interrupted():
        pass
    words = [f"Ctrl-C is ignored here; to stop the run: kill {os.getpid()}"]
    assert [record.getMessage() for record in caplog.records] == (words if told else [])


def test_outside_the_main_thread_nothing_changes() -> None:
    before = signal.getsignal(signal.SIGTERM)
    inside: list[Any] = []

    def act() -> None:
        with terminated_is_interrupted():
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = Thread(target=act)
    thread.start()
    thread.join()
    assert inside == [before]
