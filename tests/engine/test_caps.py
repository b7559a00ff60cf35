"""Caps on every axis, against every kind of client: a search of ours, the openai SDK, litellm, curl, a foreign trainer."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from benchmarks.caps import CAPS, LOOPS, Row, measure, trainers
from tests.whole import cells, one_in
from typer.testing import CliRunner

from tracebench_core.errors import ConfigError, UsageError
from tracebench_core.specs import Axis
from tracebench_engine import api
from tracebench_engine.cli.app import app
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI

AXES: tuple[Axis, ...] = tuple(CAPS)
CLIENTS = ("PrioritySearch", *LOOPS)
IN_FLIGHT = 4  # calls of one search at once
REPLY = json.dumps({"reasoning": "closer", "values": {"x": 2.5}})


def row(folder: Path, client: str, axis: Axis) -> Row:
    if client.startswith("curl") and shutil.which("curl") is None:
        pytest.skip("curl is not here")
    if client == "PrioritySearch":
        try:
            api.open_host().component("trainer", client)
        except UsageError:
            pytest.skip("the plugin with our searches is not installed")
    return measure(folder, axis, client=client, trainer=dict(trainers(folder, search=True))[client])


QUICK = [client for client in CLIENTS if not client.startswith(("litellm", "openai"))]
"""A process that imports either takes seconds, so that each is asked on one axis, and on all of them by the soak:
`tests/llm/test_foreign_clients.py` asks by OpenAI's own in this process.
"""


@pytest.mark.parametrize(
    ("client", "axis"),
    cells(
        product(CLIENTS, AXES),
        always=[cell for cell in zip(cycle(QUICK), AXES, strict=False) if cell[1] != "seconds"],
        often=[*zip(reversed(CLIENTS), AXES, strict=True), ("curl loop, deaf to 402", "tokens")],
    ),
)
def test_a_cap_ends_the_job_well_and_is_passed_by_calls_under_way_alone(
    tmp_path: Path, client: str, axis: Axis
) -> None:
    found = row(tmp_path, client, axis)
    assert (found.result.status, found.result.stop_reason) == ("ok", f"budget:{axis}"), found.result.error
    # What is asked for is set aside first, so that tokens and USD stop short of their caps.
    assert found.spent > found.cap * (0.5 if axis in {"tokens", "usd"} else 1) or found.spent == found.cap
    assert found.overshoot <= (30.0 if axis == "seconds" else 0)
    assert found.result.overshoot.get(axis, 0.0) == pytest.approx(found.overshoot)
    used, tokens = found.result.used, [served.prompt_tokens + served.completion_tokens for served in found.served]
    estimated = sum(usage.estimated_tokens for usage in found.result.usage.values())
    if axis == "seconds":
        # Calls that are under way when the time ends are cut off: the server may still answer them, and one whose prompt was sent
        # is counted with estimated tokens.
        assert abs(len(tokens) - used.llm_calls) <= IN_FLIGHT
        assert abs(used.tokens - estimated - sum(tokens)) <= IN_FLIGHT * max(tokens, default=0)
    else:
        assert (used.llm_calls, used.tokens, estimated) == (len(tokens), sum(tokens), 0)


def real(server: FakeOpenAI, runs: Path, **fields: Any) -> dict[str, Any]:
    return {
        "mode": "real",
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 50}}],
        "runs_dir": str(runs),
        "llm": {"model": "fake", "base_url": server.base_url},
        **fields,
    }


@pytest.mark.parametrize(
    "cap",
    one_in(3, [{"llm_calls": 9}, {"tokens": 4000}, {"usd": 0.004}, {"seconds": 3.0}]),
    ids=lambda c: next(iter(c)),
)
def test_a_runs_cap_stops_the_run_in_the_middle_of_a_job(tmp_path: Path, cap: dict[str, float]) -> None:
    with FakeOpenAI(reply=lambda _: REPLY, delay=0.05) as server:
        priced = {"model": "fake", "base_url": server.base_url, "prices": {"fake": {"prompt": 1, "completion": 1}}}
        long = [
            {"id": "SequentialRefine", "params": {"num_steps": 500}}
        ]  # no job is over by itself when the cap is reached
        config = real(server, tmp_path, run_budget=cap, seeds=list(range(8)), max_workers=2, llm=priced, trainers=long)
        summary = api.run(parse_config(config), stream=io.StringIO())
        served = len(server.log.served)
    (axis,) = cap
    results = api.load_run(summary.run_dir).results.values()
    assert (summary.exit_code, summary.stopped_by) == (5, f"run budget:{axis}")
    cut = [r for r in results if r.stop_reason == f"run budget:{axis}"]
    assert {"not_run"} < {r.status for r in results}
    assert cut
    for result in cut:
        is_scored = result.status == "ok"
        assert is_scored == (result.score_val_best is not None) == ("unequal-budget" in result.flags)
        assert is_scored or result.used.evaluations == 0
    assert "ok" in {r.status for r in cut} or axis == "seconds"
    if axis == "llm_calls":
        assert served == 9


def test_a_runs_cap_alone_yields_a_score_and_is_warned_of(tmp_path: Path) -> None:
    config = parse_config(
        {
            "runs_dir": str(tmp_path),
            "seeds": [1, 2, 3],
            "run_budget": {"llm_calls": 6},
            "tasks": ["internal:multi_param", "internal:numeric_param"],
            "trainers": ["SequentialRefine"],
        }
    )
    (warning,) = [check for check in api.validate(config) if check.level == "WARN"]
    assert "budget: {llm_calls: 1}" in warning.message
    summary = api.run(config, stream=io.StringIO())
    assert summary.exit_code == 5
    assert summary.counts == {"not_run": 5, "ok": 1}
    (result,) = [r for r in api.load_run(summary.run_dir).results.values() if r.status == "ok"]
    assert result.stop_reason == "run budget:llm_calls"
    assert result.score_val_best is not None
    assert "unequal-budget" in result.flags
    assert json.loads((summary.run_dir / "summary.json").read_bytes())["overshoot"] == {}


def test_a_run_tells_how_far_it_went_past_its_budget(tmp_path: Path) -> None:
    with FakeOpenAI(reply=lambda _: REPLY, bills_worst=True) as server:
        config = real(server, tmp_path, run_budget={"tokens": 4000}, seeds=[1, 2, 3])
        summary = api.run(parse_config(config), stream=io.StringIO())
        served = sum(s.prompt_tokens + s.completion_tokens for s in server.log.served)
    told = json.loads((summary.run_dir / "summary.json").read_bytes())["overshoot"]
    assert served > 4000
    assert told == {"tokens": served - 4000}
    shown = CliRunner().invoke(app, ["show", str(summary.run_dir)])
    assert f"the run went {served - 4000} tokens past its budget" in " ".join(shown.output.split())


@pytest.mark.parametrize("where", ["budget", "run_budget"])
def test_money_without_a_price_is_refused_before_any_call(tmp_path: Path, where: str) -> None:
    with FakeOpenAI() as server:
        config = parse_config(real(server, tmp_path, **{where: {"usd": 1.0}}))
        for attempt in (lambda: api.run(config), lambda: list(api.validate(config))):
            with pytest.raises(ConfigError, match="openai/fake") as refusal:
                attempt()
            assert "llm.prices" in refusal.value.hint
            assert f"`{where}.usd`" in str(refusal.value)
        assert server.log.requests == []
    assert list(tmp_path.iterdir()) == []


def test_a_call_under_way_ends_with_the_jobs_time(tmp_path: Path) -> None:
    with FakeOpenAI(script=["hang"]) as server:
        summary = api.run(parse_config(real(server, tmp_path, budget={"seconds": 1.0})), stream=io.StringIO())
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.stop_reason) == ("ok", "budget:seconds"), result.error
    assert result.used.seconds < 60


def test_a_cap_of_zero_grants_nothing_and_the_initial_candidate_is_scored(tmp_path: Path) -> None:
    with FakeOpenAI() as server:
        for axis in ("evaluations", "llm_calls", "tokens", "seconds"):
            summary = api.run(parse_config(real(server, tmp_path, budget={axis: 0})), stream=io.StringIO())
            (result,) = api.load_run(summary.run_dir).results.values()
            assert (result.status, result.stop_reason) == ("ok", f"budget:{axis}")
            assert result.score_val_best == result.score_val_initial == -3.0
        assert server.log.served == []


@pytest.mark.parametrize(
    ("caps", "status", "reason"),
    [
        ({"budget": {"evaluations": 5}}, "ok", "budget:evaluations"),
        ({"budget": {"seconds": 0.2}}, "ok", "budget:seconds"),
        ({"run_budget": {"evaluations": 5}}, "ok", "run budget:evaluations"),
    ],
)
def test_a_trainer_that_is_deaf_to_the_end_of_its_budget_is_cut_off(
    lab: Callable[..., api.RunSummary], caps: dict[str, Any], status: str, reason: str
) -> None:
    summary = lab("lab:fine", "deaf", **caps)
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.stop_reason, result.error) == (status, reason, None)
    assert result.score_val_best == 1.0
    assert result.used.evaluations >= 5
