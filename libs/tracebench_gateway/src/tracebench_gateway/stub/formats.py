"""The stub's own answer formats: that of our proposers, and fenced code. Each is a function from a prompt to a draft, or None."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.proposing.answer_format import shown_values
from tracebench_gateway.stub.mutate import looks_like_code

REASONING = "Seed-determined mutation by the stub model."


@dataclass(frozen=True, slots=True)
class Draft:
    """The current values that a prompt shows, and how an answer with new ones is written."""

    values: dict[str, Any]
    render: Callable[[Mapping[str, Any]], str]
    hints: dict[str, dict[str, Any]] = field(default_factory=dict)


def current_values(prompt: str) -> Draft | None:
    """Our own format: a JSON section, answered by a JSON object with `values`."""
    values = shown_values(prompt)
    if values is None:
        return None
    return Draft(values, lambda new: json.dumps({"reasoning": REASONING, "values": dict(new)}, ensure_ascii=False))


def fenced_code(prompt: str) -> Draft | None:
    """A fenced block of code that is to come back improved."""
    blocks = re.findall(r"```[ \t]*(\w*)[ \t]*\n(.*?)```", prompt, flags=re.DOTALL)
    blocks = [(language, code) for language, code in blocks if looks_like_code(code)]
    if not blocks:
        return None
    language, code = blocks[-1]

    def render(new: Mapping[str, Any]) -> str:
        return f"```{language or 'python'}\n{str(new.get('code', code)).rstrip()}\n```"

    return Draft({"code": code}, render, {"code": {"kind": "code"}})
