"""`POST /v1/responses`: OpenAI's newer API. Each request carries its whole conversation: nothing is kept between requests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tracebench_core.specs import LLMConfig, Message
from tracebench_gateway.server.errors import Failure, error_body
from tracebench_gateway.server.requests.asked import Asked, choose_model, with_defaults
from tracebench_gateway.server.requests.fields import LEFT_OUT, left_out_of, read_flag, read_messages, take_fields
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.base import EVENTS, Answer, arguments_of, event, tool_calls_of, total
from tracebench_gateway.server.wire.tools import Offered, of_functions, read_functions, refuse_forced
from tracebench_gateway.tokens import Claims

DROPPED = LEFT_OUT | {"include", "truncation", "client_metadata", "max_tool_calls"}
OWN = DROPPED | {
    "model", "input", "instructions", "stream", "stream_options", "max_output_tokens", "text", "reasoning", "tools", "tool_choice",
    "background", "extra_body", "previous_response_id", "conversation", "prompt"
}  # fmt: skip
KEPT_NOWHERE = ("previous_response_id", "conversation", "prompt", "background")
"""What would need something kept between requests; the gateway keeps nothing."""
PART_TYPES = {"input_text", "output_text", "text", "refusal"}


class ResponsesWire:
    """See `Wire`."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        model = choose_model(data.get("model"), claims)
        for name in KEPT_NOWHERE:
            if data.get(name):
                raise BadRequest(f"`{name}` needs what earlier requests left; send the whole conversation as `input`")
        given = take_fields(
            {k: v for k, v in data.items() if k not in {"reasoning", "tools", "tool_choice"}}, known=OWN
        )
        offered = read_functions(data.get("tools"))
        given = of_functions(given | take_fields(_translated(data, offered)))
        return Asked(
            model=model,
            conversations=[_messages(data)],
            sampling=with_defaults(given, model, claims=claims, llm=llm),
            stream=read_flag(data, "stream"),
            left_out=(*left_out_of(data, DROPPED), *offered.left_out),
            own={
                name: data.get(name)
                for name in ("instructions", "max_output_tokens", "tools", "tool_choice", "metadata")
            }
            | {"namespaces": offered.namespaces},
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        (answer,) = answers
        return _response(asked, f"resp_{uuid4().hex}", _items(answer.reply.message, asked), answer)

    def stream(self, asked: Asked) -> ResponseStream:
        """See `Wire`."""
        return ResponseStream(asked)

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        return error_body(failure)


class ResponseStream:
    """See `StreamWriter`. Items are opened as their first piece comes, and closed with the answer."""

    media_type = EVENTS

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._id = f"resp_{uuid4().hex}"
        self._sent = 0
        self._items: dict[str, dict[str, Any]] = {}

    def open(self) -> bytes:
        """See `StreamWriter`."""
        begun = {"response": _response(self._asked, self._id, [], None)}
        return self._event("response.created", begun) + self._event("response.in_progress", begun)

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """See `StreamWriter`."""
        out = b""
        if text := delta.get("reasoning_content"):
            out += self._said("reasoning", "response.reasoning_text.delta", text)
        if text := delta.get("content") or delta.get("refusal"):
            out += self._said("message", "response.output_text.delta", text)
        for call in delta.get("tool_calls") or ():
            out += self._called(call)
        return out

    def finish(self, index: int, answer: Answer) -> bytes:
        """See `StreamWriter`."""
        return b"".join(self._closed(place, item) for place, item in enumerate(self._items.values()))

    def close(self, answers: Sequence[Answer]) -> bytes:
        """See `StreamWriter`."""
        response = _response(self._asked, self._id, list(self._items.values()), answers[0])
        return self._event(f"response.{response['status']}", {"response": response})

    def fail(self, failure: Failure) -> bytes:
        """See `StreamWriter`."""
        error = {"code": failure.kind, "message": failure.message, "param": None}
        return self._event("error", error)

    def _said(self, kind: str, name: str, text: str) -> bytes:
        out = b""
        if kind not in self._items:
            item = _message_item("") if kind == "message" else _reasoning_item("")
            out = self._opened(kind, item)
            if kind == "message":
                out += self._event(
                    "response.content_part.added", self._at(kind, content_index=0, part=item["content"][0])
                )
        self._items[kind]["content"][0]["text"] += text
        extra: dict[str, Any] = {"logprobs": []} if kind == "message" else {}
        return out + self._event(name, self._at(kind, content_index=0, delta=text, **extra))

    def _called(self, call: Mapping[str, Any]) -> bytes:
        key = f"call {call.get('index') or 0}"
        function = call.get("function") or {}
        out = b""
        if key not in self._items:
            item = _call_item(call.get("id") or f"call_{uuid4().hex}", function.get("name") or "", "", self._asked)
            out = self._opened(key, item)
        elif function.get("name"):
            self._items[key]["name"] += function["name"]
        if piece := function.get("arguments"):
            self._items[key]["arguments"] += piece
            out += self._event("response.function_call_arguments.delta", self._at(key, delta=piece))
        return out

    def _opened(self, key: str, item: dict[str, Any]) -> bytes:
        self._items[key] = item
        shown = item | {"status": "in_progress"} | ({"content": []} if key == "message" else {})
        return self._event("response.output_item.added", {"output_index": len(self._items) - 1, "item": shown})

    def _closed(self, place: int, item: dict[str, Any]) -> bytes:
        out = b""
        at = {"item_id": item["id"], "output_index": place}
        if item["type"] == "message":
            part = item["content"][0]
            out += self._event(
                "response.output_text.done", at | {"content_index": 0, "text": part["text"], "logprobs": []}
            )
            out += self._event("response.content_part.done", at | {"content_index": 0, "part": part})
        elif item["type"] == "reasoning":
            out += self._event(
                "response.reasoning_text.done", at | {"content_index": 0, "text": item["content"][0]["text"]}
            )
        else:
            done = {"arguments": item["arguments"], "name": item["name"]}
            out += self._event("response.function_call_arguments.done", at | done)
        return out + self._event("response.output_item.done", {"output_index": place, "item": item})

    def _at(self, key: str, **fields: Any) -> dict[str, Any]:
        return {"item_id": self._items[key]["id"], "output_index": list(self._items).index(key), **fields}

    def _event(self, kind: str, data: Mapping[str, Any]) -> bytes:
        self._sent += 1
        return event({"type": kind, "sequence_number": self._sent - 1, **data}, name=kind)


def _messages(data: Mapping[str, Any]) -> list[Message]:
    given = data.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) and given else given
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise BadRequest("`input` must be a text or a non-empty list of objects")
    messages: list[Message] = []
    if data.get("instructions"):
        messages.append({"role": "system", "content": data["instructions"]})
    for place, item in enumerate(items):
        match item.get("type", "message"):
            case "message":
                messages.append({"role": item.get("role"), "content": _content(item.get("content"), place)})
            case "function_call":
                _append_call(messages, item)
            case "function_call_output":
                output = _content(item.get("output"), place)
                messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": output})
            case "reasoning":
                continue  # a model's earlier thoughts are not sent back to it
            case other:
                raise BadRequest(
                    f"`input[{place}]` is of a type that the gateway does not pass on: `{str(other)[:80]}`"
                )
    return read_messages(messages, "input")


def _append_call(messages: list[Message], item: Mapping[str, Any]) -> None:
    """Add a call of a tool to the assistant's message that it belongs to."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    call = {"id": item.get("call_id"), "type": "function", "function": function}
    messages[-1].setdefault("tool_calls", []).append(call)


def _content(content: Any, place: int) -> Any:
    if not isinstance(content, list):
        return content
    parts: list[dict[str, Any]] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in PART_TYPES:
            parts.append({"type": "text", "text": part.get("text") or part.get("refusal") or ""})
        elif kind == "input_image" and part.get("image_url"):
            parts.append(
                {"type": "image_url", "image_url": {"url": part["image_url"], "detail": part.get("detail") or "auto"}}
            )
        else:
            raise BadRequest(
                f"`input[{place}].content` holds a part that the gateway does not pass on: `{str(kind)[:80]}`"
            )
    if not all(isinstance(part.get("text", ""), str) for part in parts):
        raise BadRequest(f"`input[{place}].content` holds a text that is none")
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _translated(data: Mapping[str, Any], offered: Offered) -> dict[str, Any]:
    """Return what this API names otherwise, under the names of the chat API."""
    text, reasoning = data.get("text") or {}, data.get("reasoning") or {}
    if not isinstance(text, dict) or not isinstance(reasoning, dict):
        raise BadRequest("`text` and `reasoning` must be objects")
    return {
        "max_tokens": data.get("max_output_tokens"),
        "reasoning_effort": reasoning.get("effort"),
        "verbosity": text.get("verbosity"),
        "response_format": _format(text.get("format")),
        "tools": offered.functions or None,
        "tool_choice": _tool_choice(data.get("tool_choice"), offered),
    }


def _format(given: Any) -> Any:
    if not isinstance(given, dict) or given.get("type") == "text":
        return None
    if given.get("type") != "json_schema":
        return given
    return {"type": "json_schema", "json_schema": {k: v for k, v in given.items() if k != "type"}}


def _tool_choice(given: Any, offered: Offered) -> Any:
    if not isinstance(given, dict):
        refuse_forced(None, offered, must_call=given == "required")
        return given
    kind = given.get("type")
    if kind == "allowed_tools":
        refuse_forced(None, offered, must_call=given.get("mode") == "required")
        return given.get("mode")
    refuse_forced(str(given.get("name") or kind), offered, must_call=True)
    return {"type": "function", "function": {"name": given.get("name")}} if kind == "function" else given


def _items(message: Mapping[str, Any], asked: Asked) -> list[dict[str, Any]]:
    items = [_reasoning_item(message["reasoning_content"])] if message.get("reasoning_content") else []
    text, calls = message.get("content") or message.get("refusal") or "", tool_calls_of(message)
    if text or not calls:
        items.append(_message_item(text))
    return items + [_call_item(call["id"], call["function"]["name"], arguments_of(call), asked) for call in calls]


def _message_item(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _reasoning_item(text: str) -> dict[str, Any]:
    content = [{"type": "reasoning_text", "text": text}]
    return {"id": f"rs_{uuid4().hex}", "type": "reasoning", "summary": [], "status": "completed", "content": content}


def _call_item(call_id: str, name: str, arguments: str, asked: Asked) -> dict[str, Any]:
    named = {"call_id": call_id, "name": name, "arguments": arguments}
    if name in asked.own["namespaces"]:
        named["namespace"] = asked.own["namespaces"][name]
    return {"id": f"fc_{uuid4().hex}", "type": "function_call", "status": "completed", **named}


def _response(asked: Asked, name: str, output: list[dict[str, Any]], answer: Answer | None) -> dict[str, Any]:
    cut = answer is not None and answer.reply.finish_reason == "length"
    sampling, own = asked.sampling, asked.own
    return {
        "id": name,
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress" if answer is None else "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": own["instructions"],
        "max_output_tokens": own["max_output_tokens"],
        "metadata": own["metadata"] or {},
        "model": asked.model.identity.model,
        "output": output,
        "parallel_tool_calls": sampling.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": {"effort": sampling.get("reasoning_effort"), "summary": None},
        "store": False,
        "temperature": sampling.get("temperature"),
        "text": {"format": {"type": "text"}},
        "tool_choice": own["tool_choice"] or "auto",
        "tools": own["tools"] or [],
        "top_p": sampling.get("top_p"),
        "truncation": "disabled",
        "usage": None if answer is None else _usage(answer),
        "user": None,
    }


def _usage(answer: Answer) -> dict[str, Any]:
    tokens = total([answer])
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.written},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt + tokens.completion,
    }
