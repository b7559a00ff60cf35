"""One Lean problem, wherever it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

_START, _END = "-- !benchmark @start ", "-- !benchmark @end "
FILLED = frozenset({"solution_aux", "code_aux", "code", "proof_aux", "proof"})
"""The regions that an answer fills; imports, preconditions and postconditions stay as given."""


class LeanProblem(BaseModel):
    """A program to translate or to complete, what must be proven of it, and what stays hidden: tests and gold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    category: str
    source: str
    """`verina`, `minif2f`, `clever`, `human_eval`, `hub`, `entrypoint` or `gold`: where it was found."""
    prompt: str
    """What the model is told; nothing hidden is in it."""
    skeleton: str = ""
    """A file with `!benchmark` regions that an answer fills; empty when the answer is a file of its own."""
    theorems: dict[str, str] = {}
    """Full name to normalised statement; empty when the source states none."""
    given: tuple[str, ...] = ()
    """Definitions that the statements use; an answer holds them word for word."""
    free: tuple[str, ...] = ()
    """Names of the program's definitions: an answer writes its own, of the same types."""
    reference: str = Field(default="", repr=False)
    """Hidden: a file that compiles by itself and states the theorems, proven or not; what an answer's compiled terms are compared with."""
    tests: tuple[str, ...] = ()
    """Hidden: propositions that must be decidable, such as `f 3 = 4`."""
    digest: str
    """SHA-256 of the source files, hexadecimal."""


def describe_obligations(theorems: Mapping[str, str], given: Sequence[str]) -> str:
    """Return the part of a prompt that says what must be defined and proven; nothing when nothing is required."""
    parts = []
    if given:
        parts.append("Use these definitions, word for word:\n```lean\n" + "\n\n".join(given) + "\n```\n")
    if theorems:
        told = "".join(f"theorem {name} {statement}\n" for name, statement in theorems.items())
        parts.append(f"State and prove these theorems, word for word:\n```lean\n{told}```\n")
    return "".join(f"\n\n{part}" for part in parts)


def fill(skeleton: str, answer: str) -> str | None:
    """Return the skeleton with its open regions as `answer` fills them; None when one of them is missing from the answer.

    Whatever else `answer` says is dropped, so statements and signatures stay as they are.
    """
    regions = _regions(answer)
    out: list[str] = []
    replaced = False
    for line in _lines(skeleton):
        mark = line.strip()
        if mark.startswith(_END):
            replaced = False
        if not replaced:
            out.append(line)
        if mark.startswith(_START) and (region := _region_name(mark)) in FILLED:
            if region not in regions:
                return None
            out += regions[region].values()
            replaced = True
    return "\n".join(out) + "\n"


def unfinished(skeleton: str) -> str:
    """Return the skeleton with `sorry` for code and proof: a file that compiles, and says what is to be stated."""
    parts = {name: "sorry" if name in {"code", "proof"} else "" for name in FILLED}
    return fill(skeleton, answering({name: f"  {part}" for name, part in parts.items()})) or skeleton


def answering(regions: Mapping[str, str]) -> str:
    """Return an answer that fills these regions."""
    return "\n".join(f"{_START}{name}\n{text}\n{_END}{name}" for name, text in regions.items())


def alone(answer: str) -> Iterator[str]:
    """Yield each region that an answer fills, in the lines that it has in the answer; all else is blank.

    Nothing around a region enters the file with it: no comment that begins before it, and no other region.
    """
    for name, lines in _regions(answer).items():
        if name in FILLED and any(map(str.strip, lines.values())):
            yield "\n".join(lines.get(number, "") for number in range(max(lines) + 1))


def region(name: str, text: str = "") -> str:
    """Return a region that an answer fills, with `text` in it."""
    return f"{_START}{name}\n{text}{_END}{name}\n"


def has_region(skeleton: str, name: str) -> bool:
    """Tell whether an answer fills a region of that name."""
    return f"{_START}{name}\n" in skeleton


def blank(text: str) -> str:
    """Return Verina-style text with its open regions emptied: the skeleton."""
    return fill(text, "\n".join(f"{_START}{name}\n{_END}{name}" for name in FILLED)) or text


def _regions(text: str) -> dict[str, dict[int, str]]:
    """Return the regions of a text: their lines by their numbers in the text, from 0."""
    found: dict[str, dict[int, str]] = {}
    current: dict[int, str] | None = None
    for number, line in enumerate(_lines(text)):
        stripped = line.strip()
        if stripped.startswith(_START):
            current = found.setdefault(_region_name(stripped), {})
        elif stripped.startswith(_END):
            current = None
        elif current is not None:
            current[number] = line
    return found


def _lines(text: str) -> list[str]:
    """Return the lines of a text as Lean has them: nothing but a line feed ends one, or a comment in it."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _region_name(mark: str) -> str:
    return mark.removeprefix(_START).split()[0]
