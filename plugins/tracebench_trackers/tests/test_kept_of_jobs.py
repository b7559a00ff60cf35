"""What a tracker is told of each event, and of a job before its end, whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.samples import call, candidate, evaluation, job_spec, started

from tracebench_core.errors import UsageError
from tracebench_core.specs import Budget, BudgetState, ModelIdentity
from tracebench_core.specs.events import BestChanged, JobFinished, MetricLogged, Scored, StepFinished
from tracebench_runs import JobLayout
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import RunLayout
from tracebench_trackers.closing import LARGEST, closing
from tracebench_trackers.readings import Configured, Ended, Kept, Numbers, readings
from tracebench_trackers.spans import Spans

USED = BudgetState(evaluations=3, llm_calls=2, tokens=30, usd=None, seconds=1.5)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (candidate(), []),
        (evaluation(), []),
        (
            started(job_spec(params={"a": {"b": 1}, "c": [2]}, budget=Budget(usd=1.5), seed=4),
            models={"agent": ModelIdentity(provider="p", model="m")}),
            [Configured("Climber on suite:task, seed 4", {
                "job_id": "0123456789ab", "task": "suite:task", "trainer": "Climber", "label": "", "seed": "4", "mode": "stub",
                "versions.core": "0.1.0", "llm.agent.model": "m", "llm.agent.provider": "p", "settings.a.b": "1", "settings.c": "[2]",
                "budget.usd": "1.5",
            })],
        ),
        (
            StepFinished(index=3, score=None, best=0.5, seconds=2.0, used=USED),
            [Numbers({"step/best": 0.5, "step/seconds": 2.0, "used/evaluations": 3.0, "used/llm_calls": 2.0, "used/tokens": 30.0,
                      "used/seconds": 1.5}, at=3)],
        ),
        (
            BestChanged(candidate="c", score=0.5, used=USED),
            [Numbers({f"best/by_{axis}": 0.5}, at=at, axis=axis) for axis, at in (("evaluations", 3), ("llm_calls", 2), ("tokens", 30))],
        ),
        (MetricLogged(name="m", value=2.0, step=5), [Numbers({"metric/m": 2.0}, at=5)]),
        (MetricLogged(name="m", value=2.0), [Numbers({"metric/m": 2.0}, at=0)]),
        (Scored(what="best", split="test", candidate="c", score=0.25, metrics={}), [Numbers({"score/test/best": 0.25}, at=None)]),
        (Scored(what="final", split="train", candidate="c", score=None, metrics={}), [Numbers({}, at=None)]),
        (
            JobFinished(status="timeout", stop_reason="late", used=USED, seconds=9.0),
            [Numbers({"total/evaluations": 3.0, "total/llm_calls": 2.0, "total/tokens": 30.0,
            "total/seconds": 9.0}, at=None), Ended("timeout", "late")],
        ),
    ],
)  # fmt: skip
def test_a_tracker_is_told_of_an_event(event: Any, told: list[Any]) -> None:
    assert [*readings(event)] == told


@pytest.fixture
def job(tmp_path: Path) -> JobLayout:
    layout = RunLayout(tmp_path / "run").create().job("0123456789ab").fresh()
    writer = EventWriter(layout)
    values = {"text": "long " * 1000, "../a b/é": {"x": [1]}, "...": "dots"}
    for event in (
        started(), candidate("c0", values={"text": "first"}), candidate("c1", values={"text": "between"}), candidate("c2", values=values),
        call(prompt_tokens=7, completion_tokens=3, cached_tokens=2), call(call=1, role="agent"),
        Scored(what="best", split="validation", candidate="c2", score=1.0, metrics={}), JobFinished(status="ok", stop_reason="completed"),
    ):  # fmt: skip
        writer.append(event)
    writer.close()
    layout.stdout.write_text("said")
    return layout


USAGE = {
    "usage/optimizer/prompt_tokens": 7.0, "usage/optimizer/completion_tokens": 3.0, "usage/optimizer/cached_tokens": 2.0,
    "usage/optimizer/llm_calls": 1.0, "usage/agent/prompt_tokens": 10.0, "usage/agent/completion_tokens": 5.0,
    "usage/agent/cached_tokens": 0.0,
    "usage/agent/llm_calls": 1.0, "usage/prompt_tokens": 17.0, "usage/completion_tokens": 8.0, "usage/cached_tokens": 2.0,
    "usage/llm_calls": 2.0,
}  # fmt: skip


def test_before_its_end_usage_files_and_texts_of_a_job_are_told(job: JobLayout) -> None:
    assert [*closing(job, keep=())] == [Numbers(USAGE, at=None)]
    assert [*closing(job, keep=("events", "log"))][1:] == [
        Kept("events.jsonl", path=job.events),
        Kept("stdout.log", path=job.stdout),
    ]
    assert [*closing(job, keep=("candidates",))][1:] == [
        Kept("candidates/initial/text.txt", "first"), Kept("candidates/best/text.txt", "long " * 1000),
        Kept("candidates/best/_a_b_é-085e243f.txt", '{\n  "x": [\n    1\n  ]\n}'), Kept("candidates/best/_-ab5df625.txt", "dots"),
    ]  # fmt: skip


def test_a_file_is_kept_up_to_its_largest_size(job: JobLayout) -> None:
    for size, kept in ((LARGEST, [job.stdout]), (LARGEST + 1, [])):
        with job.stdout.open("wb") as file:
            file.truncate(size)  # of holes, which take no room
        assert [each.path for each in closing(job, keep=("log",)) if isinstance(each, Kept)] == kept
    job.stdout.unlink()
    assert [*closing(job, keep=("log",))][1:] == []


@pytest.mark.parametrize(
    "options", [{"endpoint": 3}, {"endpoint": "ftp://x"}, {"endpoint": "http://x", "more": 1}, {"endpont": "http://x"}]
)
def test_a_collector_is_an_address_and_nothing_else(options: dict[str, Any]) -> None:
    with pytest.raises(
        UsageError, match=r"`plugins\.options\.otel` takes `endpoint`, the address of a collector, and nothing else\."
    ) as caught:
        Spans().tracebench_configure({"options": options})
    assert "otel: {endpoint: http" in caught.value.hint


def test_without_a_collector_there_is_nothing_to_do() -> None:
    for options in ({}, {"endpoint": None}):
        assert Spans().tracebench_configure({"options": options}) is False
