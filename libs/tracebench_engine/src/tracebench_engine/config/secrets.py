"""Keys that were written into a config: recognised by their names and by their looks, and never repeated on a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tracebench_engine.config.problems import KEY, Loc

_PLAIN = re.compile(
    r"(.*_)?(api_?keys?|secret|secret_(access_)?key|access_key(_id)?|private_key|auth_?token|access_token|bearer|passw(or)?d|credentials?)"
)
_SHOUTED = re.compile(r"[A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD)")
_GLUED = re.compile(r"\w*apikey")
_REFERENCE = re.compile(r"\$?\{?\s*(?:env[:.]\s*)?([A-Z][A-Z0-9_]*)\s*\}?")
_OF_VARIABLES = frozenset({"extra_headers"})
"""Mappings whose values are names of variables already."""


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name would hold a secret: `api_key`, `OPENAI_API_KEY`, `apiKey`, `password`."""
    plain = name.strip().replace("-", "_").replace(" ", "_")
    folded = plain.lower()
    return bool(_SHOUTED.fullmatch(plain) or _PLAIN.fullmatch(folded) or _GLUED.fullmatch(folded))


def secrets_in(raw: Any, loc: Loc = ()) -> Iterator[tuple[Loc, str]]:
    """Yield every place that holds a key, and what to write instead: configs are copied into run directories and published."""
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list | tuple) else ()
    for step, value in items:
        here = (*loc, step)
        if isinstance(step, str) and is_secret_name(step) and isinstance(value, str | int) and value:
            if not isinstance(value, bool):
                yield here, instead(step, value, at_top=not loc)
        elif isinstance(value, str) and step != "api_key_env" and KEY.search(value):
            yield (
                here,
                "holds what looks like a secret key, and configs are published. Set it as a variable of the shell.",
            )
        elif step not in _OF_VARIABLES:
            yield from secrets_in(value, here)


def instead(name: str, value: Any, *, at_top: bool = False) -> str:
    """Return what is said of a secret, after its field."""
    told = "is a secret, and configs are published."
    if (variable := _REFERENCE.fullmatch(str(value))) and not KEY.search(str(value)):
        return f"{told} Name its variable instead: `llm: {{api_key_env: {variable[1]}}}`."
    if _SHOUTED.fullmatch(name):
        return f"{told} Take the line out and set the variable in the shell: `export {name}=…`."
    return f"{told} Name its variable instead: `{'llm: {api_key_env: NAME}' if at_top else 'api_key_env: NAME'}`."


def without_secrets(raw: Any, found: list[Loc]) -> Any:
    """Return a mapping without the fields at these places."""
    kept = raw
    for loc in found:
        kept = _without(kept, loc)
    return kept


def _without(raw: Any, loc: Loc) -> Any:
    first, rest = loc[0], loc[1:]
    if isinstance(raw, dict):
        return {k: _without(v, rest) if k == first else v for k, v in raw.items() if rest or k != first}
    if rest:
        return [_without(v, rest) if i == first else v for i, v in enumerate(raw)]
    return raw  # an item keeps its place in a list
