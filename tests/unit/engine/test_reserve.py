"""What a run's budget still pays for beside the jobs under way."""

from __future__ import annotations

from typing import Any

from tests.unit.store.samples import job_spec

from tracebench_core.specs import Budget, BudgetState, JobResult, JobSpec, RunConfig, Usage
from tracebench_engine.matrix.reserve import Reserve, shares


def job(name: str, *, trainer: str = "T", **caps: Any) -> JobSpec:
    return job_spec(job_id=name * 12, trainer_id=trainer, budget=Budget(**caps))


def result(
    of: JobSpec, evaluations: int, *, status: Any = "ok", reason: str = "completed", calls: int = 0
) -> JobResult:
    return JobResult(
        job_id=of.job_id,
        task_id=of.task_id,
        suite="s",
        trainer_id=of.trainer_id,
        seed=1,
        mode="stub",
        status=status,
        stop_reason=reason,
        used=BudgetState(evaluations=evaluations),
        usage={"optimizer": Usage(llm_calls=calls)},
    )


def after(cap: int, *costs: int, **more: Any) -> Reserve:
    """Return the reserve of a run of so many evaluations in which jobs of one group have ended at these costs."""
    reserve = Reserve(Budget(evaluations=cap), {})
    for number, cost in enumerate(costs):
        done = job("abcdef"[number])
        reserve.started(done)
        reserve.ended(done, result(done, cost, **more))
    return reserve


def test_a_job_is_taken_to_cost_as_much_as_the_dearest_before_it_not_the_last() -> None:
    for costs in ((30, 10, 20), (10, 20, 30), (10, 30, 20)):
        assert after(89, *costs).beyond(job("f")) == "evaluations"  # 29 are left
        assert after(90, *costs).beyond(job("f")) is None


def test_a_job_of_another_kind_costs_what_the_dearest_of_all_did() -> None:
    assert after(29 + 30, 30).beyond(job("f", trainer="Other")) == "evaluations"
    assert after(30 + 30, 30).beyond(job("f", trainer="Other")) is None


def test_what_it_may_cost_by_its_own_budget_goes_before_what_others_cost() -> None:
    assert after(35, 30).beyond(job("f", evaluations=5)) is None
    assert after(35, 30).beyond(job("f", evaluations=6)) == "evaluations"


def test_a_job_that_the_run_s_budget_ended_or_that_failed_tells_no_price() -> None:
    assert after(31, 30, reason="run budget:evaluations").beyond(job("f")) is None
    assert after(31, 30, status="failed").beyond(job("f")) is None
    assert after(30, 30, status="failed").beyond(job("f")) == "evaluations"  # it is spent all the same


def test_a_job_waits_while_nobody_knows_what_those_under_way_leave() -> None:
    reserve = Reserve(Budget(evaluations=100), {"evaluations": 20})
    assert not reserve.must_wait(job("a"))
    reserve.started(job("a"))
    assert reserve.must_wait(job("b"))  # what `a` costs is unknown
    reserve.ended(job("a"), result(job("a"), 30))
    reserve.started(job("b"))  # 50 are left, of which it is taken to need 30
    assert reserve.must_wait(job("c"))
    assert not reserve.must_wait(job("c", evaluations=20))
    assert reserve.must_wait(job("c", evaluations=21))


def test_an_attempt_without_a_result_is_taken_at_its_estimate() -> None:
    reserve = Reserve(Budget(evaluations=100), {})
    reserve.started(job("a", evaluations=60))
    reserve.ended(job("a"), None)
    assert reserve.beyond(job("b", evaluations=40)) is None
    assert reserve.beyond(job("b", evaluations=41)) == "evaluations"


def test_calls_add_up_with_what_the_run_has_spent_before() -> None:
    reserve = Reserve(Budget(llm_calls=10), {"llm_calls": 4.0})
    done = job("a")
    reserve.started(done)
    reserve.ended(done, result(done, 99, calls=3))
    assert reserve.beyond(job("b")) is None
    assert reserve.beyond(job("b", llm_calls=4)) == "llm_calls"


def test_equal_parts_are_told_where_no_job_is_capped() -> None:
    def config(**fields: Any) -> RunConfig:
        return RunConfig(tasks=({"id": "s:t"},), trainers=({"id": "T"},), **fields)  # type: ignore[arg-type]  # pydantic reads them

    parts = shares(config(run_budget=Budget(evaluations=100, usd=1.0)), 3)
    assert parts == Budget(evaluations=33, usd=0.333)
    assert shares(config(run_budget=Budget(evaluations=100)), 1) is None
    assert shares(config(run_budget=Budget(seconds=9)), 3) is None
    assert shares(config(run_budget=Budget(evaluations=9), budget=Budget(evaluations=3)), 3) is None
