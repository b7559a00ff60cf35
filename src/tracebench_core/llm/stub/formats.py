"""The answer formats that optimizers ask for, most telling first. Each is a function from a prompt to a draft, or None."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.llm.answer_format import shown_values
from tracebench_core.llm.stub.mutate import looks_like_code

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


def improved_variable(prompt: str) -> Draft | None:
    """One variable between `<VARIABLE>` tags, answered between `<IMPROVED_VARIABLE>` tags."""
    if "<IMPROVED_VARIABLE>" not in prompt:
        return None
    shown = re.findall(r"<VARIABLE>(.*?)</VARIABLE>", prompt, flags=re.DOTALL)
    text = shown[-1].strip() if shown else ""
    value = _literal_number(text)

    def render(new: Mapping[str, Any]) -> str:
        return f"<IMPROVED_VARIABLE>{new.get('variable', value)}</IMPROVED_VARIABLE>"

    return Draft({"variable": value}, render)


def tagged_variables(prompt: str) -> Draft | None:
    """Variables shown as `<variable name= type=>` elements, answered as `<variable><name><value>` elements."""
    if not re.search(r"<variable>\s*<name>", prompt):
        return None
    section = prompt[max(prompt.rfind("# Variables"), prompt.rfind("# Solution"), 0) :]
    pattern = r'<variable\s+name="([^"]+)"\s+type="([^"]*)"\s*>\s*<value>\n?(.*?)\n?\s*</value>'
    values: dict[str, Any] = {}
    hints: dict[str, dict[str, Any]] = {}
    for name, kind, text in re.findall(pattern, section, flags=re.DOTALL):
        values[name] = _typed(text, kind)
        hints[name] = _hint(kind)
    return Draft(values, _render_tags, hints)


def suggestion(prompt: str) -> Draft | None:
    """A JSON object with `suggestion`, to a prompt with a `#Variables` section or with examples of `variables`."""
    if '"suggestion"' not in prompt:
        return None
    values, hints = _variables_section(prompt)
    if not values:
        values = _last_example(prompt)

    def render(new: Mapping[str, Any]) -> str:
        answer = {"reasoning": REASONING, "answer": "", "suggestion": dict(new)}
        return json.dumps(answer, ensure_ascii=False)

    return Draft(values, render, hints)


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


FORMATS: tuple[Callable[[str], Draft | None], ...] = (
    current_values,
    improved_variable,
    tagged_variables,
    suggestion,
    fenced_code,
)

_SECTION = re.compile(
    r"^#Variables[ \t]*\n(.*?)(?=^#(?:Constraints|Inputs|Others|Outputs|Feedback)\b|\Z)", re.DOTALL | re.MULTILINE
)
_ENTRY = re.compile(r"^\((\w+)\) (.+?)([=:])", re.MULTILINE)


def _variables_section(prompt: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Read `(float) x0=2.0` and `(code) __code0:def …`; a value reaches to the next entry."""
    sections = _SECTION.findall(prompt)
    values: dict[str, Any] = {}
    hints: dict[str, dict[str, Any]] = {}
    if sections:
        entries = list(_ENTRY.finditer(sections[-1]))
        for entry, following in zip(entries, [*entries[1:], None], strict=True):
            kind, name, _ = entry.groups()
            end = following.start() if following else len(sections[-1])
            values[name] = _typed(sections[-1][entry.end() : end].rstrip("\n"), kind)
            hints[name] = _hint(kind)
    return values, hints


def _last_example(prompt: str) -> dict[str, Any]:
    """Return the values of the last `{"variables": {name: value}}` object; a value may be wrapped in `{"value": …}`."""
    decoder = json.JSONDecoder(strict=False)
    for match in reversed(list(re.finditer(r'\{\s*"variables"', prompt))):
        try:
            example, _ = decoder.raw_decode(prompt, match.start())
        except ValueError:
            continue
        shown = example["variables"]
        if isinstance(shown, dict):
            return {name: _unwrapped(value) for name, value in shown.items()}
    return {}


def _unwrapped(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _render_tags(new: Mapping[str, Any]) -> str:
    variables = (
        f"<variable>\n<name>{name}</name>\n<value>\n{value}\n</value>\n</variable>" for name, value in new.items()
    )
    return "\n".join([f"<reasoning>\n{REASONING}\n</reasoning>", *variables])


def _hint(kind: str) -> dict[str, Any]:
    return {"kind": "code"} if kind == "code" else {"kind": "text"} if kind == "str" else {}


def _typed(text: str, kind: str) -> Any:
    """Read a value that was printed by Python; a text stays as it is."""
    if kind in {"str", "code"}:
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


def _literal_number(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | bool) else text
