"""Models as an axis of the matrix: each variant of a config as a whole `LLMConfig`, under the name that tables show."""

from __future__ import annotations

from typing import Any

from tracebench_core.errors import ConfigError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import LLMConfig, LLMVariant, ModelConfig, RoleConfig, RunConfig

UNNAMED = ""
"""The only variant of a config that names none."""
NOT_IDENTITY = {"name", "api_key_env"}
"""What changes no result: how a variant is called, and which key pays."""


def llm_configs(config: RunConfig) -> dict[str, LLMConfig]:
    """Return what each variant comes to, by name and in the order of the config; `llm` itself, unnamed, where there are none.

    Raises:
        ConfigError: when two have one name.
    """
    found: dict[str, LLMConfig] = {}
    for i, variant in enumerate(config.llm_variants):
        name = name_of(variant)
        if name in found:
            raise ConfigError(
                f"`llm_variants[{i}]` is called `{name}` as another one is.", hint="give each a `name` of its own"
            )
        found[name] = laid_over(config.llm, variant)
    return found or {UNNAMED: config.llm}


def name_of(variant: LLMVariant) -> str:
    """Return a variant's name: its own, else its model and what else it sets."""
    if variant.name is not None:
        return variant.name
    told = _told(variant)
    model = told.pop("model", None)
    parts = [str(model)] if model else []
    parts += [f"{name}={canonical_json(value).decode()}" for name, value in told.items()]
    return ", ".join(parts) or "as `llm` says"


def identity_of(variant: LLMVariant) -> dict[str, Any]:
    """Return what makes the jobs of a variant other jobs."""
    return variant.model_dump(mode="json", exclude_defaults=True, exclude=NOT_IDENTITY)


def laid_over(llm: LLMConfig, variant: LLMVariant) -> LLMConfig:
    """Return `llm` with what the variant says in its place; another provider's address and key go with their provider."""
    roles = {
        role: _over(llm.roles.get(role, RoleConfig()), variant.roles.get(role, RoleConfig()))
        for role in {**llm.roles, **variant.roles}
    }
    own = _over(llm, variant)
    return llm.model_copy(update={**{name: getattr(own, name) for name in ModelConfig.model_fields}, "roles": roles})


def _over(default: Any, own: Any) -> Any:
    """Return `default` with the fields that `own` sets."""
    said = {name: value for name, value in own if name in type(default).model_fields and value not in (None, {})}
    said.pop("roles", None)
    if "provider" in said:
        said = {"base_url": None, "api_key_env": None} | said
    return default.model_copy(update=said)


def _told(variant: LLMVariant) -> dict[str, Any]:
    told = variant.model_dump(mode="json", exclude_defaults=True, exclude=NOT_IDENTITY)
    roles = told.pop("roles", {})
    return told | {f"{role}.{name}": value for role, fields in roles.items() for name, value in fields.items()}
