"""Models that a plugin serves may be told which job asks; no other model is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.llm.conftest import Open, say

from tracebench_core.specs import Budget, LLMConfig
from tracebench_gateway import turns
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.models import resolve_models
from tracebench_testing.fake_openai import FakeOpenAI

JOB = '{"job": "0123456789ab", "seed": 7, "task": "own:t\\u00e4sk", "options": {"n": 2}}'


@pytest.mark.parametrize(
    ("told", "expected"), [(["openai"], {**json.loads(JOB), "occurrence": 0}), (["another"], None), ([], None)]
)
def test_only_providers_that_are_to_be_told_get_the_header(
    open_door: Open, told: list[str], expected: dict[str, Any] | None
) -> None:
    seen: list[Any] = []

    def answer(_messages: object, job: str | None) -> str:
        seen.append(job and json.loads(job))
        return "yes"

    with FakeOpenAI(told=answer) as server:
        door = open_door(mode="real", base_url=server.base_url)
        config = LLMConfig(provider="openai", model="fake", base_url=server.base_url, api_key_env="MY_KEY")
        models = resolve_models(config, mode="real", environ={"MY_KEY": "k"})
        access = door.gateway.register("told", budget=Budget(), seed=7, models=models, hints={"job": JOB, "told": told})
        client = GatewayClient(access)
        assert [c.text for c in client.complete(say("Well?"), role="agent")] == ["yes"]
        client.close()
    assert seen == [expected]


def test_equal_calls_side_by_side_are_told_by_their_order_whichever_comes_first(open_door: Open) -> None:
    def answer(_messages: object, job: str | None) -> str:
        told = json.loads(job or "{}")
        return json.dumps([told["occurrence"], "sampling" in told])

    with FakeOpenAI(told=answer) as server:
        door = open_door(mode="real", base_url=server.base_url)
        config = LLMConfig(provider="openai", model="fake", base_url=server.base_url, api_key_env="MY_KEY")
        models = resolve_models(config, mode="real", environ={"MY_KEY": "k"})
        hints = {"job": JOB, "told": ["openai"]}
        client = GatewayClient(door.gateway.register("told", budget=Budget(), seed=7, models=models, hints=hints))

        def ask(**sampling: float) -> Any:
            return json.loads(client.complete(say("Well?"), role="agent", **sampling)[0].text)

        first, found = ask(), {}
        for task in (2, 0, 3, 1):
            with turns.take(turns.Turn(section=1, task=task, tasks=4)):
                found[task] = ask()
        assert [first, *(found[task] for task in range(4)), ask()] == [[number, False] for number in range(6)]
        assert ask(temperature=0.5) == [0, True]
        client.close()
