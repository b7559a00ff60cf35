"""What a config is told of its budgets and of the names that it sends to providers, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.requirements import Requirement

from tracebench_engine.checks.affording import _words
from tracebench_engine.checks.extras import _lacking
from tracebench_engine.checks.validation import misspelt_fields
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.reserve import shares, unshared_words


@pytest.mark.parametrize(
    ("run_budget", "jobs", "budget", "part"),
    [
        ({"usd": 1.0}, 3, {}, {"usd": 0.333}),
        ({"tokens": 100}, 3, {}, {"tokens": 33}),
        ({"tokens": 100, "usd": 10.0}, 2, {}, {"tokens": 50, "usd": 5.0}),
        ({"evaluations": 7, "seconds": 5}, 2, {}, {"evaluations": 3}),
        ({"tokens": 100}, 1, {}, None),
        ({"seconds": 5}, 3, {}, None),
        ({"tokens": 100}, 3, {"evaluations": 3}, None),
        ({}, 3, {}, None),
    ],
)
def test_a_run_budget_that_no_job_shares_is_told_with_equal_parts(
    run_budget: Any, jobs: int, budget: Any, part: Any
) -> None:
    config = parse_config({"run_budget": run_budget, "budget": budget})
    found = shares(config, jobs)
    assert (found and found.caps()) == part
    line = ", ".join(f"{axis}: {cap:g}" for axis, cap in (part or {}).items())
    words = (
        f"`run_budget` without `budget`: a job may take all of it, which ends it there, and the others of {jobs} are not run; "
        f"in equal parts: budget: {{{line}}}"
    )
    assert unshared_words(config, jobs) == (words if part else None)


@pytest.mark.parametrize(
    ("llm", "told"),
    [
        (
            {"extra_body": {"top_kk": 1, "min_p": 1, "zzzz": 1, "tempreture": 0.1}},
            [("llm.extra_body", "top_kk", "top_k"), ("llm.extra_body", "tempreture", "temperature")],
        ),
        (
            {"extra_headers": {"X-Titel": "A_B", "X-Title": "A_B", "HTTP-Refererr": "A_B"}},
            [("llm.extra_headers", "X-Titel", "x-title"), ("llm.extra_headers", "HTTP-Refererr", "http-referer")],
        ),
        (
            {"roles": {"judge": {"extra_body": {"max_tokenss": 1}, "models": {"m": {"model": "a", "extra_body": {"sede": 1, "sseed": 1}}}}}
            },
            [("llm.roles.judge.extra_body", "max_tokenss", "max_tokens"), ("llm.roles.judge.models.m.extra_body", "sseed", "seed")],
        ),
        ({"extra_body": {"Temperature": 1}}, [("llm.extra_body", "Temperature", "temperature")]),
    ],
)  # fmt: skip
def test_a_field_that_looks_misspelt_is_told_with_its_place_and_one_like_none_is_the_servers_own(
    llm: Any, told: Any
) -> None:
    assert list(misspelt_fields(parse_config({"llm": llm}))) == told


def test_a_misspelt_field_of_all_variants_is_told_once() -> None:
    config = parse_config({"llm": {"extra_body": {"top_kk": 1}}, "llm_variants": ["a", "b"]})
    assert list(misspelt_fields(config)) == [("llm.extra_body", "top_kk", "top_k")]


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("pytest", []), ("pytest>=1", []), ("pytest>=10000", ["pytest"]), ("nothing-of-this-name", ["nothing-of-this-name"]),
        ("tracebench-engine[nothing]", []),
    ],
)  # fmt: skip
def test_what_is_not_installed_or_of_another_version_is_lacking(line: str, lacking: list[str]) -> None:
    assert list(_lacking(Requirement(line))) == lacking


def test_one_number_of_proposals_is_told_as_one() -> None:
    assert _words("3", "3") == "a job's budget buys about 3 proposals"
    assert _words("3", "4") == "a job's budget buys about 3 to 4 proposals"
