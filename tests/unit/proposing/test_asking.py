"""A bandit asks the model whose proposals are better for what they cost, and a patch may stand for a whole program."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_core.proposing.asking import ModelBandit, ProposerSettings
from tracebench_core.proposing.patches import DIVIDER, REPLACE, SEARCH
from tracebench_core.specs import Usage, Values
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI


class Measures:
    """What the bandit sees of a problem: scores by candidate, and a log."""

    def __init__(self) -> None:
        self.known: dict[float, float] = {}
        self.logged: list[tuple[str, float]] = []

    def scores(self, values: Values) -> dict[str, float]:
        x = float(values["x"])  # type: ignore[arg-type]
        return {"train-0": self.known[x]} if x in self.known else {}

    def log(self, name: str, value: float) -> None:
        self.logged.append((name, value))


def asked_models(gains: dict[str, bool], *, usd: dict[str, float] | None = None, rounds: int = 40) -> Counter[str]:
    """Ask one proposal a round; a model's proposals are better or not, and cost what they cost."""
    problem: Any = Measures()
    problem.known[0.0] = 0.0
    bandit = ModelBandit(problem, ProposerSettings(models=tuple(gains)))
    count: Counter[str] = Counter()
    for i in range(1, rounds + 1):
        [asked] = bandit.choose(1)
        assert asked.model is not None
        count[asked.model] += 1
        asked.pay(Usage(prompt_tokens=10, usd=(usd or {}).get(asked.model, 0.01)))
        bandit.proposed(asked, {"x": 0.0}, {"x": float(i)})
        problem.known[float(i)] = 1.0 if gains[asked.model] else -1.0
    assert [name for name, _ in problem.logged] == [f"model_choice:{m}" for m in _order(problem)]
    return count


def _order(problem: Any) -> list[str]:
    return [name.removeprefix("model_choice:") for name, _ in problem.logged]


def test_better_proposals_are_asked_for_more_often() -> None:
    count = asked_models({"weak": False, "strong": True})
    assert count["strong"] > 3 * count["weak"] >= 3


def test_of_equal_models_the_cheaper_is_asked_more_often() -> None:
    count = asked_models({"dear": True, "cheap": True}, usd={"dear": 1.0, "cheap": 0.01}, rounds=80)
    assert count["cheap"] > count["dear"]


def test_what_could_not_be_used_counts_against_its_model() -> None:
    problem: Any = Measures()
    bandit = ModelBandit(problem, ProposerSettings(models=("a", "b"), exploration=0.0))
    for asked in bandit.choose(2):
        bandit.proposed(asked, {"x": 0.0}, None if asked.model == "a" else {"x": 1.0})
    problem.known |= {0.0: 0.0, 1.0: 1.0}
    assert [a.model for a in bandit.choose(3)] == ["b", "b", "b"]


def test_without_a_list_the_roles_own_model_is_asked() -> None:
    problem: Any = Measures()
    assert [a.sampling for a in ModelBandit(problem, ProposerSettings()).choose(2)] == [{}, {}]
    assert problem.logged == []


def _run(runs: Path, **fields: Any) -> Any:
    return api.load_run(api.run(parse_config({"runs_dir": str(runs), **fields}), stream=io.StringIO()).run_dir)


def _events(run: Any) -> list[dict[str, Any]]:
    [job] = run.planned
    return [json.loads(line) for line in run.layout.job(job.job_id).events.read_text().splitlines()]


@pytest.fixture(name="server")
def _server() -> Any:
    numbers = iter(range(1, 1000))
    with FakeOpenAI(reply=lambda _messages: json.dumps({"values": {"x": next(numbers) / 10}})) as server:
        yield server


def test_models_of_the_list_are_asked_recorded_and_replayed_alike(tmp_path: Path, server: FakeOpenAI) -> None:
    models = {"small": {"model": "small-1"}, "large": {"model": "large-1"}}
    trainer = {
        "id": "SequentialRefine",
        "optimizer": "Reflective",
        "optimizer_kwargs": {"models": ["small", "large"]},
        "params": {"num_steps": 8},
    }
    config = {"tasks": ["internal:numeric_param"], "trainers": [trainer]}
    llm = {"base_url": server.base_url, "record": True, "roles": {"optimizer": {"models": models}}}
    recorded = _run(tmp_path / "a", mode="real", llm=llm, **config)
    calls = Counter(e["model"] for e in _events(recorded) if e["kind"] == "llm_call")
    assert sum(calls.values()) == 8
    assert len(calls) == 2
    chosen = [e["name"] for e in _events(recorded) if e["kind"] == "metric" and e["name"].startswith("model_choice:")]
    assert len(chosen) == 8
    again = _run(
        tmp_path / "b", mode="replay", replay_from=str(recorded.layout.path), llm={"roles": llm["roles"]}, **config
    )
    assert [r.status for r in again.results.values()] == ["ok"]
    assert [e["name"] for e in _events(again) if e["kind"] == "metric"] == [
        e["name"] for e in _events(recorded) if e["kind"] == "metric"
    ]


def test_a_model_that_is_not_on_the_list_is_told(tmp_path: Path, server: FakeOpenAI) -> None:
    trainer = {"id": "SequentialRefine", "optimizer": "Reflective", "optimizer_kwargs": {"models": ["large"]}}
    llm = {"base_url": server.base_url, "model": "small-1"}
    run = _run(tmp_path, mode="real", llm=llm, tasks=["internal:numeric_param"], trainers=[trainer])
    [result] = run.results.values()
    assert result.status == "failed"
    assert "`small-1`; not `large`" in result.error.message


@pytest.mark.parametrize("optimizer", one_in(2, ["Reflective", "OptoPrime"]))
def test_a_program_is_changed_by_a_patch(tmp_path: Path, optimizer: str) -> None:
    if optimizer == "OptoPrime":
        pytest.importorskip("opto")
    patch = f"{SEARCH}\n    return x + 1\n{DIVIDER}\n    return 2 * x + 1\n{REPLACE}"
    seen: list[str] = []

    def reply(messages: list[dict[str, Any]]) -> str:
        seen.append("\n".join(str(m["content"]) for m in messages))
        name = "code" if optimizer == "Reflective" else "code__code0" if "code__code0" in seen[-1] else "code0"
        return json.dumps({"values": {name: patch}} if optimizer == "Reflective" else {"suggestion": {name: patch}})

    trainer = {
        "id": "SequentialRefine",
        "optimizer": optimizer,
        "optimizer_kwargs": {"patches": True},
        "params": {"num_steps": 1},
    }
    with FakeOpenAI(reply=reply) as server:
        llm = {"base_url": server.base_url, "model": "m"}
        run = _run(tmp_path, mode="real", llm=llm, tasks=["internal:code_param"], trainers=[trainer])
    [result] = run.results.values()
    assert result.status == "ok", result.error
    assert SEARCH in seen[0]
    assert result.score_val_best == 1.0
    assert any(e["kind"] == "metric" and e["name"] == "patch_applied" for e in _events(run))
