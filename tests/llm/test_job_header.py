"""Models that a plugin serves may be told which job asks; no other model is."""

from __future__ import annotations

import pytest
from tests.llm.conftest import Open, say

from tracebench_core.specs import Budget, LLMConfig
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.models import resolve_models
from tracebench_testing.fake_openai import FakeOpenAI

JOB = '{"job": "0123456789ab", "seed": 7, "task": "own:t\\u00e4sk", "options": {"n": 2}}'


@pytest.mark.parametrize(("told", "expected"), [(["openai"], JOB), (["another"], None), ([], None)])
def test_only_providers_that_are_to_be_told_get_the_header(
    open_door: Open, told: list[str], expected: str | None
) -> None:
    seen: list[str | None] = []

    def answer(_messages: object, job: str | None) -> str:
        seen.append(job)
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
