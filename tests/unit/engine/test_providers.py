"""Who is asked for a model: a provider that is known, one that a plugin offers, or a server; what each lacks; and which salts a run has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import ModelIdentity
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.lacking import addresses, lack_of, lacks
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.providers import misspelt_providers, refuse_unknown
from tracebench_engine.matrix.salt_choice import salt_name, settle_salts
from tracebench_gateway.needs import Need


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


UNKNOWN = "(role `optimizer`) is no provider that is known."
NAME_ONE = (
    "write a provider of litellm's or of a plugin before the model's name, or `base_url` beside it for a server that speaks "
    "OpenAI's API"
)


@pytest.mark.parametrize(
    ("llm", "refusal"),
    [
        ({"model": "openai/gpt-4o"}, None), ({"model": "gpt-4o"}, None), ({"model": "zzz/x", "base_url": "http://x/v1"}, None),
        ({"model": "openai/openai/x"}, ("`openai/openai/x` (role `optimizer`) names its provider twice.", "model: openai/x")),
        ({"model": "openai/openai/x", "base_url": "http://x/v1"}, None),
        ({"model": "opnai/x"}, (f"`opnai` of `opnai/x` {UNKNOWN} Did you mean `openai`?", NAME_ONE)),
        ({"model": "google/x"}, (f"`google` of `google/x` {UNKNOWN} Did you mean `gemini`?", NAME_ONE)),
        ({"model": "claude/x"}, (f"`claude` of `claude/x` {UNKNOWN} Did you mean `anthropic`?", NAME_ONE)),
        ({"model": "zzz/x"}, (f"`zzz` of `zzz/x` {UNKNOWN}", NAME_ONE)),
    ],
)  # fmt: skip
def test_a_provider_that_nobody_knows_is_refused_unless_there_is_an_address(
    host: PluginHost, llm: Any, refusal: Any
) -> None:
    refuse_unknown(parse_config({"mode": "stub", "llm": llm}), host)
    config = parse_config({"mode": "real", "llm": llm})
    if refusal is None:
        refuse_unknown(config, host)
        return
    with pytest.raises(ConfigError) as caught:
        refuse_unknown(config, host)
    assert (str(caught.value), caught.value.hint) == refusal


@pytest.mark.parametrize(
    ("config", "near"),
    [
        ({"llm": {"provider": "opnai", "model": "a", "base_url": "http://x"}}, {"opnai": "openai"}),
        ({"llm": {"provider": "openai", "model": "a"}}, {}), ({"llm": {"provider": "qqq", "model": "a"}}, {}),
        (
            {"llm": {"roles": {"judge": {"provider": "antropic", "model": "x"}}}, "llm_variants": [{"model": "b", "provider": "opnai"}]},
            {"antropic": "anthropic", "opnai": "openai"},
        ),
        ({"llm": {"roles": {"judge": {"models": {"m": {"model": "x", "provider": "opnai"}}}}}}, {"opnai": "openai"}),
    ],
)  # fmt: skip
def test_a_provider_that_is_nearly_known_is_told_beside_an_address_too(
    host: PluginHost, config: Any, near: Any
) -> None:
    assert misspelt_providers(parse_config(config), host) == near


@pytest.mark.parametrize(
    ("variables", "field", "is_sure", "words", "hint"),
    [
        (["A"], "", True, "needs `A`, and it is not set.", "export A=…"),
        (["A", "B"], "project", True, "needs `A` or `B`, and none of them is set.", "export A=…, or `project: …` beside the model"),
        (["A"], "", False, "needs, as litellm says, `A`, and it is not set.", "export A=…"),
        (
            [f"V{i}" for i in range(9)], "", True,
            f"needs {' or '.join(f'`V{i}`' for i in range(8))}, and none of them is set.", "export V0=…",
        ),
    ],
)  # fmt: skip
def test_what_a_provider_lacks_is_told_with_what_to_export(
    variables: Any, field: str, is_sure: bool, words: str, hint: str
) -> None:
    identity = ModelIdentity(provider="p", model="m")
    lack = lack_of(identity, Need(tuple(variables), field), is_sure=is_sure)
    assert lack == ("provider p", f"Provider `p` of model `m` {words}", hint, is_sure)


def test_nothing_is_lacking_where_no_model_is_asked() -> None:
    assert lacks(parse_config({"llm": {"model": "openai/gpt-4o"}}), environ={}) == []


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ({"mode": "real", "llm": {"model": "a", "base_url": "http://x:80"}}, {"http://x:80": "http://x:80/v1"}),
        ({"mode": "real", "llm": {"model": "a", "base_url": "http://x/api"}}, {"http://x/api": "http://x/api"}),
        ({"mode": "stub", "llm": {"model": "a", "base_url": "http://x"}}, {}),
        ({"mode": "real", "llm": {"model": "anthropic/a", "base_url": "http://x"}}, {}),
    ],
)
def test_a_host_alone_is_asked_at_its_v1_and_a_path_as_it_stands(config: Any, asked: Any) -> None:
    assert addresses(parse_config(config), environ={}) == asked


def test_a_run_draws_its_salts_once_or_shares_those_of_its_folder_or_has_public_instances(tmp_path: Path) -> None:
    def settled(*, draw: bool, **fields: Any) -> str:
        config = parse_config({"runs_dir": str(tmp_path), **fields})
        return salt_name(config, settle_salts(config, draw=draw))

    assert [settled(draw=draw, salt="public") for draw in (True, False)] == ["public", "public"]
    assert [settled(draw=False), settled(draw=False, salt="NEW")] == ["undrawn", "undrawn"]
    shared = settled(draw=True)
    assert [settled(draw=draw) for draw in (True, False)] == [shared, shared]
    assert len({settled(draw=True, salt="NEW"), settled(draw=True, salt="NEW"), shared, "undrawn"}) == 4
    assert settled(draw=False, salt="0" * 32) == settled(draw=True, salt="0" * 32) != settled(draw=False, salt="1" * 32)
    assert settled(draw=True, mode="replay", replay_from=str(tmp_path)) == "public"
