"""Trace's greeting agent: two instructions and three functions, all of them trainable. It greets everybody in English at first."""

from __future__ import annotations

from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Split
from tracebench_opto.bridge.library import load
from tracebench_opto.tasks.traced import TracedTask

trace: Any = load("opto.trace")
GREETS = {"es": "Hola", "en": "Hello"}
SAID: dict[Split, tuple[tuple[str, str, str], ...]] = {
    "train": (("Hola, soy Juan.", "es", "Juan"), ("Hello, I am Sam.", "en", "Sam")),
    "test": (("Buenas, soy Lucía.", "es", "Lucía"), ("Hi there, I am Ada.", "en", "Ada")),
}


@trace.model
class Greeter:
    """Decides the language, finds the name, greets."""

    def __init__(self) -> None:
        self.which_language = trace.node("Decide the language", trainable=True)
        self.which_name = trace.node("Extract name if present", trainable=True)

    def forward(self, said: str) -> Any:
        """Return the greeting."""
        return self.greet(self.decide(self.which_language, said), self.find(self.which_name, said))

    @trace.bundle(trainable=True)
    def decide(self, instruction, said):  # type: ignore[no-untyped-def]
        """Return the code of the language."""
        return "en"

    @trace.bundle(trainable=True)
    def find(self, instruction, said):  # type: ignore[no-untyped-def]
        """Return the name."""
        return said.strip(" .").split()[-1]

    @trace.bundle(trainable=True)
    def greet(self, language, name):  # type: ignore[no-untyped-def]
        """Return the greeting."""
        return f"{'Hola' if language == 'es' else 'Hello'}, {name}!"


def build() -> TracedTask:
    """Return the task; a score is half for the language and half for the name."""

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        language, name = example.reference
        said = str(output)
        score = 0.5 * (GREETS[language] in said) + 0.5 * (name in said)
        words = (
            "Right." if score == 1 else f"`{example.input}` asks for a greeting in `{language}` by name, not `{said}`."
        )
        return Feedback(score=score, text=words, metrics={"accuracy": float(score == 1)})

    return TracedTask(
        lambda _: Greeter(),
        objective="Greet everybody in their own language and by name.",
        guide=guide,
        splits={
            split: tuple(
                Example(id=f"{split}-{i}", input=s, reference=(lang, name)) for i, (s, lang, name) in enumerate(rows)
            )
            for split, rows in SAID.items()
        },
    )


@trace.model
class Says:
    """Says one number."""

    def __init__(self) -> None:
        self.value = trace.node(0, description="An integer to guess", trainable=True)

    def forward(self, _said: object) -> Any:
        """Return the number."""
        return self.emit(self.value)

    @trace.bundle()
    def emit(self, value):  # type: ignore[no-untyped-def]
        """Return the value as it is."""
        return value


def build_single_node(target: int = 3) -> TracedTask:
    """Return Trace's first example: guess a number; the score is the negative distance."""

    def guide(_example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=-abs(float(output) - target), text=f"The answer is {target}.")

    return TracedTask(
        lambda _: Says(),
        objective="Guess the number that the feedback tells.",
        guide=guide,
        splits={"train": (Example(id="train-0"),)},
    )
