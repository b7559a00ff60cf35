from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_analysis.estimates.amounts import AXES, LEVELS, Amounts
from tracebench_analysis.estimates.estimate import (
    DEFAULT_COMPLETION,
    DEFAULT_PROMPT,
    Estimator,
    JobEstimate,
    Known,
    estimate_run,
    too_few_proposals,
)
from tracebench_analysis.estimates.history import CallCost, Caller, History, WorkDone, settings_key
from tracebench_core.specs import Budget, CostEstimate, JobSpec, ModelIdentity, Price, Range, TaskShape, TaskVersion
from tracebench_runs.prices import PriceTable

MODEL = ModelIdentity(provider="openai", model="a-model")
PRICES = {"a-model": Price(prompt=1.0, completion=2.0)}


def job(**changes: Any) -> JobSpec:
    fields: dict[str, Any] = {
        "job_id": "0" * 12, "task_id": "s:t", "task_version": TaskVersion(), "plugin_version": "", "trainer_id": "T", "params": {},
        "settings": {}, "optimizer": None, "optimizer_kwargs": {}, "guide": None, "guide_kwargs": {}, "logger": None,
        "logger_kwargs": {}, "eval_kwargs": {}, "seed": 1, "mode": "real", "budget": Budget(),
        "models": dict.fromkeys(("optimizer", "agent", "judge"), MODEL),
    }  # fmt: skip
    return JobSpec(**fields | changes)


NOTHING = Range(low=0, likely=0, high=0)


def known(**changes: Any) -> Known:
    cost = CostEstimate(
        evaluations=Range(low=4, likely=44, high=44),
        llm_calls=Range(low=10, likely=10, high=20),
        proposals=Range(low=0, likely=10, high=10),
    )
    fields: dict[str, Any] = {
        "shape": TaskShape(parameters=1, train=4, validation=0),
        "scoring": NOTHING,
        "uses_model": False,
        "cost": cost,
    }
    return Known(**fields | changes)


def estimate(spec: JobSpec, what: Known, *, history: History | None = None, prices: Any = PRICES) -> JobEstimate:
    return Estimator(history or History(), PriceTable(prices)).job(spec, what)


def test_a_job_without_a_budget_uses_what_its_trainer_declares() -> None:
    found = estimate(job(), known())

    assert found.amounts.on("evaluations") == Range(low=4, likely=44, high=44)
    assert found.amounts.likely.tokens == 10 * 2000
    assert found.amounts.likely.usd == pytest.approx(10 * (1500 * 1 + 500 * 2) / 1e6)
    assert found.cut_by is None
    assert found.assumed == ("0.05 s an evaluation", "1500 + 500 tokens a call")


def test_past_runs_replace_the_defaults() -> None:
    history = History()
    history.calls[Caller("s:t", "T", "optimizer", "a-model")] = [CallCost(100, 10, 0, 0.5), CallCost(300, 30, 0, 1.5)]
    history.evaluation_seconds["s:t", "real"] = [2.0]
    found = estimate(job(), known(), history=history)

    assert found.amounts.on("tokens") == Range(
        low=10 * 55, likely=10 * 220, high=20 * 550
    )  # beyond the two that were seen
    assert found.amounts.likely.seconds == pytest.approx(44 * 2.0 + 10 * 1.0)
    assert found.assumed == ()


@pytest.mark.parametrize(
    ("past", "calls"),
    [
        ([WorkDone(30, 76), WorkDone(30, 70), WorkDone(30, 72)], (70, 73, 82)),  # history outranks what is declared
        (
            [WorkDone(30, 4), WorkDone(30, 2), WorkDone(30, 99, is_complete=False)],
            (2, 3, 99),
        ),  # a budget ended one later
    ],
)
def test_past_jobs_of_the_same_settings_outrank_what_is_declared(
    past: list[WorkDone], calls: tuple[int, int, int]
) -> None:
    history = History()
    history.done[settings_key(job())] = past
    amounts = estimate(job(), known(scoring=NOTHING), history=history).amounts
    assert tuple(getattr(amounts, level).llm_calls for level in ("low", "likely", "high")) == calls


@pytest.mark.parametrize("done", [WorkDone(500, 500), WorkDone(500, 500, is_complete=False)])
def test_what_was_seen_once_is_never_above_the_high_end(done: WorkDone) -> None:
    history = History()
    history.done[settings_key(job())] = [done]
    assert estimate(job(), known(), history=history).amounts.high.llm_calls >= 500


def test_an_unknown_price_is_unknown_and_never_zero() -> None:
    found = estimate(job(), known(), prices={})

    assert found.amounts.on("usd") is None
    assert estimate_run({"a": found}, run_budget=Budget(), workers=1).amounts.on("usd") is None


def test_the_first_cap_cuts_every_axis() -> None:
    found = estimate(job(budget=Budget(evaluations=22, tokens=1_000_000)), known())

    assert found.cut_by == "evaluations"
    assert found.amounts.likely.evaluations == 22
    assert found.amounts.likely.llm_calls == 5


def test_a_cap_leaves_to_proposals_what_the_start_does_not_use() -> None:
    cost = CostEstimate(
        evaluations=Range(low=4, likely=44, high=44),
        llm_calls=Range(low=10, likely=10, high=20),
        proposals=Range(low=0, likely=10, high=10),
        start=4,
    )
    at = {cap: estimate(job(budget=Budget(evaluations=cap)), known(cost=cost)) for cap in (2, 4, 24, 100)}

    assert {cap: found.proposals for cap, found in at.items()} == {2: 0, 4: 0, 24: 5, 100: 10}
    assert {cap: found.amounts.likely.llm_calls for cap, found in at.items()} == {2: 0, 4: 0, 24: 5, 100: 10}
    assert [found.cut_by for found in at.values()] == ["evaluations", "evaluations", "evaluations", None]


def test_a_trainer_that_goes_on_uses_its_cap_up() -> None:
    fixed = CostEstimate(
        evaluations=Range(low=4, likely=44, high=44),
        llm_calls=Range(low=10, likely=10, high=20),
        proposals=Range(low=0, likely=10, high=10),
        start=4,
    )
    on = known(cost=fixed.model_copy(update={"to_cap": True}))
    found = estimate(job(budget=Budget(evaluations=84)), on)

    assert (found.amounts.likely.evaluations, found.amounts.likely.llm_calls) == (84, 20)
    assert found.amounts.on("evaluations") == Range(low=4, likely=84, high=84)
    assert (found.cut_by, found.proposals, found.wanted) == ("evaluations", 20, 10)
    assert estimate(job(budget=Budget(evaluations=84)), known(cost=fixed)).amounts.likely.evaluations == 44
    assert estimate(job(), on).amounts.likely.evaluations == 44
    stopped = estimate(job(budget=Budget(evaluations=84), timeout=2.0), on)
    assert stopped.cut_by == "seconds"
    cheap = estimate(job(budget=Budget(tokens=40_000)), on)
    least = DEFAULT_PROMPT.low + DEFAULT_COMPLETION.low
    calls = cheap.amounts.on("llm_calls")
    assert calls is not None
    assert (calls.low, calls.likely, calls.high) == (5, 20, pytest.approx(40_000 / least))
    assert cheap.amounts.high.evaluations == pytest.approx(4 + 4 * 40_000 / least)


def test_a_cap_that_is_never_spent_does_not_extend() -> None:
    silent = CostEstimate(
        evaluations=Range(low=42, likely=42, high=42), llm_calls=Range(low=0, likely=0, high=0), start=2, to_cap=True
    )
    found = estimate(job(budget=Budget(llm_calls=5, tokens=100)), known(cost=silent))

    assert found.amounts.on("evaluations") == Range(low=42, likely=42, high=42)
    assert found.cut_by is None


def test_a_program_that_asks_a_model_is_counted_with_its_scoring() -> None:
    found = estimate(job(), known(uses_model=True, scoring=Range(low=6, likely=6, high=6)))

    assert found.amounts.likely.llm_calls == 10 + 44 + 6
    assert found.amounts.likely.evaluations == 44


@pytest.mark.parametrize(("cap", "few"), [(4, True), (12, True), (16, False), (44, False), (None, False)])
def test_fewer_than_three_proposals_are_noticed(cap: int | None, few: bool) -> None:
    assert too_few_proposals(estimate(job(budget=Budget(evaluations=cap)), known())) is few


def test_a_trainer_that_declares_nothing_is_unknown_up_to_its_caps() -> None:
    silent = known(cost=None)

    assert estimate(job(), silent).amounts.on("evaluations") is None
    capped = estimate(job(budget=Budget(evaluations=9, llm_calls=3)), silent)
    assert capped.amounts.on("evaluations") == Range(low=0, likely=9, high=9)
    assert capped.proposals is None


def test_a_run_takes_its_longest_job_and_stops_at_its_budget() -> None:
    one = estimate(job(), known())
    run = estimate_run({str(i): one for i in range(4)}, run_budget=Budget(evaluations=88), workers=100)

    assert run.cut_by == "evaluations"
    assert run.amounts.likely.evaluations == 88


AMOUNT = st.one_of(st.none(), st.floats(0, 1e9))


@given(
    st.builds(Amounts, *[AMOUNT] * 5),
    st.builds(
        Budget, evaluations=st.one_of(st.none(), st.integers(0, 10**9)), usd=st.one_of(st.none(), st.floats(0, 1e9))
    ),
)
def test_what_is_cut_keeps_to_every_known_cap(amounts: Amounts, budget: Budget) -> None:
    kept, axis = amounts.cut(budget)

    for name, cap in budget.caps().items():
        amount = getattr(kept, name)
        assert amount is None or amount <= cap * (1 + 1e-9)
    assert (axis is None) == (kept == amounts)
    assert [getattr(kept, a) is None for a in AXES] == [getattr(amounts, a) is None for a in AXES]
    assert len(LEVELS) == 3
