"""Streamed messages: one that is whole is sent in pieces, pieces that come are put together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tracebench_gateway.exchange import OnDelta

_PIECE = re.compile(r"\S+\s*|\s+")


async def send_in_pieces(message: dict[str, Any], on_delta: OnDelta) -> None:
    """Pass a whole message on: its text word by word, and what it calls behind it, as models do."""
    await on_delta({name: value for name, value in message.items() if name not in {"content", "tool_calls"}})
    for piece in _PIECE.findall(message.get("content") or ""):
        await on_delta({"content": piece})
    if calls := message.get("tool_calls"):
        await on_delta({"tool_calls": _numbered(calls)})


def text_of_delta(delta: dict[str, Any]) -> str:
    """Return all that a piece says, thoughts and calls of tools included."""
    called = "".join(json.dumps(call.get("function") or {}) for call in delta.get("tool_calls") or ())
    return (delta.get("reasoning_content") or "") + (delta.get("content") or "") + (delta.get("refusal") or "") + called


def kept_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a message, or of a piece of one, what is passed on and kept, in the one form that the chat API has for it.

    Thoughts stand under `reasoning` (OpenRouter, vLLM) or among the parts of the content (Mistral) as well; half a character, which no
    answer can be written with, is replaced.

    Raises:
        TypeError: where a field holds what it cannot.
    """
    thoughts, said = _read(message.get("content"))
    texts = {
        "content": said,
        "reasoning_content": _read(message.get("reasoning_content") or message.get("reasoning"))[1] or thoughts,
        "refusal": _read(message.get("refusal"))[1],
    }
    kept: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = [_call(call) for call in calls]
    return kept | ({"role": str(message["role"])} if message.get("role") else {})


def _read(content: Any) -> tuple[str | None, str | None]:
    """Return the thoughts and the text of a content, which may be a list of parts."""
    if content is None or isinstance(content, str):
        return None, None if content is None else _whole_characters(content)
    thoughts, said = [], []
    for part in content:
        if part.get("type") == "thinking":
            thoughts.append(_read(part.get("thinking"))[1] or "")
        else:
            said.append(_read(part.get("text"))[1] or "")
    return "".join(thoughts) or None, "".join(said)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call of a tool, or a piece of one, with texts where texts belong; some servers send arguments as an object."""
    function = dict(call.get("function") or {})
    if function.get("arguments") is not None and not isinstance(function["arguments"], str):
        function["arguments"] = json.dumps(function["arguments"])
    texts = [function.get("name"), function.get("arguments"), call.get("id")]
    if not all(text is None or isinstance(text, str) for text in texts) or not isinstance(call.get("index") or 0, int):
        raise TypeError("a call of a tool has a name, arguments and an id that are texts")
    for name in ("name", "arguments"):
        if function.get(name):
            function[name] = _whole_characters(function[name])
    return {**call, "function": function}


def _whole_characters(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _numbered(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of tools of a whole message as pieces of a stream have them."""
    return [{"index": index} | call for index, call in enumerate(calls)]


class StreamedMessage:
    """Collects the pieces of one streamed message."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": [], "refusal": []}
        self._tools: dict[int, dict[str, Any]] = {}

    async def add(self, delta: dict[str, Any], on_delta: OnDelta) -> None:
        """Take a piece, and pass it on if it says anything."""
        kept = kept_message(delta)
        for name, texts in self._texts.items():
            texts.append(kept.get(name) or "")
        for call in kept.get("tool_calls") or ():
            self._merge(call)
        if kept.keys() - {"role"} and any(kept[name] for name in kept if name != "role"):
            await on_delta(kept)

    @property
    def text(self) -> str:
        """What was said up to now."""
        return "".join(self._texts["content"])

    def whole(self) -> dict[str, Any]:
        """Return the message as it is up to now."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._texts["content"])}
        for name in ("reasoning_content", "refusal"):
            if text := "".join(self._texts[name]):
                message[name] = text
        if self._tools:
            message["tool_calls"] = [self._tools[index] for index in sorted(self._tools)]
        return message

    def _merge(self, piece: dict[str, Any]) -> None:
        empty = {"type": "function", "function": {"name": "", "arguments": ""}}
        whole = self._tools.setdefault(piece.get("index") or 0, empty)
        if piece.get("id"):
            whole["id"] = piece["id"]
        for name in ("name", "arguments"):
            whole["function"][name] += (piece.get("function") or {}).get(name) or ""
