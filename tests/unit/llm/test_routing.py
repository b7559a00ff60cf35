"""Who asks a model: the gateway itself, or litellm, which may not be installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tracebench_core.specs import LLMConfig
from tracebench_gateway import routing

needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="the extra `litellm` is not installed")
KEY = {"OPENAI_API_KEY": "sk-test"}


@pytest.mark.parametrize(
    ("config", "lacking"),
    [
        ({"model": "anthropic/claude-sonnet-4"}, "anthropic"),
        ({"model": "gpt-4o-mini"}, "openai"),
        ({"model": "m", "base_url": "http://127.0.0.1:9/v1"}, None),
        ({"model": "openrouter/openai/gpt-4o-mini"}, None),
        ({"model": "m", "provider": "of_a_plugin"}, None),
        (
            {"model": "m", "base_url": "http://127.0.0.1:9/v1", "roles": {"judge": {"model": "gemini/gemini-2.5-pro"}}},
            "gemini",
        ),
    ],
)
def test_a_run_that_needs_litellm_is_told_by_the_provider(
    config: dict[str, object], lacking: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "find_spec", lambda _name: None)
    llm = LLMConfig.model_validate(config)
    found = routing.lacks_package(llm, mode="real", environ=KEY)
    assert (found and found.provider) == lacking
    assert found is None or found.words.endswith("litellm, and it is not installed.")
    assert routing.lacks_package(llm, mode="stub", environ=KEY) is None


@needs_litellm
def test_nothing_is_lacking_where_litellm_is_installed() -> None:
    assert routing.lacks_package(LLMConfig(model="gpt-4o-mini"), mode="real", environ=KEY) is None


@needs_litellm
@pytest.mark.parametrize(
    ("model", "is_lacking"),
    [
        ("openai/responses/gpt-4o", True),
        ("o1-pro", True),
        ("gpt-4o-mini", False),
        ("anthropic/claude-sonnet-4-5", False),
    ],
)
def test_the_responses_api_needs_a_package_that_is_told(
    model: str, is_lacking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = routing.find_spec
    monkeypatch.setattr(routing, "find_spec", lambda name: None if name == "mcp" else real(name))
    environ = KEY | {"ANTHROPIC_API_KEY": "sk-test"}
    found = routing.lacks_package(LLMConfig(model=model), mode="real", environ=environ)
    assert (found is not None and "package `mcp`" in found.words) is is_lacking
