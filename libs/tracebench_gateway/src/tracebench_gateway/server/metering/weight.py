"""The body that a request is sent as, and how many tokens it may take: told from its bytes, whatever field they stand in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracebench_core.specs import Message
from tracebench_gateway.exchange import Kind

BYTES_PER_TOKEN = 3
"""Of what is set aside as a rule: dense text and code take more tokens than plain English. Under `budget.strict` it is one."""
TOKENS_PER_MESSAGE = 4
"""What a chat template adds around each message."""
TOKENS_PER_IMAGE = 1_500
"""Set aside for a part of a message that is no text: most providers bill a picture by its size and not by its bytes."""
BYTES_PER_TOKEN_OF_SOUND = 32
"""Of a recording in base64: the densest that speech is sent in has 8 kbit, 1,400 of these bytes, a second, and bills 32 tokens for it."""
OURS = frozenset(
    {"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "encoding_format", "messages", "prompt", "input"}
)  # fmt: skip
"""Fields whose names, and mostly values, the gateway itself writes."""
PICTURE, SOUND = "data:image/", "input_audio"


class Weight(NamedTuple):
    """What a request may take of a prompt's tokens."""

    usual: int
    """At three bytes a token, pictures and recordings by their own rules."""
    worst: int
    """At one token a byte of all that is sent: no tokenizer makes more of a text. Pictures by whichever rule gives more."""


def body_of(
    model: str, messages: list[Message], sampling: Mapping[str, Any], *, kind: Kind, stream: bool
) -> dict[str, Any]:
    """Return a request's body; what the config adds stands beside the rest."""
    sent = dict(sampling)
    added: dict[str, Any] = sent.pop("extra_body", {})
    body: dict[str, Any] = {"model": model} | sent | added
    if kind == "chat":
        body["messages"] = messages
    elif kind == "completion":
        body["prompt"] = _given(messages[0])
    else:
        body |= {"input": [_given(message) for message in messages], "encoding_format": "float"}
    return body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})


def serialise(body: Mapping[str, Any]) -> bytes:
    """Return a body as it is sent."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def serialise_messages(messages: list[Message]) -> bytes:
    """Return messages as they stand in a body."""
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode()


def with_messages(body: dict[str, Any], raw: bytes) -> bytes:
    """Return a body as it is sent, with messages that are serialised already."""
    head = serialise({name: value for name, value in body.items() if name != "messages"})
    return b"".join((head[:-1], b',"messages":', raw, b"}"))


def weigh(body: Mapping[str, Any]) -> Weight:
    """Return what the body of a request weighs."""
    messages: list[dict[str, Any]] = body.get("messages") or ()  # type: ignore[assignment]
    size = len(serialise(body))
    envelope = len(serialise({name: [] if name == "messages" else body[name] for name in OURS & body.keys()}))
    asked = [body[name] for name in ("prompt", "input") if name in body]
    by_bytes = size - envelope + len(serialise({"": asked}) if asked else b"")
    extra = most = 0
    for data, tokens in _unseen(messages):
        by_bytes -= data
        extra += tokens
        most += max(tokens - data, 0)
    for count, data in _tokenized(asked):
        extra += max(0, count - data // BYTES_PER_TOKEN)
    return Weight(
        usual=_up(by_bytes, BYTES_PER_TOKEN) + extra + TOKENS_PER_MESSAGE * max(len(messages), 1), worst=size + most
    )


def _given(message: Message) -> Any:
    return message["tokens"] if "tokens" in message else message.get("content")


def _unseen(messages: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield of each part that is no text how many bytes its data has, which its tokens do not follow from, and how many tokens it takes."""
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "text":
                continue
            picture, sound = part.get("image_url"), part.get(SOUND)
            url = picture.get("url") if isinstance(picture, dict) else picture
            data = sound.get("data") if isinstance(sound, dict) else None
            if isinstance(url, str) and url.startswith(PICTURE):
                yield len(url.encode()), TOKENS_PER_IMAGE
            elif isinstance(data, str):
                yield len(data.encode()), TOKENS_PER_IMAGE + _up(len(data), BYTES_PER_TOKEN_OF_SOUND)
            else:
                yield 0, TOKENS_PER_IMAGE


def _tokenized(asked: list[Any]) -> Iterator[tuple[int, int]]:
    """Yield of each prompt that is a list of tokens how many it has, and how many bytes they take."""
    for given in asked:
        for tokens in given if isinstance(given, list) and given and isinstance(given[0], list) else [given]:
            if isinstance(tokens, list) and tokens and isinstance(tokens[0], int):
                yield len(tokens), len(serialise({"": tokens}))


def _up(count: int, step: int) -> int:
    return -(-count // step)
