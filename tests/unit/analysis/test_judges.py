"""Whose scores count where several judges have scored, and in what two comparisons of the same runs differ."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_comparison import noisy

from tracebench_analysis.comparison import judges
from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import (
    STANDING_COLUMNS,
    comparison_data,
    differing_parts,
    differing_scores,
    standing_rows,
)
from tracebench_analysis.comparison.judges import Judges
from tracebench_core.specs import Judge
from tracebench_core.specs.events import Scored
from tracebench_core.specs.regrade import Regrade
from tracebench_runs.reading.reader import Run


def regrade(job_id: str, digest: str, *, day: int = 1, score: float = 9.0, task: str = "s:x") -> Regrade:
    scored = Scored(what="best", split="test", candidate="c1", score=score, metrics={})
    return Regrade(
        t=datetime(2026, 11, day, tzinfo=UTC), job_id=job_id, task_id=task, comparability=day + 1,
        judge=Judge(version=f"v{day}", digest=digest),
        scored=(scored,),
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(
        tmp_path / "r", noisy(0.5), trainers=["A"], tasks=["s:x"], seeds=range(3),
        ended=lambda _trainer, _task, _seed: {"judge": Judge(version="1", digest="own-digest")},
    )  # fmt: skip


@pytest.fixture
def judged(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Judges]:
    """Return what settles who judges a run, after a later judge scored some of its jobs."""

    def judge(*regrades: Regrade) -> Judges:
        monkeypatch.setattr(judges, "read_regrades", lambda _layout, trust: list(regrades))
        return Judges([run])

    return judge


def test_without_a_later_judge_every_job_keeps_its_own(judged: Callable[..., Judges], run: Run) -> None:
    found = judged()
    job = run.planned[0].job_id
    assert (found.said, found.comparability("s:x")) == ([], None)
    assert found.brief(run, "s:x", job) == run.briefs[job]


def test_a_judge_that_scored_every_job_counts_for_all_and_of_two_the_later(
    judged: Callable[..., Judges], run: Run
) -> None:
    ids = [job.job_id for job in run.planned]
    found = judged(*(regrade(id_, "new-judge-digest") for id_ in ids))
    assert found.said == ["s:x: scored by v1 (new-judg) in all 3 jobs, 3 of them regraded."]
    assert found.comparability("s:x") == 2
    assert [found.brief(run, "s:x", id_).score_test for id_ in ids] == [9.0] * 3
    two = judged(
        *(regrade(id_, "late", day=5, score=5.0) for id_ in ids), *(regrade(id_, "early", day=3, score=3.0) for id_ in ids)
    )  # fmt: skip
    assert two.said == ["s:x: scored by v5 (late) in all 3 jobs, 3 of them regraded."]
    assert [two.brief(run, "s:x", id_).score_test for id_ in ids] == [5.0] * 3
    assert two.comparability("s:y") is None


def test_a_judge_that_scored_some_jobs_counts_for_none(judged: Callable[..., Judges], run: Run) -> None:
    one, two, _ = (job.job_id for job in run.planned)
    found = judged(regrade(one, "new"), regrade(two, "new"), regrade(one, "other"))
    assert found.said == ["s:x: 2 of 3 jobs are regraded; each counts as its run scored it."]
    assert found.comparability("s:x") is None
    assert found.brief(run, "s:x", one) == run.briefs[one]


def test_the_judge_that_a_job_had_itself_needs_no_regrade_of_it(judged: Callable[..., Judges], run: Run) -> None:
    one, two, three = (job.job_id for job in run.planned)
    own = run.briefs[three]
    found = judged(regrade(one, "own-digest"), regrade(two, "own-digest"))
    assert found.said == ["s:x: scored by v1 (own-dige) in all 3 jobs, 2 of them regraded."]
    assert found.brief(run, "s:x", three) == own


@pytest.mark.parametrize(
    ("scores", "counted"),
    [((1.0, None), True), ((None, 1.0), True), ((1.0, 1.0), True), ((None, None), False)],
)
def test_only_a_job_that_has_a_score_needs_the_judge_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: Any, counted: bool
) -> None:
    def ended(_trainer: str, _task: str, seed: int) -> dict[str, Any]:
        best, test = scores if seed else (1.0, 1.0)
        return {"score_val_best": best, "score_test": test, "judge": Judge(version="1", digest="own")}

    run = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=[0, 1], ended=ended)
    regraded = regrade(run.planned[0].job_id, "new")
    monkeypatch.setattr(judges, "read_regrades", lambda _layout, trust: [regraded])
    words = (
        "1 of 2 jobs are regraded; each counts" if counted else "scored by v1 (new) in all 1 jobs, 1 of them regraded"
    )
    (said,) = Judges([run]).said
    assert said.startswith(f"s:x: {words}")


def test_jobs_of_several_judges_are_told_with_what_makes_it_one(tmp_path: Path) -> None:
    runs = [
        make_run(
            tmp_path / name, noisy(0.5), trainers=["A"], tasks=["s:x"], seeds=[1],
            ended=lambda *_, name=name: {"judge": Judge(version="1", digest=f"{name}-long-digest")},
        )
        for name in ("b", "a")
    ]  # fmt: skip
    words = "s:x: scored by 2 judges (a-long-d, b-long-d); `trace-bench regrade RUN` makes it one."
    assert Judges(runs).said == [words]
    assert Judges(runs[:1]).said == []


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return comparison_data(compare_runs([make_run(tmp_path_factory.mktemp("r") / "r", noisy(0.5))]))


def test_equal_comparisons_differ_in_nothing(data: dict[str, Any]) -> None:
    assert differing_parts(data, data) == []
    assert differing_scores(data, data) == []


@pytest.mark.parametrize("told", [None, [], "x"])
def test_what_is_no_comparison_differs_in_everything(data: dict[str, Any], told: Any) -> None:
    assert differing_parts(told, data) == ["everything"]
    assert differing_scores(told, data) == ["everything"]
    assert differing_scores({"runs": []}, data) == ["everything"]


def test_the_parts_that_differ_are_named_in_their_order(data: dict[str, Any]) -> None:
    told = {name: value for name, value in data.items() if name != "runs"} | {"verdict": "no"}
    assert differing_parts(told, data) == ["runs", "verdict"]


def standing_of(told: dict[str, Any], entrant: str = "A") -> dict[str, Any]:
    found: dict[str, Any] = next(s for s in told["tasks"][0]["standings"] if s["entrant"] == entrant)
    return found


@pytest.mark.parametrize("field", ["counted", "measured", "jobs"])
def test_another_count_of_jobs_is_a_false_score(data: dict[str, Any], field: str) -> None:
    told = copy.deepcopy(data)
    standing_of(told)[field] += 1
    assert differing_scores(told, data) == [f"the scores of A on {told['tasks'][0]['task']}"]


def test_means_count_to_nine_digits_and_what_a_method_changes_does_not(data: dict[str, Any]) -> None:
    told = copy.deepcopy(data)
    mean = standing_of(told)["mean"]
    mean["low"], mean["estimate"] = -99.0, mean["estimate"] * (1 + 1e-12)
    told["verdict"] = "of another method"
    assert differing_scores(told, data) == []
    mean["estimate"] *= 1 + 1e-7
    assert differing_scores(told, data) == [f"the scores of A on {told['tasks'][0]['task']}"]


def test_who_was_not_measured_has_no_mean_and_no_count(data: dict[str, Any]) -> None:
    one, other = copy.deepcopy(data), copy.deepcopy(data)
    for told, counted in ((one, 3), (other, 0)):
        standing_of(told).update(measured=0, counted=counted, mean=None)
    assert differing_scores(one, other) == []
    standing_of(one)["mean"] = standing_of(data, "B")["mean"]
    assert differing_scores(one, other) == []


@pytest.mark.parametrize(
    ("field", "words"), [("runs", "the runs"), ("cut", "the cut"), ("failures_count_as", "failures")]
)
def test_other_runs_cuts_and_ways_of_counting_are_told(data: dict[str, Any], field: str, words: str) -> None:
    assert differing_scores({**data, field: "other"}, data) == [words]


def test_an_entrant_or_a_task_that_is_not_there_is_told(data: dict[str, Any]) -> None:
    told = copy.deepcopy(data)
    gone = told["tasks"].pop()
    names = [f"the scores of {s['entrant']} on {gone['task']}" for s in gone["standings"]]
    assert sorted(differing_scores(told, data)) == sorted(names)
    assert sorted(differing_scores(data, told)) == sorted(names)


def test_a_row_stands_for_an_entrant_over_all_tasks_and_on_each(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.5), seeds=range(10))])
    rows = list(standing_rows(found))
    assert [row["task"] for row in rows] == ["*", "*", "s:x", "s:x", "s:y", "s:y"]
    assert all({*row} == {*STANDING_COLUMNS} for row in rows)
    assert [row["rank"] for row in rows] == [1, 2] * 3
    assert [(row["entrant"], row["winner"]) for row in rows[2:]] == [("A", True), ("B", False)] * 2
    assert [row["winner"] for row in rows[:2]] == [False, False]
    assert all(row["low"] < row["mean"] < row["high"] for row in rows)
    assert (rows[0]["measure"], rows[0]["jobs"], rows[2]["jobs"]) == ("normalised", 20, 10)


def test_an_entrant_without_a_score_has_no_rank(tmp_path: Path) -> None:
    statuses: Any = {("B", "s:x", seed): "failed" for seed in range(5)}
    run = make_run(
        tmp_path / "r", lambda trainer, _task, _seed: None if trainer == "B" else 1.0, statuses=statuses, initial=None, tasks=["s:x"]
    )  # fmt: skip
    last = [row for row in standing_rows(compare_runs([run])) if row["entrant"] == "B" and row["task"] == "s:x"][-1]
    assert [last[name] for name in ("rank", "mean", "low", "high", "winner")] == [None, None, None, None, False]
    assert SimpleNamespace(**last).measured == 0
