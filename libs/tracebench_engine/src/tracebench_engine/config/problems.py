"""Problems of a config, in words: which field, what is wrong with it, and what was probably meant."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean

Loc: TypeAlias = tuple[str | int, ...]

HINT = "trace-bench config schema   (prints every field with its type)"
LONGEST = 60
_MIXED = r"(?=[\w.-]*?(?=[A-Za-z]*[0-9])[A-Za-z0-9]{10})"
"""Ten letters and digits in a row, a digit among them, which words and versions rarely have."""
KEY = re.compile(
    rf"(?<![A-Za-z0-9])(?:sk[-_]{_MIXED}[\w-]{{16,}}|[pr]k_(?:live|test)_\w{{16,}}|pk-lf-[0-9a-f-]{{20,}}"
    r"|(?:gsk_|xai-)[A-Za-z0-9]{40,}|key-[0-9a-f]{32}|hf_[A-Za-z]{24,}|gh[pousr]_\w{30,}|github_pat_\w{22,}"
    rf"|AKIA[0-9A-Z]{{16}}|AIza[\w-]{{30,}}|xox[abps]-[\w-]{{10,}}|eyJ[\w-]{{10,}}\.eyJ[\w-]{{10,}}[\w.-]*|[Bb]earer\s+{_MIXED}[\w.-]{{16,}}"
    r"|(?<=://)[^\s/:@$]*:[^\s/@$]+(?=@))"
)
"""What keys of well-known providers look like, and the name with a password that an address holds."""
PLAIN_KEY = re.compile(r"^[\w-]+$")
EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "`true` or `false`",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}
BOUNDS = {
    "greater_than_equal": ("ge", "{:g} or more"),
    "greater_than": ("gt", "more than {:g}"),
    "less_than_equal": ("le", "{:g} or less"),
    "less_than": ("lt", "less than {:g}"),
}


class Places(Protocol):
    """Knows where a config says what."""

    origin: str
    """The name of the config, as the user wrote it."""

    def line(self, loc: Loc) -> int | None:
        """Return the line of a field, from 1."""
        ...


@dataclass(frozen=True, slots=True)
class Problem:
    """`loc` is the field as the user wrote it; `text` follows its name in a sentence."""

    loc: Loc
    text: str
    line: int | None = None
    override: str | None = None
    """The command-line override that brought it in, in place of a line."""
    mend: str | None = None
    """The override that would set it right, as `-o` takes it."""


def dotted(loc: Loc) -> str:
    """Return a field's name as `-o` takes it: `trainers[0].params_variants[1].ps_steps`."""
    name = ""
    for step in loc:
        if isinstance(step, int) or not PLAIN_KEY.match(step):
            name += f"[{step}]"
        else:
            name += f".{step}" if name else step
    return name


def render(value: Any) -> str:
    """Return a value as a reader of the config knows it, cut to a line."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return f"text `{value if len(value) <= LONGEST else value[:LONGEST] + '…'}`"
    try:
        return f"`{json.dumps(value)}`"
    except TypeError:
        return f"a {type(value).__name__}"


def report(problems: Iterable[Problem], places: Places) -> None:
    """Raise one `ConfigError` that tells all problems in the order of the file; return when there are none."""
    found = [(p, p.line if p.line is not None else places.line(p.loc)) for p in problems]
    if not found:
        return
    found.sort(key=lambda pair: (pair[0].override is not None, pair[1] or 0))
    lines = dict.fromkeys(_sentence(problem, line, places.origin) for problem, line in found)
    raise ConfigError("\n".join(lines), hint=_hint([problem for problem, _ in found], places.origin))


def _hint(problems: Sequence[Problem], origin: str) -> str:
    """Return the command that shows the config mended, where that is known of every problem of a file."""
    mends = [problem.mend for problem in problems if problem.mend is not None and problem.override is None]
    if len(mends) < len(problems) or not Path(origin).is_file():
        return HINT
    changes = " ".join(f"-o {shlex.quote(mend)}" for mend in dict.fromkeys(mends))
    return f"trace-bench config show {shlex.quote(origin)} {changes}"


def hide_keys(text: str) -> str:
    """Return a text in which what looks like a key is cut to its first letters."""
    return KEY.sub(lambda found: f"{found[0][:3]}…", text)


def _sentence(problem: Problem, line: int | None, origin: str) -> str:
    where = f"`{origin}`" if line is None else f"`{origin}`, line {line}"
    if problem.override is not None:
        where = f"`-o {problem.override}`"
    name = f"`{dotted(problem.loc)}`" if problem.loc else "the config"
    return hide_keys(f"{where}: {name} {problem.text}")


def describe(error: Mapping[str, Any], known: Iterable[str], *, guess: str = "") -> str:
    """Say one pydantic error in a user's words; `known` are the names that its place could hold, `guess` what was probably meant."""
    kind, value, context = str(error["type"]), error.get("input"), error.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(error["loc"][-1])
        strange = next((sign for sign in name if sign != " " and not sign.isprintable()), None)
        told = "" if strange is None else f" It holds U+{ord(strange):04X}, which only looks like a space."
        words = f"is not a known field.{guess or did_you_mean(name, known)}{told}"
    elif kind == "missing":
        words = f"is missing.{guess}"
    elif kind == "string_too_short":
        words = "must not be empty."
    elif kind == "literal_error":
        words = _one_of(re.findall(r"'([^']*)'", str(context["expected"])), value, guess=guess)
    elif kind == "string_pattern_mismatch":
        words = f"must match `{context['pattern']}`, not {render(value)}.{guess}"
    elif kind in BOUNDS:
        bound, limit = BOUNDS[kind]
        words = f"must be {limit.format(context[bound])}, not {render(value)}."
    elif (expected := EXPECTED.get(kind.removesuffix("_type"))) is not None:
        words = f"must be {expected}, not {render(value)}.{guess or _quoting(expected, value) or _seeds(error)}"
    else:
        words = f"is refused: {context.get('error', error['msg'])}.{guess}"
    return words


def _one_of(choices: Sequence[str], value: Any, *, guess: str) -> str:
    names = ", ".join(f"`{choice}`" for choice in choices)
    near = did_you_mean(value, choices) if isinstance(value, str) else ""
    return f"must be one of {names}, not {render(value)}.{near or guess}"


MANY = 50
"""Seeds that a sentence repeats."""


def _seeds(error: Mapping[str, Any]) -> str:
    """Show how seeds are written, which are numbers everywhere else; `seed` takes one, and several are `seeds`."""
    if error["loc"][:1] != ("seeds",):
        return ""
    several = error.get("input")
    if isinstance(several, list) and several and len(several) <= MANY and all(type(seed) is int for seed in several):
        return f" Several are written `seeds: {several}`."
    return " Seeds are written `[1, 2, 3]` or `1..3`."


def _quoting(expected: str, value: Any) -> str:
    """Explain YAML's habit of reading `off`, `1e3` and `20260101` as something else than text."""
    return " Write it in quotes." if expected == EXPECTED["string"] and isinstance(value, bool | int | float) else ""
