"""Trace's introductory examples: a greeting that follows a rule, and a text that should become a given one."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask

GREETINGS: dict[Split, dict[str, str]] = {
    "train": {"English": "Hello", "Spanish": "Hola", "French": "Bonjour"},
    "test": {"Spanish": "Hola", "English": "Hello"},
}
WANTED = "hello"


def build_greeting() -> SimpleTask:
    """A table from language to greeting, all `Hi` at first; an example is right when its language's greeting is."""

    def program(values: Values, example: Example, _: Context) -> Any:
        table = values["greetings"]
        return table.get(example.input) if isinstance(table, dict) else None

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        right = output == example.reference
        text = (
            f"{example.input}: {output!r} is right."
            if right
            else f"{example.input}: {output!r} is not the greeting of that language."
        )
        return Feedback(score=float(right), text=text, metrics={"accuracy": float(right)})

    languages = sorted(GREETINGS["train"])
    return SimpleTask(
        parameters=[
            Parameter(
                name="greetings",
                initial=dict.fromkeys(languages, "Hi"),
                kind="json",
                description="An object from language to the word that greets in it.",
            )
        ],
        objective="Give each language the one word that greets in it.",
        program=program,
        guide=guide,
        splits={
            split: tuple(Example(id=f"{split}-{lang}", input=lang, reference=word) for lang, word in table.items())
            for split, table in GREETINGS.items()
        },
    )


def build_single_node() -> SimpleTask:
    """One text; score = similarity to the wanted one (Ratcliff/Obershelp ratio, 0 to 1)."""

    def program(values: Values, _: Example, __: Context) -> str:
        return str(values["text"])

    def guide(_: Example, output: Any, _context: Context) -> Feedback:
        ratio = SequenceMatcher(None, output, WANTED).ratio()
        text = (
            "Exactly right."
            if ratio == 1
            else f"{output!r} shares {ratio:.0%} with the wanted word, a lower-case English greeting of {len(WANTED)} letters."
        )
        return Feedback(score=ratio, text=text, metrics={"similarity": ratio})

    return SimpleTask(
        parameters=[
            Parameter(name="text", initial="help", kind="text", description="One lower-case word.", max_length=200)
        ],
        objective="Find the word that the program should say.",
        program=program,
        guide=guide,
    )


def greetings_answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return tables with one right greeting more each."""
    words = GREETINGS["train"]
    known = [dict(list(words.items())[:n]) for n in range(1, len(words) + 1)]
    return [{"greetings": {**dict.fromkeys(words, "Hi"), **some}} for some in known]


def single_node_answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return words with more letters of the wanted one."""
    return [{"text": "hell"}, {"text": WANTED}]
