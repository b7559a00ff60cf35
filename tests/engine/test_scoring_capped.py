"""Scoring's own calls of a model under a run's cap in USD: the one cap that refuses them, and what stays of the job."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine.test_scoring_paid_once import LAB, TESTS, Counting, config
from tests.whole import one_in

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Budget
from tracebench_core.specs.events import LLMCall
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


def answered(run_dir: Path) -> int:
    """Return how many calls of scoring a model answered."""
    run = api.load_run(run_dir)
    events = [event for job_id in run.results for event in run.events(job_id)]
    return sum(event.phase == "scoring" and event.status == "ok" for event in events if isinstance(event, LLMCall))


@pytest.mark.parametrize("way", one_in(2, ["whole", "streamed"]))
def test_scoring_has_a_cap_of_its_own_and_what_was_trained_is_scored_once_it_is_raised(
    tmp_path: Path, provider: Counting, way: str
) -> None:
    settings = config(tmp_path, provider, way=way) | {"scoring_budget": {"llm_calls": 4}}
    summary = api.run(parse_config(settings), stream=io.StringIO())
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (summary.counts, summary.exit_code) == ({"unscored": 1}, 1)
    assert (result.status, result.stop_reason) == ("unscored", "scoring budget:llm_calls")
    assert (result.score_test, result.score_test_initial) == (None, None)
    assert result.error is not None
    assert result.error.message == "scoring budget reached: llm_calls"
    asked = provider.asked.total()
    assert answered(summary.run_dir) == 4  # not tried again at the same cost
    still = api.resume(summary.run_dir, failed=True, stream=io.StringIO())
    assert (still.counts, provider.asked.total()) == ({"unscored": 1}, asked)
    again = api.resume(summary.run_dir, failed=True, scoring_budget=Budget(llm_calls=99), stream=io.StringIO())
    (result,) = api.load_run(again.run_dir).results.values()
    assert (again.counts, result.score_test) == ({"ok": 1}, 1.0)
    assert max(provider.of_scoring().values()) == 1  # nothing was paid for twice


SWALLOWS = (
    LAB.replace(
        'assert self.ask(context, f"{example.id} of {values[\'x\']}") == "so it is"',
        """
        try:
            self.ask(context, f"{example.id} of {values['x']}")
        except Exception:
            return 0.0""",
    )
    .replace("fake_paid", "fake_swallows")
    .replace('name="Finds"', 'name="Takes"')
)


def test_a_program_that_takes_a_refusal_for_an_answer_is_not_scored_zero(
    tmp_path: Path, provider: Counting, install_plugin: Callable[..., None]
) -> None:
    assert SWALLOWS.count("return 0.0") == 1
    install_plugin("swallows", SWALLOWS)
    settings = config(tmp_path, provider, way="streamed") | {"scoring_budget": {"llm_calls": 5}}
    settings["trainers"] = ["Takes"]
    settings["tasks"] = [entry | {"id": "swallows:one"} for entry in settings["tasks"]]
    summary = api.run(parse_config(settings), stream=io.StringIO())
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (summary.counts, result.score_test) == ({"unscored": 1}, None)
    assert answered(summary.run_dir) == 5


def test_scoring_s_cap_in_usd_needs_prices_and_has_no_evaluations(tmp_path: Path, provider: Counting) -> None:
    settings = config(tmp_path, provider)
    del settings["llm"]["prices"]
    with pytest.raises(ConfigError, match=r"`scoring_budget\.usd` cannot be kept"):
        api.run(parse_config(settings | {"scoring_budget": {"usd": 1}}), stream=io.StringIO())
    with pytest.raises(ConfigError, match="scoring_timeout"):
        parse_config(settings | {"scoring_budget": {"evaluations": 1}})
    settings["llm"] |= {"max_tokens": 7, "prices": PRICES}
    capped = settings | {"scoring_budget": {"usd": 4.05 * CALL, "strict": True}}
    summary = api.run(parse_config(capped), stream=io.StringIO())
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.stop_reason) == ("unscored", "scoring budget:usd")
    assert answered(summary.run_dir) == 4
