"""What a family of data sets is: a reader of rows, a scorer of replies, and the reply that its authors would score 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracebench_core.specs import Example, Requirement

CONTENT = "content"
"""The metric that says how far replies held what was asked, where a family has it."""


class RowError(ValueError):
    """A row that cannot be used; the words name the column."""


class MissingGoldError(RowError):
    """A row without a gold answer, as in the test splits of data sets with hidden labels."""


class Option(NamedTuple):
    """One answer to choose."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns of a row hold what; an empty name means that the data set has no such column."""

    question: str = "question"
    answer: str = "answer"
    context: str = ""
    context_format: str = "none"
    options: str = ""
    test: str = ""
    entry: str = ""
    setup: str = ""
    answer_index_base: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its gold answer, of whatever data set."""

    question: str
    gold: Any
    """The family's own shape; JSON."""
    context: str = ""
    options: tuple[Option, ...] = ()
    support: tuple[str, ...] = ()
    """Titles of the paragraphs that hold the evidence."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def example(self, identifier: str) -> Example:
        """Return the case as an example: what the program sees is the input, the rest the reference."""
        return Example(
            id=identifier,
            input={
                "question": self.question,
                "context": self.context,
                "options": [[o.label, o.text] for o in self.options],
            },
            reference={"gold": self.gold, "support": list(self.support), **self.extra},
        )

    @classmethod
    def of(cls, example: Example) -> Case:
        """Return the case that an example was made of."""
        reference = dict(example.reference)
        return cls(
            question=example.input["question"],
            context=example.input["context"],
            options=tuple(Option(*pair) for pair in example.input["options"]),
            gold=reference.pop("gold"),
            support=tuple(reference.pop("support")),
            extra=reference,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reply's score in [0, 1], the authors' metrics, and words that teach."""

    score: float
    metrics: Mapping[str, float]
    extracted: str
    """The answer that was read out of the reply; empty when none was found."""
    rule: str = ""
    """Which rule the reply broke; empty when it is right."""


@dataclass(frozen=True, slots=True)
class Family:
    """One way of reading rows and scoring replies."""

    metric: str
    """The metric that is the score."""
    read: Callable[[Mapping[str, Any], Fields], Case]
    score: Callable[[str, Case], Verdict]
    gold_reply: Callable[[Case], str]
    """The shortest reply that scores 1."""
    asks_for: str = "Give only the answer."
    """The form of the answer, in words for a model."""
    version: int = 1
    """Raised when replies score otherwise than before."""
    requires: tuple[Requirement, ...] = ()
    """What scoring needs of the machine."""
    grader: tuple[Callable[[str, Case], str], Callable[[str, str], Verdict | None]] | None = None
    """Of replies that a model grades: what it is asked of a reply to a case, nothing where `score` can tell; and the verdict that its words
    on a reply are, None when they are none."""
    verbatim: bool = False
    """The question is asked as it stands, without a word before it."""
    sandboxed: bool = False
    """The reply is code, and `score` may not be called: the guide runs it."""

    dialogue: bool = False
    """The reply is a dialogue with tools, which the program `tools` alone leads."""

    @property
    def read_as_answer(self) -> bool:
        """Whether a reply is read for an answer, by rules: not run, not graded by a model, not checked as a whole."""
        return not (self.sandboxed or self.grader or self.verbatim or self.dialogue)


LONGEST = 20_000
"""Characters of a reply that are read."""


def within_reach(reply: str) -> str:
    """Return the part of a reply that is read: all of it, or the end of a longer one, where answers stand."""
    return reply[-LONGEST:]


def column(row: Mapping[str, Any], name: str) -> Any:
    """Return a column's value.

    Raises:
        RowError: when the row has no such column; the words list those it has.
    """
    if name not in row:
        raise RowError(f"has no column `{name}`; its columns are {', '.join(f'`{c}`' for c in row)}")
    return row[name]


def text_of(row: Mapping[str, Any], name: str) -> str:
    """Return a column's value as text that is not blank.

    Raises:
        RowError: when it is missing, blank or no text.
    """
    value = column(row, name)
    if not isinstance(value, str | int | float) or not str(value).strip():
        raise RowError(f"holds no text in column `{name}`")
    return str(value)


def gold_of(row: Mapping[str, Any], name: str) -> Any:
    """Return the gold answer as it stands in the row.

    Raises:
        MissingGoldError: when it is null, blank or an empty list.
    """
    value = column(row, name)
    if value is None or (isinstance(value, str | list | tuple | dict) and not value) or not str(value).strip():
        raise MissingGoldError(f"has no gold answer in column `{name}`")
    return value
