"""A config of promptfoo: whose models they are, and what became of each field."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_engine.api.installed.upgrading import from_promptfoo


@pytest.mark.parametrize(
    ("providers", "models", "places"),
    [
        ("openai:chat:gpt-4o", ["openai/gpt-4o"], [("providers",)]),
        (["openai:gpt-4o", "exec:./mine.sh"], ["openai/gpt-4o"], [("providers", 0), ("providers", 1)]),
        (
            [{"id": "openai:gpt-4o"}, {"anthropic:messages:claude": {}}],
            ["openai/gpt-4o", "anthropic/claude"],
            [("providers", 0), ("providers", 1)],
        ),
    ],
)
def test_each_provider_is_a_model_or_told_where_it_stands(
    providers: Any, models: list[str], places: list[tuple[str | int, ...]]
) -> None:
    config, told = from_promptfoo({"providers": providers, "prompts": ["Add."]})

    assert [model["model"] for model in config["llm_variants"]] == models
    assert [place for place in told if place[0] == "providers"] == places
    assert told["prompts",][1]  # a task is the user's to write
