"""Keys that were written into a config: recognised by their names and by their looks, and never repeated on a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracebench_engine.config.problems import KEY, Loc, hide_keys
from tracebench_engine.config.shape import kind_at

_PLAIN = re.compile(
    r"(.*_)?(api_?keys?|secret|secret_(access_)?key|access_key(_id)?|private_key|auth_?token|access_token|bearer|passw(or)?d|passphrase|credentials?)"
)
_SHOUTED = re.compile(r"[A-Z0-9_]*(TOKEN|SECRET|PASSWORD)|([A-Z0-9_]*_|[A-Z0-9]*(API|AI))?KEY")
_GLUED = re.compile(r"\w*apikey")
_OF_A_PROVIDER = re.compile(r".*(key|token|bearer).*")
_REFERENCE = re.compile(
    r"\$\{\s*(?:env[:.]\s*)?([A-Z][A-Z0-9_]*)\s*\}|env[:.]\s*([A-Z][A-Z0-9_]*)|\$?([A-Z][A-Z0-9_]*)"
)
_ASSIGNED = re.compile(r"\s*([A-Za-z_][\w-]*)[=:](?!//)\S+\s*")
_NAMED_TOO = re.compile(r"\s*([A-Za-z_][\w-]*)\s*[:=]\s*\S.*")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_FILLED_IN = re.compile(r"\{[a-z_]+\}")
_COMMENT = re.compile(r"(^|\s)#.*")
_OF_VARIABLES = frozenset({"extra_headers"})
"""Mappings whose values are names of variables already."""
_LOOKS = "holds what looks like a secret key, and configs are published. Set it as a variable of the shell."


class Secret(NamedTuple):
    """A secret in a config."""

    loc: Loc
    """The field that goes."""
    shown: Loc
    """The field as it may be told: where a name holds the secret itself, what it stands in."""
    words: str
    """What follows the field's name."""


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name would hold a secret: `api_key`, `OPENAI_API_KEY`, `apiKey`, `password`."""
    plain = name.strip().replace("-", "_").replace(" ", "_")
    folded = plain.lower()
    return bool(_SHOUTED.fullmatch(plain) or _PLAIN.fullmatch(folded) or _GLUED.fullmatch(folded))


def secrets_in(raw: Any, loc: Loc = ()) -> Iterator[Secret]:
    """Yield every place that holds a secret, and what to write instead: configs are copied into run directories and published."""
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list | tuple) else ()
    for step, value in items:
        here = (*loc, step)
        if isinstance(step, str) and is_secret_name(step):
            if value not in (None, "", [], {}) and not isinstance(value, bool) and not _is_filled_in(value):
                yield Secret(here, here, instead(step, value, loc))
        elif isinstance(step, str) and (KEY.search(step) or _sets(_NAMED_TOO, step)):
            yield Secret(here, loc, _LOOKS)
        elif isinstance(value, str):
            if step != "api_key_env" and (KEY.search(value) or _sets(_ASSIGNED, value)):
                yield Secret(here, here, _LOOKS)
        elif step not in _OF_VARIABLES:
            yield from secrets_in(value, here)


def _is_filled_in(value: Any) -> bool:
    """Tell whether a value is a word in braces, which a job fills in: `{key}`."""
    return isinstance(value, str) and _FILLED_IN.fullmatch(value) is not None


def _sets(form: re.Pattern[str], text: str) -> bool:
    """Tell whether text names a secret and holds it, too, as in `OPENAI_API_KEY=…`."""
    found = form.fullmatch(text)
    return found is not None and is_secret_name(found[1])


def instead(name: str, value: Any, loc: Loc = ()) -> str:
    """Return what is said of a secret, after its field; `loc` is where the field stands."""
    told = "is a secret, and configs are published."
    is_of_a_model = not loc or kind_at((*loc, "api_key_env")) is str
    variable = _variable(str(value)) if is_of_a_model else None
    if variable is None and _SHOUTED.fullmatch(name):
        return f"{told} Take the line out and set the variable in the shell: `export {name}=…`."
    if not is_of_a_model or not _OF_A_PROVIDER.fullmatch(name.lower()):
        return f"{told} Take the line out and set it as a variable of the shell."
    field = f"api_key_env: {variable or 'NAME'}"
    return f"{told} Name its variable instead: `{field if loc else f'llm: {{{field}}}'}`."


def _variable(value: str) -> str | None:
    """Return the variable that a value names; None where the value may be the secret itself."""
    if (found := _REFERENCE.fullmatch(value.strip())) is None or KEY.search(value):
        return None
    braced, prefixed, bare = found.groups()
    return braced or prefixed or (bare if _SHOUTED.fullmatch(bare) else None)


def secret_of_line(line: str) -> str | None:
    """Say what is wrong with a line that names a secret and holds it, whether it is YAML or not; None of every other line."""
    if (found := _secret_in(_COMMENT.sub("", line))) is None:
        return None
    name, rest = found
    at_top = line.startswith(name)
    return f"`{name}` {instead(name, rest, () if at_top else ('llm',))}".rstrip(".")


def cut(line: str) -> str:
    """Return a line as it may be shown: without what follows the first name of a secret, or looks like a key."""
    found = _secret_in(line)
    return hide_keys(line) if found is None else f"{line.removesuffix(found[1])}…"


def _secret_in(line: str) -> tuple[str, str] | None:
    """Return the first name of a secret in a line, and all that follows it; None where nothing does."""
    for word in _WORD.finditer(line):
        rest = line[word.end() :]
        if is_secret_name(word[0]) and rest.strip("\"'`]}) \t:="):
            return word[0], rest
    return None


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
