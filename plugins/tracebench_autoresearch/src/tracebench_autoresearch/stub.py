"""The stub model's answers to `Autoresearch`: one number of a shown file is scaled, as a block. It is no language model."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from tracebench_autoresearch.trainer.prompts import MARK, shown_files
from tracebench_core.contracts import Propose
from tracebench_core.specs import Message

_LINE = re.compile(r"^(?P<head>[ \t]*\w+\s*=\s*)(?P<number>\d+(?:\.\d+)?)(?P<tail>\s*(?:#.*)?)$", re.MULTILINE)
_FACTORS = (0.5, 0.8, 1.25, 2.0)


def answer(messages: Sequence[Message], rng: random.Random, _propose: Propose | None = None, /) -> str | None:
    """Return a block that scales a number, or None for a prompt that is not `Autoresearch`'s."""
    prompt = "\n".join(str(message["content"]) for message in messages)
    if MARK not in prompt:
        return None
    places = [(path, match) for path, text in shown_files(prompt).items() for match in _lines(text)]
    if not places:
        return "Hypothesis: there is no number to change.\n"
    path, match = rng.choice(places)
    number = match["number"]
    scaled = float(number) * rng.choice(_FACTORS)
    written = f"{scaled:.6g}" if "." in number else str(max(1, round(scaled)))
    line = f"{match['head']}{written}{match['tail']}"
    name = match["head"].split("=")[0].strip()
    return f"Hypothesis: {name} {number} -> {written}\n\n{path}\n<<<<<<< SEARCH\n{match[0]}\n=======\n{line}\n>>>>>>> REPLACE\n"


def _lines(text: str) -> Sequence[Any]:
    return [match for match in _LINE.finditer(text) if text.count(match[0]) == 1]
