"""`POST /v1/messages`: Anthropic's API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tracebench_core.specs import LLMConfig, Message
from tracebench_gateway.server.errors import Failure
from tracebench_gateway.server.metering.meter import estimate_prompt
from tracebench_gateway.server.requests.asked import Asked, choose_model, with_defaults
from tracebench_gateway.server.requests.fields import is_count, left_out_of, read_flag, read_messages, take_fields
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.base import EVENTS, Answer, event, input_of, tool_calls_of, total
from tracebench_gateway.server.wire.tools import Offered, of_functions, read_custom, refuse_forced
from tracebench_gateway.tokens import Claims

DROPPED = frozenset(
    {"metadata", "service_tier", "container", "context_management", "output_config", "inference_geo", "cache_control"}
)
OWN = DROPPED | {
    "model",
    "messages",
    "system",
    "max_tokens",
    "stop_sequences",
    "stream",
    "tools",
    "tool_choice",
    "thinking",
    "extra_body",
}
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 404: "not_found_error",
          413: "request_too_large", 503: "overloaded_error", 504: "timeout_error"}  # fmt: skip
EFFORTS = ((2_048, "low"), (8_192, "medium"))
"""Tokens of thought below which an effort is asked for; more is high."""


class MessagesWire:
    """See `Wire`."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        model = choose_model(data.get("model"), claims)
        if not is_count(data.get("max_tokens")):
            raise BadRequest("`max_tokens` must be a whole number above 0")
        own = {"tools", "tool_choice", "thinking"}
        given = take_fields({k: v for k, v in data.items() if k not in own}, known=OWN)
        offered = read_custom(data.get("tools"))
        given = of_functions(given | take_fields(_translated(data, offered)))
        return Asked(
            model=model,
            conversations=[chat_messages(data)],
            sampling=with_defaults(given, model, claims=claims, llm=llm),
            stream=read_flag(data, "stream"),
            left_out=(*left_out_of(data, DROPPED), *offered.left_out),
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        (answer,) = answers
        content = _blocks(answer.reply.message)
        ending = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        return _head(asked) | {"content": content, **ending, "usage": _usage(answer)}

    def stream(self, asked: Asked) -> MessageStream:
        """See `Wire`."""
        return MessageStream(asked)

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        kind = ERRORS.get(failure.status, "api_error")
        named = {"type": kind, "message": failure.message, "tracebench": dict(failure.extra)}
        return {"type": "error", "error": named, "request_id": None}


class MessageStream:
    """See `StreamWriter`. One block is open at a time, as Anthropic's clients expect."""

    media_type = EVENTS

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._open: str | None = None
        self._place = -1

    def open(self) -> bytes:
        """See `StreamWriter`."""
        usage = {"input_tokens": 0, "output_tokens": 0}  # counted when the answer is whole; `message_delta` has it
        message = _head(self._asked) | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return event({"type": "message_start", "message": message}, name="message_start")

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """See `StreamWriter`."""
        out = b""
        if text := delta.get("reasoning_content"):
            thought = {"type": "thinking", "thinking": "", "signature": ""}
            out += self._piece("thinking", thought, {"type": "thinking_delta", "thinking": text})
        if text := delta.get("content") or delta.get("refusal"):
            out += self._piece("text", {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            name = {"id": call.get("id") or f"toolu_{uuid4().hex}", "name": function.get("name") or ""}
            block: dict[str, Any] = {"type": "tool_use", **name, "input": {}}
            piece = {"type": "input_json_delta", "partial_json": function.get("arguments") or ""}
            out += self._piece(f"call {call.get('index') or 0}", block, piece)
        return out

    def finish(self, index: int, answer: Answer) -> bytes:
        """See `StreamWriter`."""
        return self._closed()

    def close(self, answers: Sequence[Answer]) -> bytes:
        """See `StreamWriter`."""
        (answer,) = answers
        ending = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        told = {"type": "message_delta", "delta": ending, "usage": _usage(answer)}
        return event(told, name="message_delta") + event({"type": "message_stop"}, name="message_stop")

    def fail(self, failure: Failure) -> bytes:
        """See `StreamWriter`."""
        return event(MessagesWire().error(failure), name="error")

    def _piece(self, key: str, block: Mapping[str, Any], delta: Mapping[str, Any]) -> bytes:
        out = b""
        if key != self._open:
            out = self._closed()
            self._open = key
            self._place += 1
            started = {"type": "content_block_start", "index": self._place, "content_block": block}
            out += event(started, name="content_block_start")
        told = {"type": "content_block_delta", "index": self._place, "delta": delta}
        return out + event(told, name="content_block_delta")

    def _closed(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return event({"type": "content_block_stop", "index": self._place}, name="content_block_stop")


def chat_messages(data: Mapping[str, Any]) -> list[Message]:
    """Return a request's messages in the form of the chat API.

    Raises:
        BadRequest: naming the block that has no such form.
    """
    given = read_messages(data.get("messages"))
    messages: list[Message] = []
    if data.get("system"):
        messages.append({"role": "system", "content": _texts(data["system"], "system")})
    for place, message in enumerate(given):
        if message["role"] not in {"user", "assistant", "system"}:
            raise BadRequest(f"`messages[{place}].role` must be `user` or `assistant`")
        content = message.get("content")
        if isinstance(content, list):
            messages += _translated_blocks(message["role"], content, f"messages[{place}].content")
        else:
            messages.append({"role": message["role"], "content": content})
    return read_messages(messages)


def count_prompt(data: dict[str, Any]) -> int:
    """Return an estimate of the tokens of a request's messages.

    Raises:
        BadRequest: naming the block that has no form in the chat API.
    """
    return estimate_prompt(chat_messages(data), {})


def effort_of(budget: Any, name: str) -> str:
    """Return the effort that a budget of tokens for thought asks for.

    Raises:
        BadRequest: naming the field, when it is no number of tokens.
    """
    if not is_count(budget):
        raise BadRequest(f"`{name}` must be a whole number above 0")
    return next((effort for most, effort in EFFORTS if budget < most), "high")


def _translated_blocks(role: str, blocks: list[dict[str, Any]], where: str) -> list[Message]:
    """Return one message as the chat API has it: results of tools are messages of their own, and come first."""
    results: list[Message] = []
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for block in blocks:
        match block.get("type"):
            case "text" if isinstance(block.get("text"), str):
                parts.append({"type": "text", "text": block["text"]} | _cached(block))
            case "image":
                url = _image(block.get("source"), where)
                parts.append({"type": "image_url", "image_url": {"url": url}} | _cached(block))
            case "tool_use":
                function = {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})}
                calls.append({"id": block.get("id"), "type": "function", "function": function})
            case "tool_result":
                content = _texts(block.get("content") or "", where)
                result = {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": content}
                results.append(result | _cached(block))
            case "thinking" | "redacted_thinking":
                continue  # a model's earlier thoughts are not sent back to it
            case other:
                raise BadRequest(f"`{where}` holds a block that the gateway does not pass on: `{str(other)[:80]}`")
    own: Message = {"role": role, "content": _joined(parts)} | ({"tool_calls": calls} if calls else {})
    return results + ([own] if parts or calls or not results else [])


def _joined(parts: list[dict[str, Any]]) -> Any:
    if all(part.keys() == {"type", "text"} for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _image(source: Any, where: str) -> str:
    if isinstance(source, dict) and source.get("type") == "url" and isinstance(source.get("url"), str):
        return str(source["url"])
    if isinstance(source, dict) and source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    raise BadRequest(f"`{where}` holds an image whose source is neither `base64` nor `url`")


def _texts(content: Any, where: str) -> Any:
    """Return a text, or blocks of text as parts where the provider is to keep what comes before one of them in its cache."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(b, dict) and _is_text(b) for b in content):
        return _joined([{"type": "text", "text": block["text"]} | _cached(block) for block in content])
    raise BadRequest(f"`{where}` must be a text or a list of blocks of text")


def _cached(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mark by which a provider keeps a prompt up to here in its cache."""
    return {"cache_control": block["cache_control"]} if isinstance(block.get("cache_control"), dict) else {}


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type", "text") == "text" and isinstance(block.get("text"), str)


def _translated(data: Mapping[str, Any], offered: Offered) -> dict[str, Any]:
    """Return what this API names otherwise, under the names of the chat API."""
    choice = data.get("tool_choice") or {}
    if not isinstance(choice, dict):
        raise BadRequest("`tool_choice` must be an object")
    forced = str(choice.get("name")) if choice.get("type") == "tool" else None
    refuse_forced(forced, offered, must_call=choice.get("type") in {"any", "tool"})
    return {
        "max_tokens": data.get("max_tokens"),
        "stop": data.get("stop_sequences") or None,
        "tools": offered.functions or None,
        "tool_choice": _tool_choice(choice),
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") is True else None,
        "reasoning_effort": _effort(data.get("thinking")),
    }


def _tool_choice(choice: Mapping[str, Any]) -> Any:
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return {"auto": "auto", "any": "required", "none": "none"}.get(str(choice.get("type")))


def _effort(thinking: Any) -> str | None:
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return None
    return effort_of(thinking.get("budget_tokens"), "thinking.budget_tokens")


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if thought := message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": thought, "signature": ""})
    if text := message.get("content") or message.get("refusal"):
        blocks.append({"type": "text", "text": text})
    blocks.extend(
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input_of(call)}
        for call in tool_calls_of(message)
    )
    return blocks


def _stop_reason(answer: Answer) -> str:
    return STOP_REASONS.get(answer.reply.finish_reason, "end_turn")


def _usage(answer: Answer) -> dict[str, Any]:
    tokens = total([answer])
    return {
        "input_tokens": tokens.prompt - tokens.cached - tokens.written,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.written,
        "output_tokens": tokens.completion,
    }


def _head(asked: Asked) -> dict[str, Any]:
    return {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": asked.model.identity.model}
