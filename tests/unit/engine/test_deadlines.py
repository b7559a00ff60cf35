"""When the template asks a job's process to end, when it kills it, and what lets a scoring go on."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local import template as module
from tracebench_engine.run.local.template import Child, Template


class Held:
    """A template on a clock of its own, whose signals are noted rather than sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.clock = 100.0
        self.sent: list[tuple[str, int, int]] = []
        self.leads_group = True
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.clock))
        monkeypatch.setattr(module, "kernel", SimpleNamespace(kill_group=self._kill_group, kill=self._kill))
        ours, theirs = socket.socketpair()
        self.wire, self.runner = Wire(ours), Wire(theirs)
        self.template = Template(self.wire, lambda _order: 0)

    def _kill_group(self, pid: int, sign: int = signal.SIGKILL) -> bool:
        self.sent.append(("group", pid, sign))
        return self.leads_group

    def _kill(self, pid: int, sign: int = signal.SIGKILL) -> None:
        self.sent.append(("process", pid, sign))

    def child(self, pid: int, deadline: float | None, *, patience: float | None = None) -> Child:
        work = self.folder / str(pid) / "work"
        work.mkdir(parents=True)
        child = Child(f"job{pid}", pid, pid, pid, work, grace=2.0, deadline=deadline, patience=patience)
        self.template._children[pid] = child
        return child

    def at(self, clock: float) -> list[tuple[str, int, int]]:
        """Look at the deadlines at a moment; return what was sent."""
        self.clock = clock
        before = len(self.sent)
        self.template._enforce_deadlines()
        return self.sent[before:]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Held]:
    held = Held(monkeypatch, tmp_path)
    yield held
    held.wire.close()
    held.runner.close()


def test_a_job_is_asked_at_its_deadline_and_killed_after_its_grace(held: Held) -> None:
    child = held.child(7, 110.0)
    sent = [held.at(clock) for clock in (109.9, 110.0, 111.9, 112.0, 500.0)]
    assert sent == [
        [], [("group", 7, signal.SIGTERM)], [], [("group", 7, signal.SIGKILL), ("process", 7, signal.SIGKILL)], [],
    ]  # fmt: skip
    assert (child.ended, child.deadline, child.kill_at) == ("timeout", None, None)


def test_one_that_leads_no_group_yet_is_asked_by_itself(held: Held) -> None:
    held.leads_group = False
    held.child(7, 110.0)
    assert held.at(110.0) == [("group", 7, signal.SIGTERM), ("process", 7, signal.SIGTERM)]


def test_the_first_reason_stands_and_the_grace_is_counted_from_it(held: Held) -> None:
    child, other = held.child(7, 110.0), held.child(8, None)
    held.template._obey({"cancel": "job7"})
    assert held.sent == [("group", 7, signal.SIGTERM)]
    assert (child.ended, child.deadline, child.kill_at) == ("cancelled", None, 102.0)
    assert (other.ended, other.kill_at) == ("", None)

    held.clock = 101.0
    held.template._obey({"stop": True})
    assert held.sent[1:] == [("group", 8, signal.SIGTERM)]
    assert (child.kill_at, other.ended, other.kill_at) == (102.0, "cancelled", 103.0)
    assert held.at(102.0) == [("group", 7, signal.SIGKILL), ("process", 7, signal.SIGKILL)]


def test_a_ping_is_answered_and_other_words_are_passed_over(held: Held) -> None:
    held.child(7, None)
    for message in ({"ping": True}, {"pong": True}, {"cancel": "job8"}):
        held.template._obey(message)
    assert held.runner.receive(timeout=0.0) == [{"alive": True}]
    assert held.sent == []


def test_a_scoring_goes_on_as_long_as_its_events_grow(held: Held) -> None:
    child = held.child(7, 110.0, patience=10.0)
    events = child.workdir.parent / "events.jsonl"
    events.write_text("one\n")
    assert (held.at(112.0), child.deadline) == ([], 122.0)
    assert held.at(121.9) == []
    events.write_text("one\ntwo\n")
    assert (held.at(122.0), child.deadline) == ([], 132.0)
    assert held.at(132.0) == [("group", 7, signal.SIGTERM)]
    assert child.ended == "timeout"


@pytest.mark.parametrize(
    ("patience", "text", "told", "grows"),
    [
        (5.0, "ab", 1, True),
        (5.0, "ab", 2, False),
        (5.0, "a", 2, False),
        (5.0, None, 0, False),
        (5.0, "", 0, False),
        (None, "ab", 0, False),
    ],
)
def test_a_heartbeat_is_what_was_not_there_before(
    tmp_path: Path, patience: float | None, text: str | None, told: int, *, grows: bool
) -> None:
    child = Child("j", 1, 2, 3, tmp_path / "work", grace=1.0, deadline=50.0, patience=patience, told=told)
    if text is not None:
        (tmp_path / "events.jsonl").write_text(text)
    assert child.has_heartbeat(100.0) is grows
    assert child.deadline == (105.0 if grows else 50.0)
    assert child.told == (told if patience is None or text is None else len(text))


@pytest.mark.parametrize(
    ("deadlines", "waited"),
    [((), None), ((None,), None), ((101.5,), 1500.0), ((103.0, 101.0, None), 1000.0), ((100.0,), 0.0), ((99.0,), 0.0)],
)
def test_the_template_sleeps_until_the_first_deadline(
    held: Held, deadlines: tuple[float | None, ...], waited: float | None
) -> None:
    for pid, deadline in enumerate(deadlines, start=7):
        held.child(pid, deadline)
    assert held.template._patience() == waited


def test_the_template_sleeps_no_longer_than_a_grace_lasts(held: Held) -> None:
    held.child(7, 110.0)
    ending: Any = held.child(8, 110.0)
    held.template._ask_to_end(ending, "cancelled")
    assert held.template._patience() == 2000.0
