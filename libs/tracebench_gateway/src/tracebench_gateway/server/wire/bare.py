"""`POST /v1/completions` and `POST /v1/embeddings`: texts that are continued, and texts that become vectors."""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tracebench_core.specs import LLMConfig, Message
from tracebench_gateway.server.errors import Failure, error_body
from tracebench_gateway.server.requests.asked import MOST_CHOICES, Asked, choose_model, with_defaults
from tracebench_gateway.server.requests.fields import (
    LEFT_OUT,
    OF_WIRE,
    is_count,
    is_whole,
    left_out_of,
    read_choices,
    read_flag,
    take_fields,
)
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.base import EVENTS, Answer, StreamWriter, event, total
from tracebench_gateway.server.wire.chat import usage_of, wants_usage
from tracebench_gateway.tokens import Claims

MOST_TEXTS = 2_048


class CompletionsWire:
    """See `Wire`."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        model = choose_model(data.get("model"), claims)
        for name in ("suffix", "echo"):
            if data.get(name):
                raise BadRequest(f"the gateway does not pass on `{name}`")
        choices = read_choices(data, most=MOST_CHOICES)
        if read_choices(data, "best_of", most=MOST_CHOICES) not in {1, choices}:
            raise BadRequest("`best_of` must be `n`: every answer that is paid for is returned")
        given = take_fields(data, known=LEFT_OUT | OF_WIRE | {"prompt", "suffix", "echo", "best_of"})
        texts = _texts(data.get("prompt"), "prompt")
        if len(texts) * choices > MOST_CHOICES:
            raise BadRequest(f"a request may ask for at most {MOST_CHOICES} answers")
        return Asked(
            model=model,
            conversations=[[text] for text in texts],
            sampling=with_defaults(given, model, claims=claims, llm=llm),
            choices=choices,
            stream=read_flag(data, "stream"),
            wants_usage=wants_usage(data),
            kind="completion",
            left_out=left_out_of(data),
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        choices = [_choice(i, reply.text, reply.finish_reason) for i, (reply, _) in enumerate(answers)]
        return _head(asked) | {"choices": choices, "usage": usage_of(total(answers))}

    def stream(self, asked: Asked) -> StreamWriter:
        """See `Wire`."""
        return CompletionStream(asked)

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        return error_body(failure)


class CompletionStream:
    """See `StreamWriter`."""

    media_type = EVENTS

    def __init__(self, asked: Asked) -> None:
        self._head = _head(asked)
        self._wants_usage = asked.wants_usage

    def open(self) -> bytes:
        """See `StreamWriter`."""
        return b""

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """See `StreamWriter`."""
        return event(self._head | {"choices": [_choice(index, delta.get("content") or "", None)]})

    def finish(self, index: int, answer: Answer) -> bytes:
        """See `StreamWriter`."""
        return event(self._head | {"choices": [_choice(index, "", answer.reply.finish_reason)]})

    def close(self, answers: Sequence[Answer]) -> bytes:
        """See `StreamWriter`."""
        usage = event(self._head | {"choices": [], "usage": usage_of(total(answers))}) if self._wants_usage else b""
        return usage + b"data: [DONE]\n\n"

    def fail(self, failure: Failure) -> bytes:
        """See `StreamWriter`."""
        return event(error_body(failure))


class EmbeddingsWire:
    """See `Wire`."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        model = choose_model(data.get("model"), claims)
        unknown = sorted(data.keys() - {"model", "input", "dimensions", "encoding_format", "user"})
        if unknown:
            raise BadRequest(f"the gateway does not pass on `{unknown[0][:80]}`")
        dimensions = data.get("dimensions")
        if dimensions is not None and (not is_count(dimensions) or dimensions > MOST_TEXTS * 8):
            raise BadRequest(f"`dimensions` must be a whole number from 1 to {MOST_TEXTS * 8}")
        coding = data.get("encoding_format") or "float"
        if coding not in ("float", "base64"):
            raise BadRequest("`encoding_format` must be `float` or `base64`")
        return Asked(
            model=model,
            conversations=[_texts(data.get("input"), "input")],
            sampling={} if dimensions is None else {"dimensions": dimensions},
            kind="embedding",
            left_out=left_out_of(data, {"user"}),
            own={"coding": coding},
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        (answer,) = answers
        vectors = answer.reply.message["embeddings"]
        coded = vectors if asked.own["coding"] == "float" else [_packed(vector) for vector in vectors]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(coded)]
        tokens = total(answers).prompt
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": asked.model.identity.model, "usage": usage}

    def stream(self, asked: Asked) -> StreamWriter:
        """See `Wire`."""
        raise BadRequest("vectors are not streamed")

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        return error_body(failure)


def _texts(given: Any, name: str) -> list[Message]:
    """Return texts, or lists of tokens, each as one message."""
    items = given if isinstance(given, list) and given and not all(is_whole(item) for item in given) else [given]
    if len(items) > MOST_TEXTS:
        raise BadRequest(f"`{name}` must hold at most {MOST_TEXTS} texts")
    return [_text(item, name) for item in items]


def _text(item: Any, name: str) -> Message:
    if isinstance(item, str) and item:
        return {"role": "user", "content": item}
    if isinstance(item, list) and item and all(is_whole(token) and token >= 0 for token in item):
        return {"role": "user", "tokens": item}
    raise BadRequest(f"`{name}` must be a text, a list of texts, or lists of tokens, none of them empty")


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _choice(index: int, text: str, finish_reason: str | None) -> dict[str, Any]:
    return {"index": index, "text": text, "finish_reason": finish_reason, "logprobs": None}


def _head(asked: Asked) -> dict[str, Any]:
    name = asked.model.identity.model
    return {"id": f"cmpl-{uuid4().hex}", "object": "text_completion", "created": int(time.time()), "model": name}
