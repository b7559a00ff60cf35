"""Streamed messages: one that is whole is sent in pieces, pieces that come are put together."""

from __future__ import annotations

import re
from typing import Any

from tracebench_core.llm.exchange import OnDelta

DELTA_FIELDS = frozenset({"role", "content", "tool_calls"})
"""Of a streamed message, what is passed on and kept."""
_PIECE = re.compile(r"\S+\s*|\s+")


async def send_in_pieces(message: dict[str, Any], on_delta: OnDelta) -> None:
    """Pass a whole message on, its text word by word."""
    await on_delta({k: v for k, v in message.items() if k != "content"})
    for piece in _PIECE.findall(message.get("content") or ""):
        await on_delta({"content": piece})


class StreamedMessage:
    """Collects the pieces of one streamed message."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._tools: dict[int, dict[str, Any]] = {}

    async def add(self, delta: dict[str, Any], on_delta: OnDelta) -> None:
        """Take a piece, and pass it on if it says anything."""
        kept = {name: delta[name] for name in DELTA_FIELDS & delta.keys() if delta[name] is not None}
        self._texts.append(kept.get("content") or "")
        for call in kept.get("tool_calls") or ():
            self._merge(call)
        if kept.get("content") or kept.get("tool_calls"):
            await on_delta(kept)

    def whole(self) -> dict[str, Any]:
        """Return the message as it is up to now."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._texts)}
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
