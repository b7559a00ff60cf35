"""Who answers a role, and which key that needs."""

from __future__ import annotations

import pytest

from tracebench_core.specs import LLMConfig, ModelIdentity, RoleConfig
from tracebench_gateway.models import MissingKey, missing_key, resolve_models


def optimizer(llm: LLMConfig, **environ: str) -> ModelIdentity:
    """Return who proposes in real mode."""
    return resolve_models(llm, mode="real", environ=environ)["optimizer"]


def identity(provider: str, model: str, base_url: str | None = None) -> ModelIdentity:
    return ModelIdentity(provider=provider, model=model, base_url=base_url)


def test_a_stub_run_names_the_stub_for_every_role() -> None:
    llm = LLMConfig(provider="openai", model="gpt-4o")
    assert set(resolve_models(llm, mode="stub", environ={}).values()) == {identity("stub", "stub")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4o", identity("openai", "gpt-4o")),
        ("claude-sonnet-4-5", identity("anthropic", "claude-sonnet-4-5")),
        ("gemini/gemini-2.5-flash", identity("gemini", "gemini-2.5-flash")),
        ("openrouter/openai/gpt-4o", identity("openrouter", "openai/gpt-4o")),
        ("ollama/llama3", identity("ollama", "llama3")),
    ],
)
def test_the_provider_is_told_by_the_models_name(name: str, expected: ModelIdentity) -> None:
    assert optimizer(LLMConfig(model=name)) == expected
    assert optimizer(LLMConfig(), TRACE_LITELLM_MODEL=name) == expected


def test_a_provider_that_is_written_wins_over_the_name() -> None:
    assert optimizer(LLMConfig(provider="azure", model="gpt-4o")) == identity("azure", "gpt-4o")
    assert optimizer(LLMConfig(provider="openrouter", model="openai/gpt-4o")) == identity("openrouter", "openai/gpt-4o")
    assert optimizer(LLMConfig(provider="openai", model="openai/gpt-4o")) == identity("openai", "gpt-4o")


@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_openais_address_comes_from_its_variables_and_others_do_not_take_it(variable: str) -> None:
    environ = {variable: "http://127.0.0.1:1/v1"}
    assert optimizer(LLMConfig(model="gpt-4o"), **environ).base_url == "http://127.0.0.1:1/v1"
    assert optimizer(LLMConfig(model="claude-x"), **environ).base_url is None
    assert optimizer(LLMConfig(model="gpt-4o", base_url="http://there/v1"), **environ).base_url == "http://there/v1"


def test_only_openrouters_key_means_openrouter() -> None:
    assert optimizer(LLMConfig(), OPENROUTER_API_KEY="x").provider == "openrouter"
    assert optimizer(LLMConfig(), OPENROUTER_API_KEY="x", OPENAI_API_KEY="y").provider == "openai"


def test_a_role_has_its_own_model_and_leaves_another_providers_address_behind() -> None:
    llm = LLMConfig(
        provider="openai",
        model="gpt-4o",
        base_url="http://there/v1",
        roles={"judge": RoleConfig(provider="anthropic", model="claude-x"), "agent": RoleConfig(model="small")},
    )
    models = resolve_models(llm, mode="real", environ={})
    assert models["optimizer"] == identity("openai", "gpt-4o", "http://there/v1")
    assert models["agent"] == identity("openai", "small", "http://there/v1")
    assert models["judge"] == identity("anthropic", "claude-x")


def test_a_missing_key_is_named_with_its_roles() -> None:
    llm = LLMConfig(model="gpt-4o", roles={"judge": RoleConfig(provider="anthropic", model="claude-x")})
    assert missing_key(llm, mode="real", environ={}) == MissingKey("OPENAI_API_KEY", "openai", ("optimizer", "agent"))
    found = missing_key(llm, mode="real", environ={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": ""})
    assert found == MissingKey("ANTHROPIC_API_KEY", "anthropic", ("judge",))
    assert missing_key(llm, mode="real", environ={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}) is None


def test_stub_and_replay_and_local_servers_need_no_key() -> None:
    llm = LLMConfig(model="gpt-4o")
    assert missing_key(llm, mode="stub", environ={}) is None
    assert missing_key(llm, mode="replay", environ={}) is None
    assert missing_key(llm, mode="real", environ={"OPENAI_API_BASE": "http://127.0.0.1:1/v1"}) is None
    assert missing_key(LLMConfig(model="ollama/llama3"), mode="real", environ={}) is None


def test_a_named_variable_is_needed_even_on_loopback() -> None:
    llm = LLMConfig(model="gpt-4o", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY")
    found = missing_key(llm, mode="real", environ={})
    assert found is not None
    assert found.variable == "MY_KEY"
