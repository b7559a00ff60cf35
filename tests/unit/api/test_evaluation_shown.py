"""One evaluation of a job with what its suite kept of it, and given candidates as tables."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.samples import evaluation, started

from tracebench_core.errors import UsageError
from tracebench_core.specs import BudgetState
from tracebench_core.specs.events import SuiteRecord
from tracebench_engine.cli.results.evaluated import COLUMNS, _interval, _ordered, _row
from tracebench_engine.cli.results.evaluation import show_evaluation
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import JobLayout, RunLayout


def kept(name: str, data: dict[str, Any], *, candidate: str = "c0", example: str = "e0") -> SuiteRecord:
    return SuiteRecord(name=name, data=data, candidate=candidate, example=example)


@pytest.fixture
def layout(tmp_path: Path) -> JobLayout:
    """A job of two evaluations of one candidate and example, with records before, between and after them."""
    job = RunLayout(tmp_path / "run").create().job("0123456789ab")
    job.path.mkdir(parents=True)
    (job.artifacts / "sub").mkdir(parents=True)
    (job.artifacts / "sub/told.txt").write_bytes(b"the tale \x1b[31m of\n" + b"\xff")
    (job.artifacts / "new.txt").write_text("the new tale")
    (job.path / "secret.txt").write_text("outside")
    with closing(EventWriter(job)) as writer:
        for event in (
            started(),
            kept("s.told", {"transcript": "new.txt"}),
            kept("s.told", {"transcript": "sub/told.txt"}),
            kept("s.out", {"transcript": "../secret.txt"}),
            kept("s.none", {"transcript": "no.txt"}),
            kept("s.folder", {"transcript": "sub"}),
            kept("s.number", {"transcript": 3}),
            kept("s.other", {"transcript": "new.txt"}, candidate="c1"),
            kept("s.another", {"transcript": "new.txt"}, example="e1"),
            evaluation(score=0.123456, seconds=1.254, feedback="words \x1b[31m", by="engine", split="test"),
            kept("s.told", {}),
            evaluation(example="e1", score=2.0, status="invalid", feedback="so"),
        ):
            writer.write(event)
    return job


def test_an_evaluation_is_shown_with_the_last_transcript_of_each_name(
    layout: JobLayout, capsys: pytest.CaptureFixture[str]
) -> None:
    show_evaluation(layout, 1, as_json=False)
    told = capsys.readouterr().out
    assert told.splitlines()[:3] == [
        "evaluation 1 of 2: candidate c0 on e0", "test, by the engine, 1.25 s: ok, score 0.123456", "",
    ]  # fmt: skip
    assert told.splitlines()[3].startswith("the tale ")
    assert "\x1b" not in told
    assert "\N{REPLACEMENT CHARACTER}" in told
    assert "outside" not in told
    assert "words" not in told  # the transcript stands in its place
    assert "new tale" not in told


def test_an_evaluation_without_a_transcript_is_shown_with_its_feedback(
    layout: JobLayout, capsys: pytest.CaptureFixture[str]
) -> None:
    (layout.artifacts / "new.txt").unlink()
    show_evaluation(layout, 2, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "evaluation 2 of 2: candidate c0 on e1", "train, by the trainer, 0.00 s: invalid, score 2", "", "so",
    ]  # fmt: skip


def test_an_evaluation_as_data_has_every_record_once(layout: JobLayout, capsys: pytest.CaptureFixture[str]) -> None:
    show_evaluation(layout, 1, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["number"], told["evaluation"]["score"]) == ("evaluation", 1, 0.123456)
    assert [(record["name"], record["data"]["transcript"]) for record in told["records"]] == [
        ("s.told", "sub/told.txt"), ("s.out", "../secret.txt"), ("s.none", "no.txt"), ("s.folder", "sub"), ("s.number", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_a_number_that_no_evaluation_has_is_refused(layout: JobLayout, number: int) -> None:
    with pytest.raises(UsageError) as caught:
        show_evaluation(layout, number, as_json=False)
    assert str(caught.value) == f"`0123456789ab` has 2 evaluations, and none with the number {number}."
    assert (caught.value.hint or "").startswith("trace-bench show ")
    assert (caught.value.hint or "").endswith("/0123456789ab --evaluation 1")


def test_a_job_without_an_evaluation_has_none_to_propose(tmp_path: Path) -> None:
    job = RunLayout(tmp_path / "run").create().job("0123456789ab")
    job.path.mkdir(parents=True)
    with closing(EventWriter(job)) as writer:
        writer.write(started())
    with pytest.raises(UsageError, match="has 0 evaluations") as caught:
        show_evaluation(job, 1, as_json=False)
    assert not caught.value.hint


def given(label: str, *, rows: int = 5, usd: float | None = None) -> Any:
    took = BudgetState(llm_calls=7, tokens=90, usd=usd)
    return SimpleNamespace(log=SimpleNamespace(label=label, rows=[None] * rows), took=took, seconds=1.25)


def standing(label: str, mean: float, *, rows: int = 3, low: float | None = 0.25, high: float | None = 1.0) -> Any:
    table = SimpleNamespace(log=SimpleNamespace(label=label), scores=[1, 2])
    return SimpleNamespace(
        table=table, mean=mean, clustered=0.125, rows=rows, interval=SimpleNamespace(low=low, high=high)
    )


def test_given_candidates_stand_best_first_and_those_without_a_score_last() -> None:
    candidates = [given("none"), given("low"), given("high"), given("below")]
    found: Any = SimpleNamespace(standings=[standing("low", 0.25), standing("high", 2.0), standing("below", -1.0)])
    assert [(c.log.label, s and s.mean) for c, s in _ordered(candidates, found)] == [
        ("high", 2.0), ("low", 0.25), ("below", -1.0), ("none", None),
    ]  # fmt: skip
    assert [(c.log.label, s) for c, s in _ordered(candidates, None)] == [(c.log.label, None) for c in candidates]


def test_a_given_candidate_is_a_row_with_a_dash_for_what_is_not_known() -> None:
    assert dict(zip(COLUMNS, _row(given("a", usd=0.5), standing("a", 0.123456)), strict=True)) == {
        "file": "a", "score": "0.123456", "SE": "0.125", "95 %": "0.25 to 1", "questions": "2", "rows": "5", "no score": "2",
        "calls": "7", "tokens": "90", "usd": "0.5", "seconds": "1.2",
    }  # fmt: skip
    assert _row(given("a"), None) == ("a", "-", "-", "-", "0", "5", "5", "7", "90", "-", "1.2")


@pytest.mark.parametrize(("low", "high"), [(None, 1.0), (0.0, None), (None, None)])
def test_an_interval_with_an_open_end_is_none(low: float | None, high: float | None) -> None:
    assert _interval(standing("a", 1.0, low=low, high=high)) == "-"
    assert _interval(standing("a", 1.0, low=0.0, high=0.5)) == "0 to 0.5"
