"""What all programs share: how a question is laid out, and how the model is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Message, Parameter, Values
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families.family import Family
from tracebench_hfqa.options import TaskOptions

LONGEST = 20_000
"""Characters that a trainable text may have."""


@dataclass(slots=True)
class Reply:
    """One answer of a program."""

    text: str
    evidence: str | None = None
    """What the first hop of a program of two found."""
    tokens: int = 0
    said: str = ""
    """What the model said, where the program made its answer out of it."""

    def as_json(self) -> dict[str, Any]:
        """Return the reply as the data that travels to the guide."""
        return {"text": self.text, "evidence": self.evidence, "tokens": self.tokens, "said": self.said}


class Program(ABC):
    """A way of answering questions with a model, some of whose parts are trainable."""

    name = ""

    def __init__(self, entry: Entry, family: Family, options: TaskOptions) -> None:
        self.entry, self.family, self.options = entry, family, options

    @property
    @abstractmethod
    def parameters(self) -> Sequence[Parameter]:
        """The trainable parts with their initial values."""

    @abstractmethod
    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Answer one question; `asked` holds `question`, `context` and `options`."""

    def initial(self, otherwise: str) -> str:
        """Return the initial instructions: the run's, else the entry's, else the program's own."""
        return self.options.initial_instructions or self.entry.initial_instructions or otherwise

    def ask(self, messages: Sequence[Message], context: Context) -> Reply:
        """Ask the model of the role `agent` once."""
        sampling: dict[str, Any] = {
            name: value for name in ("temperature", "max_tokens") if (value := getattr(self.options, name)) is not None
        }
        completion = context.complete(messages, role="agent", **sampling)[0]
        usage = completion.usage
        return Reply(completion.text, tokens=(usage.prompt_tokens or 0) + (usage.completion_tokens or 0))


def user(text: str) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": text}


def system(text: str) -> Message:
    """Return a message of the system."""
    return {"role": "system", "content": text}


def laid_out(asked: Mapping[str, Any], *, context: bool = True) -> str:
    """Return a question with its context before and its options behind."""
    parts = [f"Context:\n{asked['context']}"] if context and asked["context"] else []
    parts.append(f"Question: {asked['question']}")
    if asked["options"]:
        parts.append("Options:\n" + "\n".join(f"({label}) {text}" for label, text in asked["options"]))
    return "\n\n".join(parts)
