"""What budgets buy is told in words: proposals of a trainer, and the model calls of a job's scoring with what caps them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.specs import Range
from tracebench_engine.checks import affording
from tracebench_engine.checks.affording import Affording, known_of, scoring_words
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.costs import Declared, TaskSize


def amount(low: float, likely: float, high: float) -> Range:
    return Range(low=low, likely=likely, high=high)


def estimate(calls: Range | None, usd: Range | None = None, cut_by: str | None = None) -> Any:
    amounts = {"llm_calls": calls, "usd": usd}
    return SimpleNamespace(scoring=SimpleNamespace(on=amounts.get), scoring_cut_by=cut_by)


NO_CAP = ", which no cap holds for: `budget` is of training, `scoring_budget` of this"
CALLS = "1 / 2 / 4 model calls a job of `suite:task`"


@pytest.mark.parametrize(
    ("budget", "estimated", "words", "is_enough"),
    [
        ({}, estimate(amount(1, 2, 4)), CALLS + NO_CAP, True),
        ({}, estimate(amount(1, 2, 4), amount(0.5, 1.25, 3.0)), CALLS + ", 0.5 / 1.25 / 3 USD" + NO_CAP, True),
        ({}, estimate(amount(1, 2, 4), amount(0, 0, 0)), CALLS + NO_CAP, True),
        ({"usd": 5.0, "llm_calls": 9}, estimate(amount(1, 2, 4)), CALLS + ", at most 9 llm_calls and 5 usd", True),
        (
            {"usd": 5.0, "llm_calls": 1}, estimate(amount(1, 2, 4), cut_by="llm_calls"),
            CALLS + ", and `scoring_budget` ends it at 1 llm_calls: it would be `unscored`", False,
        ),
    ],
)  # fmt: skip
def test_what_scoring_takes_is_told_with_its_caps(budget: Any, estimated: Any, words: str, is_enough: bool) -> None:
    config = parse_config({"scoring_budget": budget})
    (told,) = scoring_words(config, [(job_spec(), estimated)])
    if " and " in words and "at most" in words:
        parts = told.words.partition(", at most ")[2].split(" and ")
        assert (told.words.partition(", at most ")[0], sorted(parts)) == (CALLS, ["5 usd", "9 llm_calls"])
    else:
        assert told.words == words
    assert told.is_enough is is_enough


def test_scoring_is_told_once_a_task_and_not_where_it_asks_no_model() -> None:
    config = parse_config({})
    jobs = [
        (job_spec(task_id="s:a"), estimate(None)), (job_spec(task_id="s:b"), estimate(amount(0, 0, 0))),
        (job_spec(task_id="s:c"), estimate(amount(0, 0, 1))), (job_spec(task_id="s:c"), estimate(amount(7, 7, 7))),
        (job_spec(task_id="s:d"), estimate(amount(3, 3, 3))),
    ]  # fmt: skip
    words = [told.words.removesuffix(NO_CAP) for told in scoring_words(config, jobs)]
    assert words == ["0 / 0 / 1 model calls a job of `s:c`", "3 / 3 / 3 model calls a job of `s:d`"]


def test_a_task_of_unknown_size_is_estimated_by_its_trainer_alone() -> None:
    cost: Any = object()
    known = known_of(Declared(None, cost))
    assert (known.shape, known.uses_model, known.cost) == (None, False, cost)
    assert (known.scoring.low, known.scoring.likely, known.scoring.high) == (0, 0, 0)
    shape: Any = SimpleNamespace(validation=3, train=2)
    size = TaskSize(shape, test=4, uses_model=True)
    whole = known_of(Declared(size, None))
    assert (whole.shape, whole.uses_model, whole.cost) == (shape, True, None)
    assert whole.scoring == size.scoring


def test_proposals_are_counted_by_trainer_from_the_fewest_to_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    capped = {"budget": {"evaluations": 9}}
    rows: list[tuple[str, dict[str, Any], Any, float | None]] = [
        ("A", capped, object(), 7.0), ("A", capped, object(), 3.4), ("A", capped, object(), 5.0), ("B", capped, object(), 2.0),
        ("C", capped, None, 9.0), ("D", {}, object(), 9.0), ("E", capped, object(), None), ("F", capped, object(), 0.0),
    ]  # fmt: skip
    jobs = [
        job_spec(job_id=f"{n:012x}", trainer_id=row[0]).model_copy(
            update={"budget": parse_config({"budget": row[1].get("budget", {})}).budget}
        )
        for n, row in enumerate(rows)
    ]
    proposals = {job.job_id: row[3] for job, row in zip(jobs, rows, strict=True)}
    declared = {job.job_id: Declared(None, row[2]) for job, row in zip(jobs, rows, strict=True)}
    monkeypatch.setattr(affording, "declared_costs", lambda *_, **told: declared if told == {"opens": False} else {})
    estimator = SimpleNamespace(job=lambda job, _known: SimpleNamespace(proposals=proposals[job.job_id]))
    monkeypatch.setattr(affording, "Estimator", lambda *_, **__: estimator)
    plan: Any = SimpleNamespace(config=parse_config({}), jobs=jobs)
    assert Affording(plan, None).proposals() == {  # type: ignore[arg-type]  # nobody asks the host
        "A": "a job's budget buys about 3 to 7 proposals", "B": "a job's budget buys about 2 proposals",
    }  # fmt: skip
