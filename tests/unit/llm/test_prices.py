"""Prices: the config's own, litellm's map without litellm, and unknown ones that stay unknown."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tracebench_core.specs import LLMConfig, ModelIdentity, Price
from tracebench_gateway.models import resolve_models, unpriced_models
from tracebench_runs.prices import PriceTable

GPT = ModelIdentity(provider="openai", model="gpt-4o-mini")

needs_the_map = pytest.mark.skipif(find_spec("litellm") is None, reason="the map is litellm's, which is an extra")


@needs_the_map
def test_the_bundled_map_knows_common_models_with_their_cache_price() -> None:
    price = PriceTable({}).price(GPT)
    assert price is not None
    assert (price.prompt, price.completion, price.cached) == pytest.approx((0.15, 0.6, 0.075))


def test_the_configs_price_wins_and_may_name_the_provider() -> None:
    own = Price(prompt=1, completion=2)
    assert PriceTable({"gpt-4o-mini": own}).price(GPT) == own
    assert PriceTable({"openai/gpt-4o-mini": own}).price(GPT) == own


def test_cached_tokens_cost_their_own_price_and_the_prompt_price_where_there_is_none() -> None:
    million = 1_000_000
    with_cache = PriceTable({"gpt-4o-mini": Price(prompt=2, completion=4, cached=1)})
    without = PriceTable({"gpt-4o-mini": Price(prompt=2, completion=4)})
    assert with_cache.usd(GPT, prompt=million, completion=million, cached=million // 2) == 1 + 0.5 + 4
    assert without.usd(GPT, prompt=million, completion=million, cached=million // 2) == 2 + 4


def test_an_unknown_model_has_no_price_and_another_providers_namesake_gives_none() -> None:
    table = PriceTable({})
    assert table.price(ModelIdentity(provider="openai", model="no-such-model")) is None
    assert table.usd(ModelIdentity(provider="groq", model="gpt-4o-mini"), prompt=1, completion=1) is None


def test_the_stub_is_free_and_a_budget_in_usd_can_be_kept_with_it() -> None:
    llm = LLMConfig(model="no-such-model")
    assert unpriced_models(llm, resolve_models(llm, mode="stub", environ={})) == []
    unknown = unpriced_models(llm, resolve_models(llm, mode="real", environ={}))
    assert [model.model for model in unknown] == ["no-such-model"]


@needs_the_map
def test_prices_models_and_the_client_import_nothing_heavy() -> None:
    modules = "models", "client", "gateway_process", "tokens", "credentials"
    code = "import sys\n" + "\n".join(f"import tracebench_gateway.{name}" for name in modules)
    code += "\nfrom tracebench_runs.prices import PriceTable\nfrom tracebench_core.specs import ModelIdentity"
    code += "\nassert PriceTable({}).price(ModelIdentity(provider='openai', model='gpt-4o-mini'))"
    code += "\nprint(sorted({'litellm', 'openai', 'httpx', 'starlette', 'uvicorn', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
