"""`POST /v1/chat/completions`: OpenAI's chat API. A request for n choices is n calls: not every provider has `n`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import Tokens
from tracebench_gateway.models import model_config
from tracebench_gateway.server.errors import Failure, error_body
from tracebench_gateway.server.requests.asked import MOST_CHOICES, Asked, choose_model, with_defaults
from tracebench_gateway.server.requests.fields import (
    LEFT_OUT,
    OF_WIRE,
    PASSED,
    known_keys,
    left_out_of,
    read_choices,
    read_flag,
    read_messages,
    take_fields,
)
from tracebench_gateway.server.wire.base import EVENTS, Answer, event, total
from tracebench_gateway.tokens import Claims


class ChatWire:
    """See `Wire`."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        model = choose_model(data.get("model"), claims)
        named = model_config(llm, claims.role, model.name).extra_body.keys() - PASSED.keys()
        sampling = with_defaults(take_fields(data, known=LEFT_OUT | OF_WIRE | named), model, claims=claims, llm=llm)
        given = {**data, **(data.get("extra_body") or {})}
        if own := {name: given[name] for name in sorted(named & given.keys()) if given[name] is not None}:
            sampling["extra_body"] |= own
        messages, unknown = known_keys(read_messages(data.get("messages")), named=sampling.get("extra_body", ()))
        return Asked(
            model=model,
            choices=read_choices(data, most=MOST_CHOICES),
            conversations=[messages],
            sampling=sampling,
            left_out=(*left_out_of(data), *(f"messages[].{key[:80]}" for key in sorted(unknown))),
            stream=read_flag(data, "stream"),
            wants_usage=wants_usage(data),
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        choices = [
            {"index": index, "message": reply.message, "finish_reason": reply.finish_reason, "logprobs": None}
            for index, (reply, _) in enumerate(answers)
        ]
        return _head("chat.completion", asked) | {"choices": choices, "usage": usage_of(total(answers))}

    def stream(self, asked: Asked) -> ChatStream:
        """See `Wire`."""
        return ChatStream(asked)

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        return error_body(failure)


class ChatStream:
    """See `StreamWriter`."""

    media_type = EVENTS

    def __init__(self, asked: Asked) -> None:
        self._head = _head("chat.completion.chunk", asked)
        self._wants_usage = asked.wants_usage

    def open(self) -> bytes:
        """See `StreamWriter`."""
        return b""

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """See `StreamWriter`."""
        return self._chunk(index, delta, finish_reason=None)

    def finish(self, index: int, answer: Answer) -> bytes:
        """See `StreamWriter`."""
        return self._chunk(index, {}, finish_reason=answer.reply.finish_reason)

    def close(self, answers: Sequence[Answer]) -> bytes:
        """See `StreamWriter`."""
        usage = event(self._head | {"choices": [], "usage": usage_of(total(answers))}) if self._wants_usage else b""
        return usage + b"data: [DONE]\n\n"

    def fail(self, failure: Failure) -> bytes:
        """See `StreamWriter`."""
        return event(error_body(failure))

    def _chunk(self, index: int, delta: Mapping[str, Any], *, finish_reason: str | None) -> bytes:
        choice = {"index": index, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return event(self._head | {"choices": [choice]})


def wants_usage(data: Mapping[str, Any]) -> bool:
    """Tell whether a streamed answer shall end with its usage."""
    options = data.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def usage_of(tokens: Tokens) -> dict[str, Any]:
    """Return counts under OpenAI's names."""
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _head(kind: str, asked: Asked) -> dict[str, Any]:
    name = asked.model.identity.model
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": name}
