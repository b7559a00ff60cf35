"""How prompts show values and want to be answered: the format of Trace-Bench's own proposers, those that installed plugins teach the stub
model, and a fenced text."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from tracebench_core.contracts import StubFormat
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.specs import Message, Values

Change = Callable[[Values], Values]
"""Makes new values of the parameters that a prompt shows, which may be some of them."""
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
FENCED = re.compile(r"```[ \w]*\n(.*?)\n?```", re.DOTALL)


def answer(
    messages: Sequence[Message],
    names: Sequence[str],
    change: Change,
    rng: random.Random,
    *,
    whose: Callable[[Any], str | None] = lambda _: None,
) -> str | None:
    """Return an answer in the format of a prompt, or None where it shows nothing that is known, or not which parameter it shows.

    Args:
        messages: the chat.
        names: of the field's parameters; a format may show one with a number behind it.
        change: what is made of the values that are shown.
        rng: what a format may draw from.
        whose: tells the parameter that has a value, where a format shows it under a name of its own; left out, such a value is not known.
    """
    prompt = "\n".join(text_of(m.get("content")) for m in messages)
    shown = shown_values(prompt)
    if shown is not None:
        new = change({k: v for k, v in shown.items() if k in names})
        return json.dumps(
            {"reasoning": "A rule, not a thought.", "values": {k: v for k, v in new.items() if k in shown}}
        )

    unknown: list[str] = []

    def propose(values: Mapping[str, Any], _hints: Mapping[str, Mapping[str, Any]] | None = None, /) -> dict[str, Any]:
        meant = {_parameter(name, names, len(values)) or whose(values[name]): name for name in values}
        meant.pop(None, None)
        if not meant:
            unknown.extend(values)
            return {}
        new = change({own: _read(values[name]) for own, name in meant.items() if own})
        return {name: _like(values[name], new[own]) for own, name in meant.items() if own}

    for taught in _taught():
        said = taught(messages, rng, propose)
        if said is not None:
            return None if unknown else said
    blocks = FENCED.findall(prompt)
    if len(names) == 1 and blocks:
        return f"```\n{change({names[0]: blocks[0]})[names[0]]}\n```"
    return None


def text_of(content: Any) -> str:
    """Return the text of a message's content, which may come in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(p.get("text", "")) for p in parts if isinstance(p, Mapping))


@cache
def _taught() -> tuple[StubFormat, ...]:
    """Return the formats that installed plugins teach the stub model. A plugin that is broken teaches none."""
    found: list[tuple[str, StubFormat]] = []
    for point in entry_points(group="tracebench"):
        try:
            for spec in getattr(point.load(), "tracebench_stub_formats", tuple)():
                module, _, attribute = spec.loader.partition(":")
                if spec.role == "optimizer":
                    found.append((spec.name, getattr(import_module(module), attribute)))
        except Exception:  # noqa: BLE001, S112 - it costs only itself, and `trace-bench plugins` says why
            continue
    return tuple(taught for _, taught in sorted(found, key=lambda pair: pair[0]))


def _parameter(shown: str, names: Sequence[str], count: int) -> str | None:
    """Return the parameter that a shown name means: itself, or without what a framework put around it."""
    for name in (shown, shown.strip("_"), shown.rstrip("0123456789").strip("_")):
        if name in names:
            return name
    return names[0] if len(names) == count == 1 else None


def _read(value: Any) -> Any:
    """Return what a shown text of JSON holds, where it does not stand for a text."""
    if isinstance(value, str) and (value.strip()[:1] in ("[", "{") or NUMBER.fullmatch(value.strip())):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _like(shown: Any, new: Any) -> Any:
    """Return a new value in the form in which the old one was shown."""
    return json.dumps(new) if isinstance(shown, str) and not isinstance(new, str) else new
