"""The models of `benchmarks/foreign.py`, rules both: one runs the tasks' programs, one improves what a prompt shows."""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.extend((str(Path(__file__).parent), str(Path(__file__).parent.parent)))
from hf_rules import PHRASES, Rules  # it chooses the sample rows before the plugin is imported
from plugins.tracebench_trainers_ext.tests.forms import SECTION, in_form, shown, written

from tracebench_core.proposing.answer_format import shown_values

WORDS = [phrase for phrases in PHRASES.values() for phrase in phrases]
COMPLAINTS = {
    "end with `#### ` and the number": "End with #### and the number.",
    "The number is another one": "Think step by step.",
    "left out the paragraph": "Copy both paragraphs.",
    "only the answer itself counts": "Give only the answer.",
}
"""Words of the guides, and the phrase that mends what they complain of."""
LEGS = (
    "-here",
    "home - here",
    "home - 1.5 * here",
    "home - 2 * here",
    "home / 2 - here",
    "-home - here",
    "home - here / 2",
)
"""By which a vehicle takes its next customer: how far each one is from here, and from home."""
ROUTE = """import numpy as np


def select_next_node(current_node, depot, unvisited_nodes, rest_capacity, demands, distance_matrix):
    here, home = distance_matrix[current_node, unvisited_nodes], distance_matrix[unvisited_nodes, depot]
    return int(unvisited_nodes[np.argmax({})])
"""
HEARS = 0.5
"""Share of the answers that go by the feedback."""


class Agent(Rules):
    """Runs the tasks' programs; worked examples help it, and hard questions it gets right every third time."""

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the reply to a prompt."""
        prompt = "\n".join(str(m["content"]) for m in messages)
        self._met[prompt] += 1
        helped = "\n---\n" in prompt or self._met[prompt] % 3 == 0
        return self.answer(f"{prompt} step by step" if helped else prompt)


class Proposer:
    """Improves what a prompt shows, in the form that the prompt asks for; equal prompts get other answers the next time."""

    def __init__(self) -> None:
        self._met: Counter[int] = Counter()

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the reply to a prompt."""
        prompt = written(list(messages))
        digest = zlib.crc32(prompt.encode())
        self._met[digest] += 1
        rng = random.Random(f"{self._met[digest]} {digest}")
        values = shown_values(prompt)
        asked = [phrase for words, phrase in COMPLAINTS.items() if words in prompt] if rng.random() < HEARS else []
        if values is not None:
            better = {n: improved(str(v), rng, asked) if isinstance(v, str) else v for n, v in values.items()}
            return json.dumps({"reasoning": "A rule, not a thought.", "values": better})
        return in_form(
            prompt, improved(shown(prompt) or "Answer the question.", rng, asked), rng.choice(asked or WORDS)
        )


def improved(text: str, rng: random.Random, asked: Sequence[str]) -> str:
    """Return another function in place of a function; else a text, or each part of one, with a phrase more (one asked for) or less."""
    if parts := SECTION.findall(text):
        return "".join(f"### PARAMETER {name}\n{improved(part.strip(), rng, asked)}\n" for name, part in parts)
    if "def extract_answer" in text:
        return text  # the prompt beside it is what the rules know of
    if "def transform" in text:
        return f"def transform(x):\n    return {rng.randrange(4)} * x + {rng.randrange(4)}\n"
    if "def select_next_node" in text:
        return ROUTE.format(rng.choice(LEGS))
    missing = [phrase for phrase in asked if phrase not in text]
    if missing:
        return f"{text} {rng.choice(missing)}"
    phrase = rng.choice(WORDS)
    return text.replace(f" {phrase}", "") if phrase in text or rng.random() < 0.3 else f"{text} {phrase}"
