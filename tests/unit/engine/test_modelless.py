"""A run none of whose first jobs finds a model that answers."""

from __future__ import annotations

from tracebench_core.specs import ErrorInfo, JobResult, JobStatus, Usage
from tracebench_engine.run.circuit_breaker import HOPELESS_JOBS, RunBreaker


def result(status: JobStatus, *, error: str = "", calls: int = 0) -> JobResult:
    return JobResult(
        job_id="j",
        task_id="s:t",
        suite="s",
        trainer_id="t",
        seed=0,
        mode="real",
        status=status,
        stop_reason="error" if error else "completed",
        usage={"optimizer": Usage(llm_calls=calls)},
        error=ErrorInfo(type=error, message="no") if error else None,
    )


UNANSWERED = result("failed", error="NoModelAnswered")


def test_enough_jobs_without_an_answer_are_the_end() -> None:
    found = RunBreaker()
    assert [found.adds_up(UNANSWERED) for _ in range(HOPELESS_JOBS)] == [False] * (HOPELESS_JOBS - 1) + [True]


def test_jobs_that_ask_no_model_say_nothing_of_it() -> None:
    found = RunBreaker()
    for _ in range(HOPELESS_JOBS - 1):
        found.adds_up(UNANSWERED)
    assert not found.adds_up(result("ok"))
    assert not found.adds_up(result("failed", error="ValueError"))
    assert found.adds_up(UNANSWERED)


def test_one_answer_in_a_run_is_hope() -> None:
    found = RunBreaker()
    found.adds_up(result("ok", calls=1))
    assert not any(found.adds_up(UNANSWERED) for _ in range(2 * HOPELESS_JOBS))
