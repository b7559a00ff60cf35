"""Streams a message that is already whole."""

from __future__ import annotations

import re
from typing import Any

from tracebench_core.llm.exchange import OnDelta

_PIECE = re.compile(r"\S+\s*|\s+")


async def send_in_pieces(message: dict[str, Any], on_delta: OnDelta) -> None:
    """Pass a whole message on, its text word by word."""
    await on_delta({k: v for k, v in message.items() if k != "content"})
    for piece in _PIECE.findall(message.get("content") or ""):
        await on_delta({"content": piece})
