"""A config of promptfoo: whose models they are, and what became of each field."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_engine.api.installed.upgrading import from_promptfoo, is_promptfoo


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


OF_A_TASK = "belongs to a task, which is a program here: trace-bench init suite NAME"
GONE = "has no counterpart, and is left out."
SECRET = (
    "`apiKey`, `password` hold what look like a secret: left out; export it as a variable, and name that one by "
    "`api_key_env`."
)
NO_MODEL = "is a program or an address, no model; a trainer of your own may call it."


@pytest.mark.parametrize(
    ("raw", "config", "told"),
    [
        (
            {"providers": "openai:gpt-4o", "prompts": ["x"], "env": {}},
            {"llm_variants": [{"model": "openai/gpt-4o"}]},
            {
                ("providers",): ("is the model `openai/gpt-4o` of `llm_variants` now.", False),
                ("prompts",): (OF_A_TASK, True), ("env",): (GONE, False),
            },
        ),
        (
            {"providers": ["openai:chat:gpt-4o", "openai:chat:", "python:x.py", "alone",
                {"anthropic:messages:c": {"config": {"top_p": 1}}}]},
            {"llm_variants": [{"model": "openai/gpt-4o"}, {"model": "openai/chat:"}, {"model": "anthropic/c", "top_p": 1}]},
            {
                ("providers", 0): ("is the model `openai/gpt-4o` of `llm_variants` now.", False),
                ("providers", 1): ("is the model `openai/chat:` of `llm_variants` now.", False),
                ("providers", 2): (NO_MODEL, True), ("providers", 3): (NO_MODEL, True),
                ("providers", 4): ("is the model `anthropic/c` of `llm_variants` now.", False),
            },
        ),
        (
            {"providers": [{"id": "a:b", "config": {"temperature": 0, "stop": 1, "n": 2, "apiKey": "hunter2", "password": "hunter3"}}]},
            {"llm_variants": [{"model": "a/b", "temperature": 0}]},
            {
                ("providers", 0): (
                    "is the model `a/b` of `llm_variants` now. Without counterpart, and left out: `stop`, `n`. " + SECRET, True,
                ),
            },
        ),
        (
            {"providers": [], "evaluateOptions": {"maxConcurrency": 1000, "repeat": 3, "cache": 1}, "defaultTest": 1},
            {"llm_variants": [], "max_workers": 1000, "seeds": [1, 2, 3]},
            {
                ("evaluateOptions", "maxConcurrency"): ("is `max_workers` now.", False),
                ("evaluateOptions", "repeat"): ("is `seeds: 1..3` now.", False),
                ("evaluateOptions", "cache"): (GONE, False), ("defaultTest",): (OF_A_TASK, True),
            },
        ),
        *(
            (
                {"providers": [], "evaluateOptions": {"repeat": value}}, {"llm_variants": []},
                {("evaluateOptions", "repeat"): ("is left out: it is no number from 1 to 1,000.", True)},
            )
            for value in (0, 1001, True, "3", 1.0)
        ),
    ],
)  # fmt: skip
def test_each_field_of_theirs_is_a_field_of_ours_or_told_why_not(raw: Any, config: Any, told: Any) -> None:
    assert from_promptfoo(raw) == ({"tasks": [], "mode": "real", **config}, told)


def test_a_config_of_theirs_has_providers_and_prompts_or_tests() -> None:
    assert is_promptfoo({"providers": 1, "prompts": 1})
    assert is_promptfoo({"providers": 1, "tests": 1})
    assert not is_promptfoo({"providers": 1, "tasks": 1})
    assert not is_promptfoo({"prompts": 1, "tests": 1})
