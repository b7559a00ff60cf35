"""Real mode from config to leaderboard, against a local OpenAI-compatible server, through the gateway and litellm."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_core.errors import MissingRequirementError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI, Fault

PRICE = {"prompt": 2.0, "completion": 8.0}
KEY = "sk-test-0123456789abcdef"


def answer(_: list[dict[str, Any]]) -> str:
    return json.dumps({"reasoning": "closer", "values": {"x": 2.5}})


def run(tmp_path: Path, server: FakeOpenAI, *, trainers: list[Any], **config: Any) -> api.RunSummary:
    llm = {
        "model": "fake-model",
        "base_url": server.base_url,
        "api_key_env": "FAKE_KEY",
        "prices": {"fake-model": PRICE},
    }
    llm |= config.pop("llm", {})
    return api.run(
        parse_config(
            {
                "mode": "real",
                "tasks": ["internal:numeric_param"],
                "trainers": trainers,
                "llm": llm,
                "runs_dir": str(tmp_path),
                **config,
            }
        ),
        stream=io.StringIO(),
    )


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)


@pytest.mark.usefixtures("key")
def test_calls_tokens_and_money_equal_the_servers_own_log(tmp_path: Path) -> None:
    trainers = [{"id": "BestOfN", "params": {"n": 3}}, {"id": "SequentialRefine", "params": {"num_steps": 2}}]
    with FakeOpenAI(reply=answer) as server:
        summary = run(tmp_path, server, trainers=trainers, seeds=[1, 2], max_workers=2)

    results = api.load_run(summary.run_dir).results.values()
    usages = [r.usage["optimizer"] for r in results]
    prompt = sum(s.prompt_tokens for s in server.log.served)
    completion = sum(s.completion_tokens for s in server.log.served)
    assert {r.status for r in results} == {"ok"}
    assert sum(u.llm_calls for u in usages) == len(server.log.served) == 10
    assert sum(u.prompt_tokens for u in usages) == prompt
    assert sum(u.completion_tokens for u in usages) == completion
    assert sum(u.usd or 0 for u in usages) == pytest.approx(
        (prompt * PRICE["prompt"] + completion * PRICE["completion"]) / 1e6
    )
    assert all(r.score_val_best == -0.5 for r in results)


@pytest.mark.usefixtures("key")
def test_the_key_reaches_the_provider_and_nothing_that_is_kept(tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        summary = run(tmp_path, server, trainers=[{"id": "BestOfN", "params": {"n": 1}}], llm={"record": True})

    assert server.log.keys == {KEY}
    holding = [p for p in summary.run_dir.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert holding == []


def test_a_missing_key_stops_the_run_before_any_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAKE_KEY", raising=False)
    with FakeOpenAI(reply=answer) as server, pytest.raises(MissingRequirementError, match="FAKE_KEY"):
        run(tmp_path, server, trainers=["BestOfN"])

    assert server.log.requests == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    "fault", ["429", pytest.param("429-retry-after", marks=HEAVY), pytest.param("500", marks=HEAVY), "drop"]
)
def test_one_failed_request_is_retried_and_costs_nothing_but_time(tmp_path: Path, fault: Fault) -> None:
    with FakeOpenAI(reply=answer, script=[fault]) as server:
        summary = run(tmp_path, server, trainers=[{"id": "BestOfN", "params": {"n": 1}}])

    (result,) = api.load_run(summary.run_dir).results.values()
    assert result.status == "ok"
    assert result.usage["optimizer"].llm_calls == len(server.log.served) == 1
    assert result.usage["optimizer"].retries == 1


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("fault", ["truncated", "html", "empty"])
def test_one_answer_that_is_no_completion_costs_its_proposal_only(tmp_path: Path, fault: Fault) -> None:
    with FakeOpenAI(reply=answer, script=[fault]) as server:
        summary = run(tmp_path, server, trainers=[{"id": "BestOfN", "params": {"n": 2}}])

    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.score_val_best) == ("ok", -0.5)
    assert (result.model_errors, result.proposals.asked, result.proposals.usable) == (1, 1, 1)
    assert len(server.log.requests) == 2


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("n", [pytest.param(1, marks=HEAVY), 8])
@pytest.mark.parametrize(
    ("fault", "asked", "words"),
    [
        ("401", 1, "auth: HTTP 401"),
        ("500", 5, "server: HTTP 500"),
        pytest.param("html", 5, "malformed: the answer is no completion", marks=HEAVY),
        ("truncated", 5, "malformed: the answer is no completion"),
        pytest.param("empty", 5, "malformed: the answer is no completion", marks=HEAVY),
        ("hang", 5, "timeout: no answer within"),
    ],
)
def test_a_model_that_never_answers_fails_the_job_in_words(
    tmp_path: Path, fault: Fault, asked: int, words: str, n: int
) -> None:
    limit = 0.1 if fault == "hang" else 0.5
    with FakeOpenAI(reply=answer, script=[fault] * 20) as server:
        summary = run(
            tmp_path, server, trainers=[{"id": "BestOfN", "params": {"n": n}}], llm={"timeout": limit, "max_retries": 1}
        )

    (result,) = api.load_run(summary.run_dir).results.values()
    assert summary.exit_code == 1
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.type == "NoModelAnswered"
    assert result.error.message.startswith(f"none of {min(n, asked)} model calls was answered, the last because of: ")
    assert words in result.error.message
    assert result.score_val_best == result.score_val_initial
    assert KEY not in result.error.message


@pytest.mark.usefixtures("key")
def test_a_cap_on_calls_ends_training_and_the_best_is_kept(tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        summary = run(tmp_path, server, trainers=[{"id": "BestOfN", "params": {"n": 8}}], budget={"llm_calls": 2})

    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.stop_reason) == ("ok", "budget:llm_calls")
    assert len(server.log.served) == 2
    assert result.score_val_best == -0.5


@pytest.mark.usefixtures("key")
def test_a_recorded_run_replays_without_a_server_to_the_same_results(tmp_path: Path) -> None:
    from tracebench_runs.reading.compare import without_times

    trainers = [{"id": "SequentialRefine", "params": {"num_steps": 3}}]
    with FakeOpenAI(reply=answer) as server:
        recorded = run(tmp_path, server, trainers=trainers, llm={"record": True}, seeds=[1, 2])
        replayed = run(
            tmp_path, server, trainers=trainers, seeds=[1, 2], mode="replay", replay_from=str(recorded.run_dir)
        )

    def comparable(summary: api.RunSummary) -> list[dict[str, Any]]:
        kept = [without_times(r) for r in api.load_run(summary.run_dir).results.values()]
        return [{k: v for k, v in result.items() if k not in {"job_id", "mode"}} for result in kept]

    assert comparable(replayed) == comparable(recorded)
    assert len(server.log.served) == 6
