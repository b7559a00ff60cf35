"""What every wire does, and the pieces that several of them are written with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import Metered, Reply, Tokens
from tracebench_gateway.server.errors import Failure
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.tokens import Claims

EVENTS = "text/event-stream"


class Answer(NamedTuple):
    """One call's reply and what it cost."""

    reply: Reply
    metered: Metered


class StreamWriter(Protocol):
    """Writes one streamed answer; every method returns bytes to send, maybe none."""

    media_type: str

    def open(self) -> bytes:
        """Write what stands before the first piece."""
        ...

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """Write a piece of the answer number `index`, given in the form of OpenAI's `delta`."""
        ...

    def finish(self, index: int, answer: Answer) -> bytes:
        """Write the end of one answer."""
        ...

    def close(self, answers: Sequence[Answer]) -> bytes:
        """Write what stands after the last piece."""
        ...

    def fail(self, failure: Failure) -> bytes:
        """Write a failure in the middle of the stream."""
        ...


class Wire(Protocol):
    """One HTTP API for models."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """Return what a request asks for.

        Raises:
            BadRequest: naming the field.
        """
        ...

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """Return the body of an answer that is not streamed."""
        ...

    def stream(self, asked: Asked) -> StreamWriter:
        """Return the writer of a streamed answer."""
        ...

    def error(self, failure: Failure) -> dict[str, Any]:
        """Return the body of a failure."""
        ...


def total(answers: Sequence[Answer]) -> Tokens:
    """Return the tokens of all answers together."""
    counts = [answer.metered.tokens for answer in answers]
    return Tokens(
        prompt=sum(c.prompt for c in counts),
        completion=sum(c.completion for c in counts),
        cached=sum(c.cached for c in counts),
        written=sum(c.written for c in counts),
        reasoning=sum(c.reasoning for c in counts),
    )


def event(data: Mapping[str, Any], *, name: str | None = None) -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def tool_calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of functions in a message, each with an id and a name."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        named = {"name": function.get("name") or "", "arguments": function.get("arguments") or ""}
        calls.append({"id": call.get("id") or f"call_{uuid4().hex}", "function": named})
    return calls


def arguments_of(call: Mapping[str, Any]) -> str:
    """Return a call's arguments as JSON text; some servers send an object."""
    arguments = call["function"]["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def input_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments as an object; what is none stands under `arguments`."""
    text = arguments_of(call)
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}
