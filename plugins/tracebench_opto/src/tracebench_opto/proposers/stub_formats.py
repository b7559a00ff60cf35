"""How the stub model answers Trace's optimizers: OptoPrime and OPRO, their XML versions, and TextGrad. It is no language model."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Sequence
from typing import Any

from tracebench_core.contracts import Propose
from tracebench_core.specs import Message

REASONING = "Seed-determined mutation by the stub model."

_SECTION = re.compile(
    r"^#Variables[ \t]*\n(.*?)(?=^#(?:Constraints|Inputs|Others|Outputs|Feedback)\b|\Z)", re.DOTALL | re.MULTILINE
)
_ENTRY = re.compile(r"^\((\w+)\) (.+?)([=:])", re.MULTILINE)


def suggestion(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer with a JSON object with `suggestion`, to a prompt with a `#Variables` section or with examples of `variables`."""
    prompt = _prompt(messages)
    if '"suggestion"' not in prompt:
        return None
    values, hints = _variables_section(prompt)
    answer = {"reasoning": REASONING, "answer": "", "suggestion": propose(values or _last_example(prompt), hints)}
    return json.dumps(answer, ensure_ascii=False)


def tagged_variables(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer with `<variable><name><value>` elements, to variables shown as `<variable name= type=>` elements."""
    prompt = _prompt(messages)
    if not re.search(r"<variable>\s*<name>", prompt):
        return None
    section = prompt[max(prompt.rfind("# Variables"), prompt.rfind("# Solution"), 0) :]
    pattern = r'<variable\s+name="([^"]+)"\s+type="([^"]*)"\s*>\s*<value>\n?(.*?)\n?\s*</value>'
    shown = re.findall(pattern, section, flags=re.DOTALL)
    new = propose(
        {name: _typed(text, kind) for name, kind, text in shown}, {name: _hint(kind) for name, kind, _ in shown}
    )
    variables = (f"<variable>\n<name>{n}</name>\n<value>\n{value}\n</value>\n</variable>" for n, value in new.items())
    return "\n".join([f"<reasoning>\n{REASONING}\n</reasoning>", *variables])


def improved_variable(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer between `<IMPROVED_VARIABLE>` tags, to one variable between `<VARIABLE>` tags."""
    prompt = _prompt(messages)
    if "<IMPROVED_VARIABLE>" not in prompt:
        return None
    shown = re.findall(r"<VARIABLE>(.*?)</VARIABLE>", prompt, flags=re.DOTALL)
    value = _literal_number(shown[-1].strip() if shown else "")
    return f"<IMPROVED_VARIABLE>{propose({'variable': value}).get('variable', value)}</IMPROVED_VARIABLE>"


def _prompt(messages: Sequence[Message]) -> str:
    return "\n\n".join(text for message in messages if isinstance(text := message.get("content"), str))


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
