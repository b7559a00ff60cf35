from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tracebench_analysis.whatif import Recap, recap_job
from tracebench_core.specs import Budget, BudgetState
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    ComparisonSet,
    Decision,
    ErrorRaised,
    EvaluationDone,
    Event,
    ExamplesKnown,
    JobFinished,
    JobStarted,
    LLMCall,
    Scored,
)
from tracebench_runs.events.reduce import reduce_job

SCORES = [0.1, 0.5, 0.3, 0.9, 0.8, 0.7]
VALIDATION = {"c0": 0.1, "c3": 0.8, "c4": 0.85, "c5": 0.6}
"""What the engine measured after training: the three best of `SCORES`, and the initial candidate."""


def evaluation(candidate: str, score: float, **fields: Any) -> EvaluationDone:
    return EvaluationDone(
        candidate=candidate, split="train", example="a", score=score, status="ok", metrics={}, feedback="", seconds=1.0, **fields
    )  # fmt: skip


def job_log(
    *,
    error_at: int | None = None,
    stop: str = "completed",
    budget: Budget | None = None,
    rejected: Sequence[str] = (),
    compared_on: str | None = None,
) -> list[Event]:
    """Six candidates, one evaluation each, a call of 100 tokens and 1 USD before each but the first.

    The fourth is the best in training, the fifth on validation.
    """
    events: list[Event] = [
        JobStarted(job_id="j", task="s:t", trainer="T", params={}, seed=1, budget=budget or Budget(), mode="stub", versions={}),
        ExamplesKnown(train=("a",), validation=("b",)),
    ]  # fmt: skip
    if compared_on is not None:
        events.append(ComparisonSet(examples=(compared_on,)))
    best = None
    for i, score in enumerate(SCORES):
        mono = 10.0 + 10 * i
        if i:
            events.append(
                LLMCall(call=i, role="optimizer", model="m", status="ok", prompt_tokens=90, completion_tokens=10, usd=1.0, mono=mono)
            )  # fmt: skip
        events.append(CandidateSeen(id=f"c{i}", parents=(), origin="", values={}, step=None))
        events.append(evaluation(f"c{i}", score, mono=mono + 1))
        if best is None or score > best:
            best = score
            used = BudgetState(evaluations=i + 1, llm_calls=i, tokens=100 * i, usd=float(i), seconds=mono - 9)
            events.append(BestChanged(candidate=f"c{i}", score=score, used=used, mono=mono + 1))
        if f"c{i}" in rejected:
            events.append(Decision(candidate=f"c{i}", verdict="rejected"))
        if error_at == i:
            events.append(ErrorRaised(type="E", message="boom"))
            events.append(JobFinished(status="failed", stop_reason="error"))
            return events
    scored = [("initial", "c0"), ("finalist", "c3"), ("best", "c4"), ("finalist", "c5"), ("final", "c5")]
    events += [evaluation(c, score, by="engine") for c, score in VALIDATION.items()]
    events += [Scored(what=w, split="validation", candidate=c, score=VALIDATION[c], metrics={}) for w, c in scored]  # type: ignore[arg-type]
    events += [Scored(what="initial", split="test", candidate="c0", score=0.05, metrics={})]
    events += [Scored(what="best", split="test", candidate="c4", score=0.7, metrics={})]
    events += [JobFinished(status="ok", stop_reason=stop)]
    return events


def recap(events: list[Event], **caps: Any) -> Recap:
    return recap_job(events, reduce_job(events), caps=Budget(**caps))


def test_without_caps_the_job_is_as_it_was() -> None:
    events = job_log()
    found = recap(events)
    result = reduce_job(events)

    assert (found.status, found.stop_reason, found.cut_by) == (result.status, result.stop_reason, None)
    assert (found.score_val, found.score_test) == (result.score_val_best, result.score_test) == (0.85, 0.7)
    assert (found.best_candidate, found.best_so_far) == ("c4", 0.9)
    assert found.finalists == ("c3", "c4", "c5", "c0")
    assert found.used.evaluations == 6
    assert found.used.tokens == 500


@pytest.mark.parametrize(
    ("caps", "axis", "best", "evaluations", "calls"),
    [
        ({"evaluations": 2}, "evaluations", "c1", 2, 2),
        ({"evaluations": 1}, "evaluations", "c0", 1, 1),
        ({"evaluations": 0}, "evaluations", "c0", 0, 0),
        ({"llm_calls": 2}, "llm_calls", "c1", 3, 2),
        ({"tokens": 150}, "tokens", "c1", 3, 2),
        ({"usd": 1.0}, "usd", "c1", 2, 1),
        ({"seconds": 15}, "seconds", "c1", 2, 1),
    ],
)
def test_a_cap_ends_the_job_where_it_would_have(
    caps: dict[str, Any], axis: str, best: str, evaluations: int, calls: int
) -> None:
    found = recap(job_log(), **caps)

    assert found.cut_by == axis
    assert found.stop_reason == f"budget:{axis}"
    assert found.best_candidate == best
    assert (found.used.evaluations, found.used.llm_calls) == (evaluations, calls)


def test_what_was_never_scored_is_unknown() -> None:
    found = recap(job_log(), evaluations=3)

    assert (found.best_candidate, found.best_so_far) == ("c1", 0.5)
    assert found.finalists == ("c1", "c2", "c0")
    assert (found.score_val, found.score_test) == (None, None)


def test_one_finalist_that_was_never_scored_leaves_the_winner_unknown() -> None:
    found = recap(job_log(), evaluations=5)

    assert found.finalists == ("c3", "c4", "c1", "c0")
    assert (found.best_candidate, found.best_so_far) == ("c3", 0.9)
    assert (found.score_val, found.score_test) == (None, None)


def test_of_finalists_that_were_all_scored_the_best_on_validation_wins() -> None:
    found = recap(job_log(rejected=["c1", "c2"]), evaluations=5)

    assert found.finalists == ("c3", "c4", "c0")
    assert (found.best_candidate, found.best_so_far) == ("c4", 0.9)
    assert (found.score_val, found.score_test) == (0.85, 0.7)


def test_a_rejected_candidate_does_not_win() -> None:
    found = recap(job_log(rejected=["c1", "c2", "c4"]), evaluations=5)

    assert found.finalists == ("c3", "c0")
    assert (found.best_candidate, found.score_val, found.score_test) == ("c3", 0.8, None)


def test_who_was_not_measured_on_the_comparison_set_is_a_finalist_where_it_leads_on_all_of_train() -> None:
    found = recap(job_log(compared_on="b"), evaluations=4)

    assert found.finalists == ("c3", "c0")
    assert (found.best_candidate, found.best_so_far, found.score_val) == ("c3", None, 0.8)


@pytest.mark.parametrize(("evaluations", "best_so_far"), [(0, None), (1, 0.1)])
def test_the_initial_candidate_was_scored_and_is_known(evaluations: int, best_so_far: float | None) -> None:
    found = recap(job_log(), evaluations=evaluations)

    assert (found.best_candidate, found.best_so_far) == ("c0", best_so_far)
    assert (found.score_val, found.score_test) == (0.1, 0.05)


def test_a_job_that_failed_after_the_cap_would_have_ended_well() -> None:
    assert recap(job_log(error_at=2), evaluations=2).status == "ok"
    assert recap(job_log(error_at=2), evaluations=20).status == "failed"


def test_more_than_the_job_was_allowed_is_not_known() -> None:
    events = job_log(stop="budget:evaluations", budget=Budget(evaluations=6))

    assert recap(events, evaluations=9).beyond == "evaluations"
    assert recap(events, evaluations=6).beyond is None
    assert recap(events, usd=100).beyond is None


def test_another_price_moves_the_cap_in_money() -> None:
    events = job_log()
    found = recap_job(events, reduce_job(events), caps=Budget(usd=1.0), reprice=lambda call: 0.1)

    assert found.cut_by is None
    assert found.used.usd == pytest.approx(0.5)


def test_candidates_are_ranked_by_the_tasks_own_aggregate_and_by_none_where_it_is_unknown() -> None:
    started = job_log()[0].model_copy(update={"aggregate": "worst"})
    events: list[Event] = [started, ExamplesKnown(train=("a", "b"), validation=())]
    for candidate, scores in {"c0": (0.2, 0.2), "c1": (0.9, 0.1), "c2": (0.4, 0.4)}.items():
        events.append(CandidateSeen(id=candidate, parents=(), origin="", values={}, step=None))
        events += [
            evaluation(candidate, s).model_copy(update={"example": e}) for e, s in zip("ab", scores, strict=True)
        ]
    events.append(JobFinished(status="ok", stop_reason="completed"))
    result = reduce_job(events)

    def lowest(scores: Sequence[float], _metrics: object) -> float:
        return min(scores)

    told = recap_job(events, result, caps=Budget(), find=lambda name: lowest if name == "worst" else None)
    assert (told.finalists, told.best_so_far) == (("c2", "c0", "c1"), 0.4)
    unknown = recap_job(events, result, caps=Budget(evaluations=6))
    assert (unknown.finalists, unknown.best_candidate, unknown.best_so_far) == ((), None, None)
