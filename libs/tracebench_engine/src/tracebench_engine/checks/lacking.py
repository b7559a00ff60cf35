"""What the models of a config lack before they can be asked, and where a server is asked that the config names in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tracebench_core.specs import LLMConfig, ModelIdentity, RunConfig
from tracebench_gateway.litellm_needs import needs_by_litellm
from tracebench_gateway.models import PREFIXES, every_model, missing_keys, resolve_models, unmet_needs
from tracebench_gateway.needs import Need
from tracebench_gateway.routing import INSTALL, SPEAKING, direct_address, lacks_package
from tracebench_gateway.variants import llm_configs

MOST_SHOWN = 8


class Lack(NamedTuple):
    """Something that a provider needs and has not."""

    subject: str
    words: str
    hint: str
    is_sure: bool = True
    """Without it nothing can be asked; else litellm alone says so."""


def lacks(config: RunConfig, *, environ: Mapping[str, str]) -> list[Lack]:
    """Return what the models of real mode lack, each once; nothing in the other modes."""
    variants = llm_configs(config).values() if config.mode == "real" else ()
    return [*dict.fromkeys(lack for llm in variants for lack in _lacks(llm, environ))]


def _lacks(llm: LLMConfig, environ: Mapping[str, str]) -> Iterator[Lack]:
    if lacking := lacks_package(llm, mode="real", environ=environ):
        yield Lack(f"provider {lacking.provider}", lacking.words, INSTALL)
    for missing in missing_keys(llm, environ=environ):
        words = f"Mode `real` needs `{missing.variable}` for provider `{missing.provider}`, and it is not set."
        yield Lack(f"key {missing.variable}", words, f"export {missing.variable}=…")
    for identity, need in unmet_needs(llm, environ=environ):
        yield lack_of(identity, need)
    for identity, need in needs_by_litellm(llm, environ=environ):
        yield lack_of(identity, need, is_sure=False)


def lack_of(identity: ModelIdentity, need: Need, *, is_sure: bool = True) -> Lack:
    """Return a need in words."""
    names = " or ".join(f"`{name}`" for name in need.variables[:MOST_SHOWN])
    field = f", or `{need.field}: …` beside the model" if need.field else ""
    none = "it is not" if len(need.variables) == 1 else "none of them is"
    who = "needs" if is_sure else "needs, as litellm says,"
    words = f"Provider `{identity.provider}` of model `{identity.model}` {who} {names}, and {none} set."
    return Lack(f"provider {identity.provider}", words, f"export {need.variables[0]}=…{field}", is_sure)


def addresses(config: RunConfig, *, environ: Mapping[str, str]) -> dict[str, str]:
    """Return by `base_url`, as the config has it, where it is asked: a host alone at its `/v1`, any other path as it stands.

    Of servers that speak OpenAI's API: other providers' addresses have other rules, which litellm knows.
    """
    found: dict[str, str] = {}
    for llm in llm_configs(config).values() if config.mode == "real" else ():
        for _, _, model in every_model(resolve_models(llm, mode="real", environ=environ)):
            if model.base_url and (model.provider in SPEAKING or model.provider not in PREFIXES):
                found[model.base_url] = direct_address(model) or model.base_url
    return found
