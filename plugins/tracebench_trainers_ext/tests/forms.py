"""How the libraries show a model the text that is to be improved, and in which form they read its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

SECTION = re.compile(r"^### PARAMETER (\w+)\n(.*?)(?=^### PARAMETER |\Z)", re.MULTILINE | re.DOTALL)
"""One of several parameters in a file."""
SHOWN = (
    re.compile(r"<VARIABLE>(.*?)</VARIABLE>", re.DOTALL),
    re.compile(r"^#+ Current (?:Program|Solution)\s*\n```\w*\n(.*?)\n```", re.DOTALL | re.MULTILINE),
    re.compile(r"Current (?:Program|Solution).*?```\w*\n(.*?)\n```", re.DOTALL),
    re.compile(r"^# (?:Current program|Incorrect Program to Fix)\n.*?```\w*\n(.*?)\n```", re.DOTALL | re.MULTILINE),
    re.compile(r"\[\[ ## (?:basic|attempted|current)_instructions? ## \]\]\n(?!\{)(.*?)\n\n", re.DOTALL),
    re.compile(r"```\w*\n(.*?)\n```", re.DOTALL),
)


def written(messages: list[dict[str, Any]]) -> str:
    """Return the text of all messages."""
    return "\n\n".join(str(m.get("content") or "") for m in messages)


def shown(prompt: str) -> str | None:
    """Return the text that a prompt wants improved, or None where it shows none."""
    return next((found[1].strip() for form in SHOWN if (found := form.search(prompt))), None)


def in_form(prompt: str, text: str, rule: str = "") -> str:
    """Write an answer down as the library that asks can read it: a new text, or a rule that is to be added to the old."""
    return next(write for marker, write in FORMS.items() if marker in prompt)(prompt, text, rule)


def _evolved(_prompt: str, text: str, _rule: str) -> str:
    code = f"# EVOLVE-BLOCK-START\n{text.rstrip()}\n# EVOLVE-BLOCK-END\n"
    return f"<NAME>\nnext\n</NAME>\n<DESCRIPTION>\nnext\n</DESCRIPTION>\n<CODE>\n```python\n{code}```\n</CODE>"


def _advice(prompt: str, _text: str, rule: str) -> str:
    advice = json.dumps(dict.fromkeys(re.findall(r"^Module (\w+)$", prompt, re.MULTILINE), rule))
    return f"[[ ## discussion ## ]]\nA rule.\n\n[[ ## module_advice ## ]]\n{advice}\n\n[[ ## completed ## ]]\n"


def _json(prompt: str, text: str, _rule: str) -> str:
    asked = prompt.rpartition("Respond with a JSON object")[2]
    return json.dumps(dict.fromkeys(re.findall(r"`(\w+)`", asked), text))


def _fields(prompt: str, text: str, _rule: str) -> str:
    fields = dict.fromkeys(re.findall(r"\[\[ ## (\w+) ## \]\]", prompt))
    return "\n\n".join(f"[[ ## {field} ## ]]\n{'' if field == 'completed' else text}" for field in fields)


FORMS: Mapping[str, Callable[[str, str, str], str]] = {
    "<OBJECTIVE_INSTRUCTION>": lambda _prompt, _text, _rule: "The form of the answer is not what was asked for.",
    "<proposed_variable>": lambda _prompt, text, _rule: (
        f"<response><reasoning>r</reasoning><method>m</method><proposed_variable>{text}</proposed_variable></response>"
    ),
    "<IMPROVED_VARIABLE>": lambda _prompt, text, _rule: f"<IMPROVED_VARIABLE>{text}</IMPROVED_VARIABLE>",
    "<CODE>": _evolved,
    "[[ ## module_advice ## ]]": _advice,
    "Respond with a JSON object": _json,
    "[[ ## ": _fields,
    "": lambda _prompt, text, _rule: f"```{'python' if 'def ' in text else ''}\n{text.rstrip()}\n```",
}
"""By what a prompt of the form holds; the first that fits. `<OBJECTIVE_INSTRUCTION>` asks for a gradient in words."""
