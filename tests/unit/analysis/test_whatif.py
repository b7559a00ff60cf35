from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.analysis.whatif import Recap, recap_job
from tracebench_core.specs import Budget, BudgetState
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    ErrorRaised,
    EvaluationDone,
    Event,
    JobFinished,
    JobStarted,
    LLMCall,
    Scored,
)
from tracebench_core.store.reduce import reduce_job

SCORES = [0.1, 0.5, 0.3, 0.9]


def evaluation(candidate: str, score: float, **fields: Any) -> EvaluationDone:
    return EvaluationDone(
        candidate=candidate, split="train", example="a", score=score, status="ok", metrics={}, feedback="", seconds=1.0, **fields
    )  # fmt: skip


def job_log(*, error_at: int | None = None, stop: str = "completed", budget: Budget | None = None) -> list[Event]:
    """Four candidates, one evaluation each, a call of 100 tokens and 1 USD before each but the first; the last is the best."""
    events: list[Event] = [
        JobStarted(job_id="j", task="s:t", trainer="T", params={}, seed=1, budget=budget or Budget(), mode="stub", versions={})
    ]  # fmt: skip
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
        if error_at == i:
            events.append(ErrorRaised(type="E", message="boom"))
            events.append(JobFinished(status="failed", stop_reason="error"))
            return events
    scored = [("initial", "c0", 0.1), ("best", "c3", 0.8), ("final", "c3", 0.8)]
    events += [Scored(what=w, split="validation", candidate=c, score=s, metrics={}) for w, c, s in scored]  # type: ignore[arg-type]
    events += [Scored(what="initial", split="test", candidate="c0", score=0.05, metrics={})]
    events += [Scored(what="best", split="test", candidate="c3", score=0.7, metrics={})]
    events += [evaluation("c3", 0.8, by="engine"), JobFinished(status="ok", stop_reason=stop)]
    return events


def recap(events: list[Event], **caps: Any) -> Recap:
    return recap_job(events, reduce_job(events), caps=Budget(**caps))


def test_without_caps_the_job_is_as_it_was() -> None:
    events = job_log()
    found = recap(events)
    result = reduce_job(events)

    assert (found.status, found.stop_reason, found.cut_by) == (result.status, result.stop_reason, None)
    assert (found.score_val, found.score_test) == (result.score_val_best, result.score_test) == (0.8, 0.7)
    assert found.used.evaluations == 4
    assert found.used.tokens == 300


@pytest.mark.parametrize(
    ("caps", "axis", "best", "evaluations", "calls"),
    [
        ({"evaluations": 2}, "evaluations", "c1", 2, 2),
        ({"evaluations": 1}, "evaluations", "c0", 1, 1),
        ({"evaluations": 0}, "evaluations", None, 0, 0),
        ({"llm_calls": 2}, "llm_calls", "c1", 3, 2),
        ({"tokens": 150}, "tokens", "c1", 3, 2),
        ({"usd": 1.0}, "usd", "c1", 2, 1),
        ({"seconds": 15}, "seconds", "c1", 2, 1),
    ],
)
def test_a_cap_ends_the_job_where_it_would_have(
    caps: dict[str, Any], axis: str, best: str | None, evaluations: int, calls: int
) -> None:
    found = recap(job_log(), **caps)

    assert found.cut_by == axis
    assert found.stop_reason == f"budget:{axis}"
    assert found.best_candidate == best
    assert (found.used.evaluations, found.used.llm_calls) == (evaluations, calls)


def test_what_was_never_scored_is_unknown() -> None:
    found = recap(job_log(), evaluations=3)

    assert (found.best_candidate, found.best_so_far) == ("c1", 0.5)
    assert (found.score_val, found.score_test) == (None, None)


def test_the_initial_candidate_was_scored_and_is_known() -> None:
    found = recap(job_log(), evaluations=1)

    assert (found.score_val, found.score_test) == (0.1, 0.05)


def test_a_job_that_failed_after_the_cap_would_have_ended_well() -> None:
    assert recap(job_log(error_at=2), evaluations=2).status == "ok"
    assert recap(job_log(error_at=2), evaluations=20).status == "failed"


def test_more_than_the_job_was_allowed_is_not_known() -> None:
    events = job_log(stop="budget:evaluations", budget=Budget(evaluations=4))

    assert recap(events, evaluations=9).beyond == "evaluations"
    assert recap(events, evaluations=4).beyond is None
    assert recap(events, usd=100).beyond is None


def test_another_price_moves_the_cap_in_money() -> None:
    events = job_log()
    found = recap_job(events, reduce_job(events), caps=Budget(usd=1.0), reprice=lambda call: 0.1)

    assert found.cut_by is None
    assert found.used.usd == pytest.approx(0.3)
