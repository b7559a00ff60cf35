"""What the tasks of CO-Bench share: cases read from files, one call of `solve` for each, a full check of its answer."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tracebench_core.errors import UsageError
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Split
from tracebench_core.specs.base import Spec
from tracebench_llm4ad.cobench.folder import read_files
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.evaluator import Heuristic, ListedEvaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers, shown


class CoBenchOptions(Spec):
    """Options of a task of CO-Bench: which of the cases on disk are used, and how long a case may take."""

    seed: int = Field(default=2024, ge=0)
    """Of the order in which cases are dealt to the splits."""
    n_train: int = Field(default=4, ge=1, le=1000)
    """Cases to train on; with too few on disk every split shrinks alike, and training keeps at least one."""
    n_validation: int = Field(default=4, ge=0, le=1000)
    n_test: int = Field(default=4, ge=0, le=1000)
    timeout_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Wall time for one case."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what `solve` is called with, in order, and the best value on file."""

    arguments: Mapping[str, Any]
    known: float | None = None
    """Never shown to a candidate, except where the function's signature has always had it."""


class Problem(ListedEvaluator[Case]):
    """A family of cases in one file format. Subclasses know the format, the constraints and the objective."""

    entry: ClassVar[str] = "solve"
    folder: ClassVar[str]
    """The sub-folder of CO-Bench."""
    sample: ClassVar[str] = "generated.txt"
    """The name of a generated file."""
    bound_source = "the best value on file, else a simple bound,"

    def __init__(self, options: CoBenchOptions) -> None:
        cases = [case for name, text in self.files().items() for case in self.parsed(text, name=name)]
        lists = deal(cases, options, name=self.name)
        super().__init__(lists, timeout_seconds=options.timeout_seconds)

    @classmethod
    def build(cls, **options: Any) -> CodeTask:
        """Build the task from its validated options."""
        return CodeTask(cls(CoBenchOptions(**options)))

    @classmethod
    def files(cls) -> dict[str, str]:
        """Return the files of the data folder by name."""
        return read_files(cls.folder)

    @classmethod
    def parsed(cls, text: str, *, name: str) -> list[Case]:
        """Return the cases of a file; a file that is not in the format is an error with its name."""
        try:
            return list(cls.parse(text, name=name))
        except (ValueError, IndexError, KeyError, TypeError, StopIteration) as err:
            raise UsageError(
                f"the file `{name}` of `{cls.folder}` is not in its format: {err or type(err).__name__}",
                hint="take the file out of the folder, or replace it by an intact copy",
            ) from err

    @classmethod
    @abstractmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:
        """Yield the cases of a file."""

    @classmethod
    @abstractmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Return a file of a few small random cases; the docstring of an override documents the draw."""

    @abstractmethod
    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the native metric of an answer; raises `invalid(…)` when a constraint is broken."""

    @abstractmethod
    def simple_bound(self, case: Case) -> float:
        """Return a value that no answer beats."""

    def solve(self, instance: Case, heuristic: Heuristic) -> Any:
        """Call the function once."""
        return heuristic(*instance.arguments.values())

    def judge(self, instance: Case, solution: Any) -> Verdict:
        """Check the answer in full and value it; a value that the answer claims for itself is not looked at."""
        if not isinstance(solution, dict):
            raise invalid(f"The function must return a dictionary; it returned {shown(solution)}.")
        return Verdict(value=self.value(instance, solution), note=self.size(instance))

    def bound(self, instance: Case) -> float:
        """Return the best value on file, or the simple bound."""
        return self.simple_bound(instance) if instance.known is None else instance.known

    def size(self, case: Case) -> str:
        """Describe the size of a case by its whole-number arguments."""
        numbers = (f"{k} = {v}" for k, v in case.arguments.items() if isinstance(v, int))
        return f"Case: {', '.join(numbers)}."


def deal(cases: Sequence[Case], options: CoBenchOptions, *, name: str) -> dict[Split, list[Case]]:
    """Shuffle the cases and deal them to the splits, none twice."""
    shuffled = list(cases)
    random.Random(derive_seed(options.seed, name)).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    wanted = [options.n_train, options.n_validation, options.n_test]
    share = min(1.0, len(shuffled) / sum(wanted))
    train = max(1, int(wanted[0] * share))
    validation = min(int(wanted[1] * share), len(shuffled) - train)
    test = min(wanted[2], len(shuffled) - train - validation)
    ends = [train, train + validation, train + validation + test]
    return {
        "train": shuffled[: ends[0]],
        "validation": shuffled[ends[0] : ends[1]],
        "test": shuffled[ends[1] : ends[2]],
    }


class Tokens:
    """The whitespace-separated words of a file, read in order."""

    def __init__(self, text: str) -> None:
        self._words = text.split()
        self._next = 0

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words) - self._next

    def word(self) -> str:
        """Take one word."""
        if not self.left:
            raise ValueError("it ends too early")
        self._next += 1
        return self._words[self._next - 1]

    def whole(self) -> int:
        """Take one integer, which may be written as `3.0`."""
        number = float(self.word())
        if number != int(number):
            raise ValueError(f"{number} is no integer")
        return int(number)

    def number(self) -> float:
        """Take one number."""
        return float(self.word())

    def wholes(self, count: int) -> list[int]:
        """Take `count` integers."""
        return [self.whole() for _ in range(count)]

    def numbers(self, count: int) -> list[float]:
        """Take `count` numbers."""
        return [self.number() for _ in range(count)]

    def table(self, rows: int, columns: int) -> list[list[float]]:
        """Take a table of numbers, row by row."""
        return [self.numbers(columns) for _ in range(rows)]


def part(answer: Mapping[str, Any], key: str) -> Any:
    """Return one entry of an answer."""
    if key not in answer:
        raise invalid(f"The answer must have the key `{key}`; it has {', '.join(f'`{k}`' for k in answer) or 'none'}.")
    return answer[key]


def permutation(value: Any, *, first: int, count: int, what: str) -> list[int]:
    """Return `count` integers that are each of `first`, `first + 1`, … once."""
    order = integers(value, length=count, what=what)
    missing = sorted(set(range(first, first + count)) - set(order))
    if missing:
        raise invalid(
            f"`{what}` must hold each number from {first} to {first + count - 1} once; {missing[0]} is missing."
        )
    return order


def distinct(value: Any, *, allowed: range, what: str) -> list[int]:
    """Return a list of different integers, all of them in `allowed`."""
    length = len(value) if isinstance(value, list | tuple | np.ndarray) else 0
    chosen = integers(value, length=length, what=what)
    for number in chosen:
        if number not in allowed:
            raise invalid(f"`{what}` must hold numbers from {allowed.start} to {allowed.stop - 1}; it holds {number}.")
    if len(set(chosen)) != len(chosen):
        raise invalid(f"`{what}` must not hold a number twice.")
    return chosen


def rows(table: Sequence[Any] | npt.NDArray[Any]) -> str:
    """Write a table as lines of numbers."""
    return "\n".join(" ".join(f"{v:g}" for v in line) for line in table)
