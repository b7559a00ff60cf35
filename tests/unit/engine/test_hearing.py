"""What the runner hears from the process that holds the jobs: ends of jobs, signs of life, and what is neither."""

from __future__ import annotations

import select
import socket
import subprocess
from collections.abc import Iterator, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.specs import JobOrder
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.process import PING_AFTER, TemplateProcess, _Line


@pytest.fixture
def ends() -> Iterator[tuple[_Line, Wire]]:
    """The runner's end of a wire, and the other one."""
    ours, theirs = (Wire(end) for end in socket.socketpair())
    nobody: Any = None  # it is asked for nothing here
    yield _Line(ours, nobody), theirs
    ours.close()
    theirs.close()


def test_any_word_ends_the_silence_and_silence_leaves_it(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    line.silent = 7.0
    assert line.hear() == []
    assert (line.silent, line.has_spoken) == (7.0, False)

    other.send({"ready": 4321, "used": 1.5})
    assert line.hear() == []
    assert (line.silent, line.has_spoken, line.used) == (0.0, True, 1.5)


def test_an_end_is_told_once_and_of_jobs_that_were_begun_here(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    line.awaited = {1: "a", 2: "b"}
    for message in (
        {"end": "a", "number": 1, "exit": "done"},
        {"end": "a", "number": 1, "exit": "done"},
        {"end": "z", "number": 2, "exit": "done"},
        {"end": "b", "number": 2, "exit": "flew away"},
        {"end": "b", "number": True, "exit": "done"},
    ):
        other.send(message)

    assert line.hear() == [{"detail": "", "end": "a", "number": 1, "exit": "done"}]
    assert line.awaited == {2: "b"}


def test_who_is_silent_is_asked_once_in_a_while(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    asked = []
    for line.silent in (PING_AFTER - 1, PING_AFTER, PING_AFTER + 1, 2 * PING_AFTER):
        line.look_after(patience=1000.0)
        asked.append(other.receive(timeout=0.0))

    assert asked == [[], [{"ping": True}], [], [{"ping": True}]]


class Outside:
    """Keeps a clock of its own, and what was killed."""

    def __init__(self, training: Wire, scoring: Wire) -> None:
        self.wires = training, scoring
        self.clock = 0.0
        self.killed: list[int] = []
        self.waited: list[float] = []
        self.process: Any = SimpleNamespace(pid=99, wait=lambda _seconds=None: 0)

    def launch(self, _entry: str, _setting: Any) -> Any:
        return self.process, *self.wires

    def ready(self, wires: Sequence[Wire], seconds: float) -> list[Wire]:
        self.waited.append(seconds)
        found = [wire for wire in wires if select.select([wire], [], [], 0)[0]]
        self.clock += 0.0 if found else seconds
        return found

    def now(self) -> float:
        return self.clock

    def kill_tree(self, pid: int) -> None:
        self.killed.append(pid)


class Template:
    """The runner's end of a template, and the far ends of its wires."""

    def __init__(self) -> None:
        pairs = [tuple(Wire(end) for end in socket.socketpair()) for _ in range(2)]
        self.outside = Outside(pairs[0][0], pairs[1][0])
        self.training, self.scoring = pairs[0][1], pairs[1][1]
        setting: Any = SimpleNamespace(model_dump=lambda mode: {"mode": mode})
        self.runner = TemplateProcess("entry", setting, numbers=count(7), outside=self.outside)

    def said(self) -> list[list[dict[str, Any]]]:
        return [wire.receive(timeout=0.0) for wire in (self.training, self.scoring)]


@pytest.fixture
def template() -> Iterator[Template]:
    template = Template()
    yield template
    for wire in (template.training, template.scoring, *template.outside.wires):
        wire.close()


def order(job_id: str, phase: str = "train", **more: Any) -> JobOrder:
    return JobOrder.model_validate({"job": job_spec(job_id=job_id * 12, **more), "run_dir": "/run", "phase": phase})


def test_a_training_is_begun_at_the_template_and_a_scoring_at_its_twin(template: Template) -> None:
    assert template.said() == [[{"setting": {"mode": "json"}}], []]
    template.runner.start(order("a"))
    template.runner.start(order("b", "score"))
    ((first,), (second,)) = template.said()
    assert all(begun.pop("start") for begun in (first, second))
    assert first == {
        "number": 7, "job": "a" * 12, "phase": "train", "timeout": order("a").time_limit, "grace": order("a").grace,
        "workdir": f"/run/jobs/{'a' * 12}/work",
    }  # fmt: skip
    assert (second["number"], second["job"], second["phase"]) == (8, "b" * 12, "score")
    template.scoring.send({"end": "b" * 12, "number": 8, "exit": "done", "used": 2.5})
    assert template.runner.wait() == [{"detail": "", "end": "b" * 12, "number": 8, "exit": "done", "used": 2.5}]
    assert template.runner.twins_seconds == 2.5
    assert template.runner.wait(0.5) == []
    assert template.outside.waited[-1] == 0.5
    template.runner.wait(5.0)
    assert template.outside.waited[-1] == 1.0


def silence_until_gone(template: Template) -> float:
    began = template.outside.clock
    assert template.runner.wait() == []
    return template.outside.clock - began


def test_a_template_that_never_spoke_has_a_quarter_of_an_hour_and_one_that_did_two_minutes(template: Template) -> None:
    assert silence_until_gone(template) == 900.0
    assert (template.runner.is_gone, template.outside.killed) == (True, [])


def test_a_template_that_falls_silent_is_asked_and_then_killed_with_all_below_it(template: Template) -> None:
    for wire, pid in ((template.training, 5), (template.scoring, 6)):
        wire.send({"ready": pid})
    template.runner.wait(0.0)
    template.said()
    assert silence_until_gone(template) == 120.0
    assert template.outside.killed == [5, 6]


def test_who_is_needed_to_end_cancelled_jobs_alone_is_waited_for_less_long(template: Template) -> None:
    template.runner.start(order("a"))
    template.training.send({"ready": 5})
    template.scoring.send({"ready": 6})
    template.runner.wait(0.0)
    template.runner.cancel("a" * 12)
    assert [words[-1] for words in template.said()] == [{"cancel": "a" * 12}] * 2
    assert silence_until_gone(template) == order("a").grace + 30.0
    assert template.outside.killed == [5]


def test_everything_is_ended_within_the_grace_of_the_jobs_and_half_a_minute(template: Template) -> None:
    template.runner.start(order("a"))
    template.training.send({"ready": 5})
    template.runner.close()
    assert template.outside.clock == pytest.approx(order("a").grace + 30.0, abs=0.01)  # a word costs a little
    assert template.outside.killed == [5]
    assert [words[-1] for words in template.said()] == [{"stop": True}] * 2


def test_a_template_that_ends_when_it_is_asked_to_is_not_waited_for(template: Template) -> None:
    template.training.close()
    template.scoring.close()
    template.runner.close()
    assert (template.outside.clock, template.outside.killed) == (0.0, [])


def test_one_that_does_not_end_by_itself_is_killed(template: Template) -> None:
    asked: list[float | None] = []

    def wait(seconds: float | None = None) -> int:
        asked.append(seconds)
        if seconds is not None:
            raise subprocess.TimeoutExpired("template", seconds)
        return 0

    template.outside.process.wait = wait
    template.training.close()
    template.scoring.close()
    template.runner.close()
    assert (asked, template.outside.killed) == ([1.0, None], [99])
