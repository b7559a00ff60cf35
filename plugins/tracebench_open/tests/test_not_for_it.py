"""Optimizers that say of a task that it is not for them: told on the page, never ranked, and no way to drop a bad seed."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_open.bench.alone.page import section
from tracebench_open.bench.alone.receipts import Receipt, WrongError, not_for_it
from tracebench_open.bench.alone.sums import figures

WORDS = "not applicable: it searches numbers, and this task's parameters hold none"
USED = {"llm_calls": 0, "evaluations": 0, "tokens": 0, "usd": 0.0, "seconds": 0.0}


def result(score: float | None, status: str = "ok", words: str = "completed", **used: float) -> dict[str, Any]:
    return {
        "status": status,
        "stop_reason": words,
        "used": {**USED, **used},
        "score_test": score,
        "score_test_initial": 0.1,
        "time_seconds": 1.0,
    }


def receipt(scores: dict[str, dict[str, list[dict[str, Any]]]]) -> Receipt:
    """Return a receipt of `scores[trainer][task]`, its results by seed."""
    made = object.__new__(Receipt)
    cells = [(n, t, s, r) for n, by in scores.items() for t, found in by.items() for s, r in enumerate(found)]
    jobs = [
        {"job_id": f"{i}", "trainer_id": n, "task_id": t, "seed": s, "eval_kwargs": {}, "budget": {}}
        for i, (n, t, s, _) in enumerate(cells)
    ]
    made.manifest = {"jobs": jobs, "tasks": {}}
    made.results = {f"{i}": r for i, (*_, r) in enumerate(cells)}
    made.part = {
        "title": "T",
        "words": [],
        "file": "f.zip",
        "run_id": "r",
        "head": "0" * 64,
        "one_scale": False,
        "name": "p",
    }
    made.spent = {"llm_calls": 0, "usd": 0.0}
    return made


def test_only_what_called_and_measured_nothing_was_not_for_it() -> None:
    assert not_for_it(result(None, "skipped", WORDS))
    assert not not_for_it(result(None, "skipped", WORDS, llm_calls=1))
    assert not not_for_it(result(None, "skipped", WORDS, evaluations=1))
    assert not not_for_it(result(None, "skipped", "its plugin is not installed"))
    assert not not_for_it(result(None, "failed", WORDS))


def test_who_passes_a_task_over_passes_all_its_seeds_over() -> None:
    skipped = result(None, "skipped", WORDS)
    receipt({"A": {"t": [skipped, skipped], "u": [result(0.5), result(0.6)]}})._refuse_picked()
    with pytest.raises(WrongError, match="some jobs of A on t were not for it"):
        receipt({"A": {"t": [result(0.9), skipped]}})._refuse_picked()


def test_the_page_shows_their_means_unranked_and_says_who_ran_nothing() -> None:
    skipped = result(None, "skipped", WORDS)
    made = receipt(
        {
            "BestOfN": {"s:t": [result(0.2), result(0.4)], "s:u": [result(0.3), result(0.3)]},
            "Other": {"s:t": [result(0.3), result(0.5)], "s:u": [result(0.2), result(0.4)]},
            "Half": {"s:t": [result(0.6), result(0.8)], "s:u": [skipped, skipped]},
            "Failing": {"s:t": [result(0.6), result(None, "failed")], "s:u": [result(0.1), result(0.3)]},
            "None": {"s:t": [skipped, skipped], "s:u": [skipped, skipped]},
        }
    )
    found = figures(made, "BestOfN")
    assert {*found["means"]} == {"BestOfN", "Other"}
    assert {n: {t: round(c["estimate"], 9) for t, c in by.items()} for n, by in found["apart"].items()} == {
        "Half": {"s:t": 0.7},
        "Failing": {"s:u": 0.2},
    }
    bench = {"reference": "BestOfN", "alpha": 0.05, "folder": "open-bench"}
    page = [*section(made.part, found, bench)]
    assert sum(line.startswith("| Half | 0.700 ±") and line.endswith("|  | |") for line in page) == 1
    assert "| None | none: it says that these tasks are not for it | | | | |" in page
    assert any(line.startswith("| Failing | 3 of 4 |") for line in page)
    assert any(line.startswith("| Half | 2 of 2 |") for line in page)
    ranked = page[next(i for i, line in enumerate(page) if line.startswith("Ranks over")) :][0]
    assert "Half" not in ranked
