"""Reads a chat request: what is passed on, what is left out, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tracebench_core.llm.models import role_config
from tracebench_core.llm.tokens import Claims
from tracebench_core.specs import LLMConfig, Message

SAMPLING = frozenset(
    {
        "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "presence_penalty",
        "frequency_penalty", "response_format", "tools", "tool_choice", "parallel_tool_calls", "logit_bias",
        "reasoning_effort", "verbosity",
    }
)  # fmt: skip
"""Passed on to the model. A closed list: some clients' extra fields name another server or another key."""
LEFT_OUT = frozenset(
    {"model", "messages", "stream", "stream_options", "n", "user", "metadata", "store", "service_tier", "logprobs",
     "top_logprobs", "prompt_cache_key", "safety_identifier"}
)  # fmt: skip
"""Known, and without effect on what a model answers here."""
MOST_CHOICES = 128


class BadRequest(ValueError):  # noqa: N818 - named for the status it becomes
    """The request is no chat request, or asks for what the gateway does not do."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    """A chat request as the gateway understands it."""

    messages: list[Message]
    sampling: dict[str, Any]
    choices: int
    stream: bool
    wants_usage: bool


def read_request(body: bytes, *, claims: Claims, llm: LLMConfig) -> Asked:
    """Return what is asked, with the config's temperature and token limit where the caller sets none.

    Raises:
        BadRequest: naming the field.
    """
    data = _object(body)
    _check_model(data.get("model"), claims)
    unknown = sorted(data.keys() - SAMPLING - LEFT_OUT)
    if unknown:
        raise BadRequest(f"the gateway does not pass on `{unknown[0]}`")
    choices = data.get("n") or 1
    if not isinstance(choices, int) or not 1 <= choices <= MOST_CHOICES:
        raise BadRequest(f"`n` must be a whole number from 1 to {MOST_CHOICES}")
    options = data.get("stream_options") or {}
    return Asked(
        messages=_messages(data.get("messages")),
        sampling=_sampling(data, claims=claims, llm=llm),
        choices=choices,
        stream=bool(data.get("stream")),
        wants_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except ValueError as err:
        raise BadRequest(f"the request is not JSON: {err}") from err
    if not isinstance(data, dict):
        raise BadRequest("the request must be a JSON object")
    return data


def _messages(messages: Any) -> list[Message]:
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(m, dict) and m.get("role") for m in messages)
    ):
        raise BadRequest("`messages` must be a non-empty list of objects with a `role`")
    return messages


def _check_model(name: Any, claims: Claims) -> None:
    identity = claims.model
    if name and name not in {identity.model, f"{identity.provider}/{identity.model}"}:
        message = f"the model of role `{claims.role}` is `{identity.model}`, not `{name}`"
        raise BadRequest(message, status=404)


def _sampling(data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> dict[str, Any]:
    given = {name: data[name] for name in sorted(data.keys() & SAMPLING) if data[name] is not None}
    config = role_config(llm, claims.role)
    if config.temperature is not None:
        given.setdefault("temperature", config.temperature)
    if config.max_tokens is not None and "max_completion_tokens" not in given:
        given.setdefault("max_tokens", config.max_tokens)
    return given
