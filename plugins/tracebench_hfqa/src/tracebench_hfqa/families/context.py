"""The text that a question is asked about, from the shapes in which data sets keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tracebench_hfqa.families.family import Fields, RowError, column

USUAL = ("context", "passage")


def paragraphs(row: Mapping[str, Any], fields: Fields) -> str:
    """Return the context: titled paragraphs, one a block, or plain text as it is; nothing for format `none`.

    Raises:
        RowError: when the column is missing or is not of the declared format.
    """
    if fields.context_format == "none":
        return ""
    name = fields.context or next((n for n in USUAL if n in row), USUAL[0])
    raw = column(row, name)
    try:
        if fields.context_format == "hotpot_qa":
            return _blocks(_hotpot(raw))
        if fields.context_format == "musique":
            return _blocks((p["title"], p["paragraph_text"]) for p in raw)
    except (KeyError, TypeError, ValueError, IndexError) as err:
        raise RowError(f"holds no context of format `{fields.context_format}` in column `{name}`") from err
    return raw if isinstance(raw, str) else str(raw or "")


def _hotpot(raw: Any) -> Iterable[tuple[str, str]]:
    """Accept the hub's two parallel lists and the authors' list of pairs."""
    pairs = zip(raw["title"], raw["sentences"], strict=True) if isinstance(raw, Mapping) else raw
    return [(str(title), "".join(sentences)) for title, sentences in pairs]


def _blocks(titled: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"[{title}] {body.strip()}" for title, body in titled)
