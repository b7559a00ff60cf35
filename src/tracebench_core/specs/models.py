"""How models are reached and what they are asked with: the `llm` part of a config."""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, JsonValue, SecretStr, field_validator

from tracebench_core.specs.base import Role, Spec
from tracebench_core.specs.budget import Usage
from tracebench_core.specs.named import Price

OF_LENGTH = frozenset(
    {"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict", "num_predict"}
)
"""Names under which servers take the longest answer; a second one would undo the caps."""
NOT_EXTRA = OF_LENGTH | {"model", "messages", "prompt", "input", "stream", "stream_options", "n", "best_of"}
"""What `extra_body` may not hold."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANK = re.compile(r"\s/|/\s|[\x00-\x1f\x7f]")
_KEY_LIKE = re.compile(r"(sk|pk|gsk|xai|ghp|key)_.{16,}|[a-z]{2}_[A-Za-z]{24,}|(?=.*[a-z])(?=.*[0-9])\w{32,}")


class ModelConfig(Spec):
    """How one role's model is reached."""

    provider: str | None = None
    """The provider by its name in litellm. By default it follows from the model's name."""
    model: str | None = None
    """The model's name at the provider. By default `$TRACE_LITELLM_MODEL`."""
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    """Address of a server that speaks OpenAI's API, ending in `/v1`."""
    api_key_env: str | None = None
    """The *name* of the variable that holds the key. Keys themselves have no place in a config."""
    temperature: float | None = None
    """For calls that set none themselves."""
    max_tokens: int | None = Field(default=None, gt=0)
    """The longest answer to one call. By default 4096 if tokens or USD are capped, else no limit of ours."""
    api_version: str | None = None
    """The version of the provider's API, where there are several, as with Azure."""
    region: str | None = None
    """The region of a cloud: for AWS and OCI, and the location for Vertex AI."""
    project: str | None = None
    """The project at a cloud, for Vertex AI and watsonx."""
    extra_headers: dict[str, str] = {}
    """Headers of every request, each with the *name* of the variable that holds its value."""
    top_p: float | None = Field(default=None, ge=0, le=1)
    """For calls that set none themselves."""
    seed: int | None = None
    """For calls that set none themselves; not every model heeds it."""
    reasoning_effort: str | None = None
    """For calls that set none themselves, such as `low`; not every model heeds it."""
    prompt_cache: bool | None = None
    """Let the provider keep the beginning of prompts: marked where it wants a mark, left to it where it does so by itself. `false` takes
    callers' marks away."""
    extra_body: dict[str, JsonValue] = {}
    """Further fields of every request, such as `top_k: 20`."""

    @field_validator("model", "provider")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and (
            not name.strip("/") or name != name.strip() or name.endswith("/") or _BLANK.search(name)
        ):
            raise ValueError(
                "it must be a name, without blanks around it or around a `/`, and something after the last `/`"
            )
        return name

    @field_validator("base_url")
    @classmethod
    def _names_a_host(cls, value: str | None) -> str | None:
        try:
            parts = urlsplit(value or "http://any")
            if parts.hostname and parts.port != 0:
                return value
        except ValueError as err:
            raise ValueError(f"names no server: {err}") from None
        raise ValueError("names no server")

    @field_validator("extra_body")
    @classmethod
    def _leaves_the_request_whole(cls, fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
        taken = sorted(fields.keys() & NOT_EXTRA)
        if taken:
            instead = "; set `max_tokens` beside it" if taken[0] in OF_LENGTH else ""
            raise ValueError(f"`{taken[0]}` is the gateway's to write{instead}")
        return fields

    @field_validator("extra_headers")
    @classmethod
    def _names_variables(cls, headers: dict[str, str]) -> dict[str, str]:
        for header, name in headers.items():
            if not _VARIABLE.fullmatch(name) or _KEY_LIKE.fullmatch(name):
                raise ValueError(f"`{header}` must be the name of a variable that holds the header's value")
        return headers

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, name: str | None) -> str | None:
        if name is not None and (not _VARIABLE.fullmatch(name) or _KEY_LIKE.fullmatch(name)):
            raise ValueError(
                "it must be the name of a variable, such as `OPENAI_API_KEY`; keys themselves have no place in a config"
            )
        return name


class ListedModel(ModelConfig):
    """One model on a role's list. The role's own fields hold where it says nothing."""

    prices: Price | None = None
    """Of this model; wins over `llm.prices`."""


class RoleConfig(ModelConfig):
    """How one role's models are reached."""

    models: dict[str, ListedModel] = {}
    """Further models that the role may ask, by the name they are asked for; without `model`, the first is the role's own."""


class LLMConfig(ModelConfig):
    """The one door to language models. The fields of `ModelConfig` are the default of every role."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    roles: dict[Role, RoleConfig] = {}
    """What differs for single roles."""
    stub: Literal["mutate", "empty", "answers"] = "mutate"
    """`mutate` perturbs the current values by the seed; `answers` now and then shows the next better answer that the task ships, so that a
    demonstration rises; `empty` proposes nothing. None of them is a language model, and a run with `answers` is never compared."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one attempt."""
    max_retries: int = Field(default=4, ge=0)
    """Attempts after the first, on rate limits, server errors and timeouts."""
    outage_limit: float = Field(default=600.0, ge=0)
    """Seconds that calls wait for a model that answered before and cannot be reached; meanwhile no further job starts. 0: they fail."""
    max_concurrency: int = Field(default=16, gt=0)
    """Calls under way at a time, over all jobs."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Over all jobs. By default there is no limit."""
    record: bool = False
    """Keep every exchange, so that `mode: replay` can repeat the run without a model."""
    cache: Literal["off", "run", "shared"] = "off"
    """Reuse identical calls at temperature 0."""
    prices: dict[str, Price] = {}
    """By model name; these win over the built-in price map."""


class LLMVariant(ModelConfig):
    """One column of the matrix: what of `llm` its jobs have otherwise. Roles are laid over `llm.roles`, field by field."""

    name: str | None = Field(default=None, min_length=1, max_length=80, pattern=r"^\S(.*\S)?$")
    """What tables call it. By default the name is made of its fields."""
    roles: dict[Role, RoleConfig] = {}
    """What differs for single roles."""


Message = dict[str, Any]
"""One chat message in OpenAI's form: `{"role": "user", "content": "…"}`."""


class Completion(Spec):
    """One answer of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    text: str
    model: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    """Of the whole request, on the first completion of it; zero on the others."""


class Endpoint(Spec):
    """An OpenAI-compatible door for foreign frameworks and subprocesses. The key is the job's own, never a provider's."""

    base_url: str
    """Ends in `/v1`."""
    api_key: SecretStr
    model: str
