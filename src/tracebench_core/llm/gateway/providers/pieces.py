"""Streamed messages: one that is whole is sent in pieces, pieces that come are put together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tracebench_core.llm.exchange import OnDelta

DELTA_FIELDS = frozenset({"role", "content", "tool_calls", "reasoning_content", "refusal"})
"""Of a streamed message, what is passed on and kept."""
_PIECE = re.compile(r"\S+\s*|\s+")


async def send_in_pieces(message: dict[str, Any], on_delta: OnDelta) -> None:
    """Pass a whole message on, its text word by word."""
    await on_delta({k: _numbered(v) if k == "tool_calls" else v for k, v in message.items() if k != "content"})
    for piece in _PIECE.findall(message.get("content") or ""):
        await on_delta({"content": piece})


def text_of_delta(delta: dict[str, Any]) -> str:
    """Return all that a piece says, thoughts and calls of tools included."""
    called = "".join(json.dumps(call.get("function") or {}) for call in delta.get("tool_calls") or ())
    return (delta.get("reasoning_content") or "") + (delta.get("content") or "") + (delta.get("refusal") or "") + called


def kept_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a message, or of a piece of one, what is passed on and kept."""
    if message.get("reasoning") and not message.get("reasoning_content"):  # as OpenRouter and vLLM call it
        message = {**message, "reasoning_content": message["reasoning"]}
    return {name: message[name] for name in sorted(DELTA_FIELDS & message.keys()) if message[name] is not None}


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
