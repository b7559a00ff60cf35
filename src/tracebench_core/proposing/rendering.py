"""Values as text for a prompt: the same text for the same value, in every process."""

from __future__ import annotations

import json
from typing import Any


def as_text(value: Any) -> str:
    """Return text as it is, and anything else as JSON with sorted keys; what JSON does not know is named by its type."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=_foreign)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def cut(text: str, limit: int) -> str:
    """Return `text` with at most `limit` of its characters, and a mark where the rest was."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit} more characters)"


def score_text(score: float | None) -> str:
    """Return a score in six digits; None was not measured, and zero has no sign."""
    return "not measured" if score is None else f"{score + 0.0:.6g}"


def _foreign(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else f"<{type(value).__name__}>"
