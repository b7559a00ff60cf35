"""The answer format of our own proposers: the section that shows current values, and the JSON object that answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.specs import Parameter

OPEN_VALUES, CLOSE_VALUES = "<current_values>", "</current_values>"
ANSWER_FORMAT = """\
Answer with one JSON object and nothing else:
{"reasoning": "<why these changes should help>", "values": {"<name>": <new value>, ...}}
`values` holds only names shown between <current_values> and </current_values>, each with a value of the same JSON type;
a name that you leave out keeps its value."""


def render_values(values: Mapping[str, Any]) -> str:
    """Return the section of a prompt that shows the current values, as JSON between its two lines."""
    body = json.dumps(dict(values), indent=2, ensure_ascii=False)
    return f"{OPEN_VALUES}\n{body}\n{CLOSE_VALUES}"


def shown_values(prompt: str) -> dict[str, Any] | None:
    """Return the values that the last such section of a prompt shows, or None without one."""
    sections: list[list[str]] = []
    begun: list[str] | None = None
    for line in prompt.split("\n"):
        if begun is None:
            begun = [] if line.rstrip() == OPEN_VALUES else None
        elif line.rstrip() == CLOSE_VALUES:
            sections.append(begun)
            begun = None
        else:
            begun.append(line)
    for body in reversed(sections):
        values = _object("\n".join(body))
        if values is not None:
            return values
    return None


def describe(parameters: Sequence[Parameter]) -> str:
    """Return one line per parameter with its kind, bounds and description, for a prompt."""
    return "\n".join(
        f"- {p.name} ({', '.join(_facts(p))}){f': {p.description}' if p.description else ''}" for p in parameters
    )


def _facts(parameter: Parameter) -> list[str]:
    facts: list[str] = [parameter.kind]
    if parameter.minimum is not None:
        facts.append(f"at least {parameter.minimum:g}")
    if parameter.maximum is not None:
        facts.append(f"at most {parameter.maximum:g}")
    if parameter.choices:
        facts.append(f"one of {json.dumps(list(parameter.choices), ensure_ascii=False)}")
    if parameter.max_length is not None:
        facts.append(f"at most {parameter.max_length} characters")
    if parameter.signature:
        facts.append(f"must keep `{parameter.signature}`")
    return facts


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text.strip(), strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
