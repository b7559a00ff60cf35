"""What a run answers while it runs, and whether it does what it was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine.run.control import RunControl
from tracebench_engine.run.control_channel import Peer
from tracebench_runs.storage.layout import RunLayout

PEER = Peer(1234, 0)


class Ended:
    """Takes the place of an executor: what it was asked to end."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    def cancel(self, job_id: str) -> None:
        self.jobs.append(job_id)


@pytest.fixture
def control(tmp_path: Path) -> RunControl:
    (tmp_path / "r").mkdir()
    return RunControl(RunLayout(tmp_path / "r"), iter(["a", "b", "c"]))


def recorded(control: RunControl) -> list[dict[str, Any]]:
    return [json.loads(line) for line in control._layout.control.read_text().splitlines()]


def test_a_question_is_answered_and_recorded_nowhere(control: RunControl) -> None:
    control.finished_before(iter(["a"]))
    control.started("b")
    told = control.answer({"do": "status"}, PEER)

    assert told["ok"] is True
    assert (told["jobs"], told["done"], told["running"], told["state"]) == (3, 1, ["b"], "running")
    assert not control._layout.control.exists()


def test_a_pause_is_recorded_once_and_ends_where_it_is_told_to(control: RunControl) -> None:
    first, again = (control.answer({"do": "pause"}, PEER) for _ in range(2))
    assert [(told["ok"], told["changed"], told["state"]) for told in (first, again)] == [
        (True, True, "paused"),
        (True, False, "paused"),
    ]
    assert control.is_paused
    assert control.answer({"do": "unpause"}, PEER)["state"] == "running"
    assert not control.is_paused
    assert [(line["action"], line["by"]["pid"]) for line in recorded(control)] == [("pause", 1234), ("unpause", 1234)]


def test_a_job_that_runs_is_ended_and_one_that_waits_is_marked_alone(control: RunControl) -> None:
    control.executor = ended = Ended()
    control.started("b")
    for job in ("b", "c"):
        assert control.answer({"do": "cancel", "job": job, "reason": "slow"}, PEER)["ok"] is True

    assert ended.jobs == ["b"]
    assert [control.reason(job) for job in ("a", "b", "c")] == [None, "slow", "slow"]
    assert control.stopped_by == ""


def test_what_has_ended_or_was_never_planned_is_refused_and_not_recorded(control: RunControl) -> None:
    control.started("a")
    control.ended("a", finished=True)
    for request, words in (
        ({"do": "cancel", "job": "a", "reason": ""}, "job `a` has ended already"),
        ({"do": "cancel", "job": "z", "reason": ""}, "run `r` has no job `z`"),
        ({"do": "dance"}, 'the run does not understand {"do": "dance"}'),
    ):
        assert control.answer(request, PEER) == {"ok": False, "error": words}
    assert not control._layout.control.exists()


def test_a_job_that_died_and_did_not_finish_may_be_cancelled(control: RunControl) -> None:
    control.started("a")
    control.ended("a", finished=False)
    assert control.answer({"do": "cancel", "job": "a", "reason": "enough"}, PEER)["ok"] is True


def test_a_cancelled_run_ends_what_runs_keeps_its_first_reason_and_is_paused_no_more(control: RunControl) -> None:
    control.executor = ended = Ended()
    control.started("a")
    control.answer({"do": "pause"}, PEER)
    told = control.answer({"do": "cancel", "reason": ""}, PEER)
    control.answer({"do": "cancel", "reason": "too late"}, PEER)

    assert (told["ok"], told["state"], control.stopped_by) == (
        True,
        "cancelled: no reason given",
        "cancelled: no reason given",
    )
    assert ended.jobs == ["a", "a"]
    assert not control.is_paused
