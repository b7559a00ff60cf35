"""Providers by name: what each needs is asked before anything runs, and no unknown name means OpenAI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_core.specs import LLMConfig, ModelConfig, ModelIdentity
from tracebench_engine import api
from tracebench_engine.checks.preflight import refuse_unmet
from tracebench_engine.config import parse_config
from tracebench_gateway.credentials import KEY_VARIABLES, is_secret
from tracebench_gateway.models import missing_key, resolve_models
from tracebench_gateway.needs import NEEDS, unmet
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.providers.litellm import REGIONS

OPENAI = {"OPENAI_API_KEY": "sk-0123456789"}


@pytest.mark.parametrize("provider", sorted(NEEDS))
def test_every_provider_resolves_to_itself(provider: str) -> None:
    models = resolve_models(LLMConfig(model=f"{provider}/some/model"), mode="real", environ=OPENAI)
    assert set(models.values()) == {ModelIdentity(provider=provider, model="some/model")}


@pytest.mark.parametrize("provider", sorted(NEEDS))
def test_a_region_reaches_every_provider_that_needs_one(provider: str) -> None:
    """The hint offers `region` to those that take AWS's, and to those whose name for it is known."""
    needed = [
        need.variables[0]
        for need in unmet(ModelConfig(), ModelIdentity(provider=provider, model="m"), {})
        if need.field == "region"
    ]
    assert all(variable.startswith("AWS_") for variable in needed) or provider in REGIONS


@HEAVY
def test_the_list_is_litellms() -> None:
    litellm = pytest.importorskip("litellm", reason="the extra `litellm` is not installed")
    known = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list}
    assert len(known - NEEDS.keys()) <= len(known) / 10, (
        "providers.json lacks many providers of the litellm that is installed"
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("antropic/claude-sonnet-4-5", "anthropic"), ("foo/bar", ""), ("google/gemini-2.5-pro", "gemini"), ("together/x", "together_ai"),
        ("fireworks/x", "fireworks_ai"), ("opneai/gpt-4o", "openai"), ("meta-llama/llama-3", "meta_llama"),
    ],
)  # fmt: skip
def test_an_unknown_provider_is_an_error_with_the_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    config = {"mode": "real", "llm": {"model": name}, "tasks": ["internal:numeric_param"], "runs_dir": str(tmp_path)}
    with pytest.raises(ConfigError, match="no provider that is known") as refusal:
        list(api.validate(parse_config(config)))
    assert f"`{near}`" in str(refusal.value) or not near
    served = resolve_models(LLMConfig(model=name, base_url="http://there/v1"), mode="real", environ={})
    assert served["agent"] == ModelIdentity(provider="openai", model=name, base_url="http://there/v1")


@pytest.mark.parametrize(
    ("config", "environ", "lacking"),
    [
        ({"model": "bedrock/x"}, {}, "AWS_ACCESS_KEY_ID"),
        ({"model": "bedrock/x"}, {"AWS_PROFILE": "me"}, "AWS_REGION_NAME"),
        ({"model": "bedrock/x", "region": "eu-west-1"}, {"AWS_PROFILE": "me"}, None),
        ({"model": "oci/x"}, {"OCI_USER": "u", "OCI_FINGERPRINT": "f", "OCI_TENANCY": "t", "OCI_KEY": "k"}, "OCI_REGION"),
        ({"model": "oci/x", "region": "r"}, {"OCI_USER": "u", "OCI_FINGERPRINT": "f", "OCI_TENANCY": "t", "OCI_KEY": "k"}, None),
        ({"model": "vertex_ai/x", "region": "europe-west1"}, {}, "VERTEXAI_PROJECT"),
        ({"model": "vertex_ai/x", "region": "europe-west1", "project": "mine"}, {}, None),
        ({"model": "azure/deployed"}, {"AZURE_API_KEY": "k"}, "AZURE_API_BASE"),
        ({"model": "azure/deployed", "base_url": "https://x"}, {"AZURE_API_KEY": "k"}, "AZURE_API_VERSION"),
        ({"model": "azure/deployed", "base_url": "https://x", "api_version": "2026-01-01"}, {"AZURE_API_KEY": "k"}, None),
        ({"model": "watsonx/x"}, {"WATSONX_APIKEY": "k", "WATSONX_URL": "u"}, "WATSONX_PROJECT_ID"),
        ({"model": "databricks/x"}, {"DATABRICKS_API_KEY": "k"}, "DATABRICKS_API_BASE"),
        ({"model": "hosted_vllm/Qwen3"}, {}, "HOSTED_VLLM_API_BASE"),
        ({"model": "hosted_vllm/Qwen3", "base_url": "http://127.0.0.1:8000"}, {}, None),
        ({"model": "ollama/llama3"}, {}, None),
    ],
)  # fmt: skip
def test_what_a_provider_needs_is_asked_before_anything_runs(
    tmp_path: Path, config: dict[str, Any], environ: dict[str, str], lacking: str | None
) -> None:
    environ = {**environ, "HOME": str(tmp_path)}
    llm = LLMConfig.model_validate(config)
    assert missing_key(llm, mode="real", environ=environ) is None
    if lacking is None:
        refuse_unmet(llm, environ=environ)
        return
    with pytest.raises(MissingRequirementError, match=lacking) as refusal:
        refuse_unmet(llm, environ=environ)
    assert refusal.value.hint.startswith(f"export {lacking}=")


def test_a_key_may_be_kept_in_any_variable_that_the_provider_looks_for() -> None:
    llm = LLMConfig(model="together_ai/x")
    assert missing_key(llm, mode="real", environ={"TOGETHER_API_KEY": "k"}) is None
    found = missing_key(llm, mode="real", environ={})
    assert found is not None
    assert found.variable == KEY_VARIABLES["together_ai"] == "TOGETHERAI_API_KEY"


def test_an_address_of_a_server_alone_is_asked_at_its_v1() -> None:
    for url, asked in (("http://h:1", "http://h:1/v1"), ("http://h:1/", "http://h:1/v1"), ("http://h/openai", None)):
        assert direct_address(ModelIdentity(provider="openai", model="m", base_url=url)) == asked


def test_a_header_is_a_secret_and_never_stands_in_a_config() -> None:
    llm = LLMConfig(roles={"judge": {"extra_headers": {"X-Org": "MY_ORG"}}})  # type: ignore[dict-item]
    assert is_secret("MY_ORG", llm)
    with pytest.raises(ValueError, match="name of a variable"):
        LLMConfig(extra_headers={"Authorization": "Bearer sk-0123456789abcdef"})


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://127.0.0.1:99999/v1", "http://h:x", "http://h:0", "http://", "https:///v1"]
)
def test_an_address_that_names_no_server_is_a_mistake_of_the_config(url: str) -> None:
    with pytest.raises(ConfigError, match="names no server"):
        parse_config({"llm": {"base_url": url}, "tasks": ["internal:numeric_param"]})
