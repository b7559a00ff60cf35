"""The verdict with which a run ends: what it says where nothing can be compared, and as data where something can."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_comparison import noisy

from tracebench_analysis.logs import GIVEN
from tracebench_engine.builtin import verdict
from tracebench_engine.builtin.verdict import LARGE, verdict_at_end, verdict_of


def test_a_clear_difference_is_told_as_words_and_as_data(tmp_path: Path) -> None:
    found = verdict_of(make_run(tmp_path / "r", noisy(0.5), seeds=range(10)))
    assert (found.decided, found.entrants, found.settling, found.without_scores) == (True, ("A", "B"), None, ())
    assert found.sentence.startswith("A ")
    (pair,) = found.pairs
    assert (pair.one, pair.other, pair.verdict) == ("A", "B", "better")
    assert pair.low is not None
    assert pair.high is not None
    assert 0 < pair.low < pair.difference < pair.high
    assert pair.holm is not None
    assert pair.holm < 0.05
    assert pair.scale == "standardised"


def test_what_is_not_resolved_is_told_with_what_would_settle_it(tmp_path: Path) -> None:
    found = verdict_of(make_run(tmp_path / "r", noisy(0.04)))
    assert (found.decided, found.pairs[0].verdict) == (False, "not resolved")
    assert found.settling is not None
    assert {found.settling.one, found.settling.other} == {"A", "B"}
    assert found.settling.seeds > 0
    assert found.settling.usd is not None
    assert found.next_step


def test_one_entrant_alone_decides_nothing(tmp_path: Path) -> None:
    found = verdict_of(make_run(tmp_path / "r", noisy(0.5), trainers=["A"]))
    assert (found.decided, found.pairs, found.entrants) == (False, (), ("A",))


def test_a_run_of_which_no_job_ended_has_none(tmp_path: Path) -> None:
    statuses: Any = {(trainer, "s:x", 0): "not_run" for trainer in "AB"}
    run = make_run(tmp_path / "r", noisy(0.5), tasks=["s:x"], seeds=[0], statuses=statuses)
    assert verdict_of(run).sentence == "No verdict: no job ended."


def test_a_large_run_is_compared_when_it_is_asked_for(tmp_path: Path) -> None:
    def run(jobs: int) -> Any:
        layout = SimpleNamespace(path=tmp_path / "a run")
        return SimpleNamespace(planned=[None] * jobs, layout=layout, briefs={})

    assert verdict_of(run(LARGE)).sentence == "No verdict: no job ended."
    assert verdict_of(run(LARGE + 1)).sentence == (
        f"No verdict yet, for {LARGE + 1} jobs take a while to compare: trace-bench compare '{tmp_path}/a run'"
    )


def test_a_run_of_given_candidates_is_compared_question_by_question(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "r", lambda *_: None, trainers=[GIVEN], tasks=["s:x"], seeds=[0], initial=None,
        ended=lambda *_: {"trainer_id": GIVEN},
    )  # fmt: skip
    assert verdict_of(run).sentence == "No verdict: no candidate has a score."


def test_what_cannot_be_said_at_the_end_is_said_and_takes_nothing_from_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = verdict_at_end(tmp_path / "none")
    assert lost.sentence.startswith("No verdict: ")
    assert f"{tmp_path}/none" in lost.sentence
    run = make_run(tmp_path / "r", noisy(0.5))
    assert verdict_at_end(run.layout.path) == verdict_at_end(run)

    def fail(_run: Any) -> None:
        raise ZeroDivisionError("by 0")

    monkeypatch.setattr(verdict, "verdict_of", fail)
    assert verdict_at_end(run).sentence == "No verdict: ZeroDivisionError: by 0."
