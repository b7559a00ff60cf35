"""Every provider that litellm knows by name, and what each needs before it can be asked: keys, addresses, regions, projects.

`providers.json` names of each what it needs, and of each need the variables that may hold it, the usual one first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tracebench_core.specs import ModelConfig, ModelIdentity

NEEDS: Mapping[str, list[list[str]]] = json.loads((Path(__file__).parent / "providers.json").read_bytes())
KEY_ENDS = ("KEY", "TOKEN", "JWT", "PAT", "CREDENTIALS")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "base_url": ("_API_BASE", "_BASE_URL", "_URL", "_ACCOUNT_ID"),
    "api_version": ("_API_VERSION",),
    "region": ("_REGION", "_REGION_NAME", "_LOCATION"),
    "project": ("_PROJECT", "_PROJECT_ID"),
}
"""By field of a config, how the variables end that tell the same."""
OTHERWISE = {"google": "gemini", "vertex": "vertex_ai", "grok": "xai", "together": "together_ai", "fireworks": "fireworks_ai",
             "aws": "bedrock", "amazon": "bedrock", "claude": "anthropic"}  # fmt: skip
"""What providers are called by many, too."""
AWS_FILES = (".aws/credentials", ".aws/config")


class Need(NamedTuple):
    """Something without which a provider cannot be asked."""

    variables: tuple[str, ...]
    """Any of which holds it."""
    field: str | None
    """Of the config, that holds it as well."""


def key_of(provider: str) -> str | None:
    """Return the variable that a provider's key is usually kept in; None where it has no key of one piece."""
    for variables in NEEDS.get(provider, ()):
        if variables[0].endswith(KEY_ENDS) and not variables[0].startswith(("AWS_", "OCI_")):
            return variables[0]
    return None


def unmet(config: ModelConfig, identity: ModelIdentity, environ: Mapping[str, str]) -> Iterator[Need]:
    """Yield what a model's provider needs and has not, in the config, in the environment, or, for AWS, in its files."""
    for variables in NEEDS.get(identity.provider, ()):
        need = Need(tuple(variables), field_of(variables))
        if any(environ.get(variable) for variable in variables) or _is_told(config, identity, need):
            continue
        if variables[0].startswith("AWS_ACCESS") and _has_aws_files(environ):
            continue
        yield need


def field_of(variables: list[str]) -> str | None:
    """Return the field of a config that tells the same as some variables; None for keys, which stand in no config."""
    if variables[0].endswith(KEY_ENDS):
        return None
    return next((name for name, ends in FIELDS.items() if variables[0].endswith(ends)), None)


def _is_told(config: ModelConfig, identity: ModelIdentity, need: Need) -> bool:
    if need.field == "base_url":
        return identity.base_url is not None
    return need.field is not None and getattr(config, need.field) is not None


def _has_aws_files(environ: Mapping[str, str]) -> bool:
    home = environ.get("HOME")
    return home is not None and any((Path(home) / name).is_file() for name in AWS_FILES)
