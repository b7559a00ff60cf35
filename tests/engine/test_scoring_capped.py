"""Scoring's own calls of a model under a run's cap in USD: the one cap that refuses them, and what stays of the job."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine.test_scoring_paid_once import LAB, TESTS, Counting, config

from tracebench_engine import api
from tracebench_engine.config import parse_config

PRICES = {"m": {"prompt": 0.01, "completion": 8.0}}
CALL = (11 * 0.01 + 7 * 8) / 1e6
"""USD of one answer of the provider."""


@pytest.fixture
def provider(install_plugin: Callable[..., None]) -> Iterator[Counting]:
    install_plugin("paid", LAB)
    found = Counting()
    yield found
    found.close()


def test_scoring_obeys_the_runs_cap_in_usd_alone_and_what_was_trained_is_kept(
    tmp_path: Path, provider: Counting
) -> None:
    settings = config(tmp_path, provider)
    settings["llm"] |= {"max_tokens": 7, "prices": PRICES}
    calls = {"run_budget": {"usd": 6.05 * CALL, "strict": True}, "budget": {"llm_calls": 2}}
    summary = api.run(parse_config(settings | calls), stream=io.StringIO())
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (summary.counts, result.status) == ({"unscored": 1}, "unscored")
    assert provider.asked.total() == 6  # more than the job's cap of 2 calls, and all that the run's pays for
    assert len(provider.of_scoring()) >= 3
    assert json.loads((summary.run_dir / "summary.json").read_text()).get("overshoot", {}) == {}
    assert "run budget reached: usd" in (summary.run_dir / f"jobs/{result.job_id}/events.jsonl").read_text()
    again = api.resume(summary.run_dir, failed=True, stream=io.StringIO())
    assert again.counts.keys() <= {"unscored", "not_run"}
    assert provider.asked.total() == 6


def test_a_jobs_own_caps_never_keep_its_scoring_from_being_paid(tmp_path: Path, provider: Counting) -> None:
    settings = config(tmp_path, provider) | {"budget": {"llm_calls": 1, "usd": 1.5 * CALL}}
    settings["llm"] |= {"max_tokens": 7, "prices": PRICES}
    summary = api.run(parse_config(settings), stream=io.StringIO())
    assert summary.counts == {"ok": 1}
    assert len(provider.of_scoring()) == 2 * len(TESTS)
