"""What the tasks of CO-Bench share: cases read from files, one call of `solve` for each, a full check of its answer."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from tracebench_core.errors import UsageError
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Split
from tracebench_core.specs.base import Spec
from tracebench_llm4ad.cobench.best_known import best_known, share_of_best_known
from tracebench_llm4ad.cobench.catalog import DIRECTIONS
from tracebench_llm4ad.cobench.certificates import certificate_of
from tracebench_llm4ad.cobench.folder import GENERATED, data_folder, read_files
from tracebench_llm4ad.code_task import PUBLIC, SPLITS, CodeTask
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Heuristic, ListedEvaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers, shown

SHARE = "co_bench"
"""The metric that CO-Bench publishes: the share of the best value on file."""
GENERATOR_SEED = 2024
FILES, PUBLISHED = "files", "published seeds"
"""What results call the other two sources."""
GENERATED_FILES = 12
"""For each task."""


class CoBenchOptions(Spec):
    """Options of a task of CO-Bench: which cases are used, and how long a case may take."""

    data: Literal["any", "real", "generated", "published"] = "any"
    """`any`: the files of the configured folder, else generated cases; `real` refuses the latter, `generated` takes no files, and
    `published` is the literature's instances whose seeds are published (flow shop, job shop)."""
    size: Literal["small", "medium", "ranking"] = "small"
    """Of `data: published`: the smallest of Taillard's files, three of middle size, or all; every file holds ten instances."""
    instances: tuple[str, ...] = ()
    """Of `data: published`: the files by name, such as `tai50_10`, in place of those of `size`."""
    seed: int = Field(default=2024, ge=0)
    """Of the order in which cases are dealt to the splits. Generated cases are always the same."""
    n_train: int = Field(default=4, ge=1, le=1000)
    """Cases to train on; with too few every split shrinks alike, and training keeps at least one."""
    n_validation: int = Field(default=4, ge=0, le=1000)
    n_test: int = Field(default=4, ge=0, le=1000)
    timeout_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Wall time for one case."""

    @model_validator(mode="after")
    def _sized_where_published(self) -> Self:
        if self.data != "published" and (self.instances or self.size != "small"):
            raise ValueError("`size` and `instances` go with `data: published`")
        return self


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
    """The name of a generated file; `#` stands for its number from 1, which else is appended."""
    shared: ClassVar[str] = ""
    """The argument that cases made of the same data have in common: they go to the same split."""
    bound_source = "the best value on file,"

    def __init__(self, options: CoBenchOptions) -> None:
        self.options = options
        self.source = source_of(options.data)
        super().__init__(self._dealt(self._files(), options), timeout_seconds=options.timeout_seconds)

    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Case]]:
        """Yield the cases of a split one by one; generated ones of a split with a salt come from files of its own."""
        if not salt or self.source != GENERATED:
            yield from super().batches(split)
            return
        alone = {f"n_{name}": len(self.lists[name]) if name == split else 0 for name in SPLITS}
        files = self.generated(derive_seed(GENERATOR_SEED, split, salt))
        for case in self._dealt(files, self.options.model_copy(update=alone))[split]:
            yield [case]

    def _files(self) -> Mapping[str, str]:
        if self.source == FILES:
            return self.files()
        return self.published(self.options) if self.source == PUBLISHED else self.generated(GENERATOR_SEED)

    def _dealt(self, files: Mapping[str, str], options: CoBenchOptions) -> dict[Split, list[Case]]:
        cases = [case for name, text in files.items() for case in self.parsed(text, name=name)]
        return deal(cases, options, name=self.name, data_of=self.data_of)

    @classmethod
    def build(
        cls, *, splits: frozenset[Split] = SPLITS, salts: Mapping[Split, str] = PUBLIC, **options: Any
    ) -> CodeTask:
        """Build the task from its validated options."""
        return CodeTask(cls(CoBenchOptions(**options)), splits=splits, salts=salts)

    @classmethod
    def files(cls) -> dict[str, str]:
        """Return the files of the data folder by name."""
        return read_files(cls.folder)

    @classmethod
    def generated(cls, seed: int) -> dict[str, str]:
        """Return `GENERATED_FILES` files of random cases by name, the same for the same seed."""
        drawn = (np.random.default_rng(derive_seed(seed, cls.name, k)) for k in range(GENERATED_FILES))
        return {cls.file_name(k): cls.write(rng).rstrip("\n") for k, rng in enumerate(drawn)}

    @classmethod
    def published(cls, options: CoBenchOptions) -> dict[str, str]:  # noqa: ARG003 - subclasses choose by it
        """Return the literature's files that can be drawn again from published seeds, by name.

        Raises:
            UsageError: where no seeds are published.
        """
        raise UsageError(
            f"no seeds are published of the instances of `{cls.folder}`",
            hint="leave `data` out of `eval_kwargs`; flow_shop_scheduling and job_shop_scheduling have `data: published`",
        )

    @classmethod
    def file_name(cls, number: int) -> str:
        """Return the name of a generated file, counted from 0."""
        stem, dot, suffix = cls.sample.rpartition(".")
        return cls.sample.replace("#", str(number + 1)) if "#" in cls.sample else f"{stem}-{number}{dot}{suffix}"

    @classmethod
    def data_of(cls, case: Case) -> str:
        """Return a text that is equal for cases made of the same data."""
        return repr(case.arguments[cls.shared] if cls.shared else {**case.arguments})

    @classmethod
    def parsed(cls, text: str, *, name: str) -> list[Case]:
        """Return the cases of a file; a file that is not in the format is an error with its name."""
        try:
            return [
                case if case.known is not None else replace(case, known=best_known(cls.folder, name, k))
                for k, case in enumerate(cls.parse(text, name=name))
            ]
        except (
            ValueError, IndexError, KeyError, TypeError, AttributeError, ArithmeticError, StopIteration, MemoryError,
        ) as err:  # fmt: skip
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
        try:
            value = self.value(instance, solution)
        except OverflowError:  # an integer of hundreds of digits
            raise invalid("The answer holds a number that is too large to compute with.") from None
        minimize = DIRECTIONS[self.name] == "minimize"
        share = None if instance.known is None else share_of_best_known(value, instance.known, minimize=minimize)
        return Verdict(value, self.size(instance), {} if share is None else {SHARE: share})

    def bound(self, instance: Case) -> float:
        """Return the optimum that was proven or the best value found with a proof, else the best value on file, else the simple bound."""
        if proven := certificate_of(self.name, instance.arguments):
            return proven.value
        return self.simple_bound(instance) if instance.known is None else instance.known

    def is_scaled(self, instance: Case) -> bool:
        """Tell whether the optimum is known, or within 2 % of what is; a simple bound is no end of a scale."""
        if certificate_of(self.name, instance.arguments):
            return True
        return self.source != GENERATED and instance.known is not None

    def told_bound(self, instance: Case) -> str:
        """Say what the bound is, and who proved it."""
        proven = certificate_of(self.name, instance.arguments)
        if proven is None:
            return self.bound_source
        if proven.gap == 0:
            return f"the optimum, proven by {proven.solver},"
        return f"the best value found, {proven.gap:.1%} from the optimum at most by {proven.solver},"

    def draw(self, instance: Case, solution: Any) -> Drawing | None:
        """Draw the answer where the subclass can."""
        return self.picture(instance, _with_integers(solution))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing | None:
        """Draw a valid answer; None where there is nothing to see."""
        return None

    def size(self, case: Case) -> str:
        """Describe the size of a case by its whole-number arguments."""
        numbers = (f"{k} = {v}" for k, v in case.arguments.items() if isinstance(v, int))
        return f"Case: {', '.join(numbers)}."


def source_of(data: str) -> str:
    """Return where the cases of a task come from by its option `data`."""
    if data == "published":
        return PUBLISHED
    return FILES if data == "real" or (data == "any" and data_folder()) else GENERATED


def deal(
    cases: Sequence[Case], options: CoBenchOptions, *, name: str, data_of: Callable[[Case], str]
) -> dict[Split, list[Case]]:
    """Shuffle the cases and deal them to the splits: none twice, and those of the same data all to one split."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(data_of(case), []).append(case)
    shuffled = list(groups.values())
    random.Random(derive_seed(options.seed, name)).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    wanted: dict[Split, int] = {"train": options.n_train, "validation": options.n_validation, "test": options.n_test}
    dealt: dict[Split, list[Case]] = {split: [] for split in wanted}
    for group in shuffled:
        open_ = [split for split in wanted if len(dealt[split]) < wanted[split]]
        if not open_:
            break
        split = min(open_, key=lambda s: len(dealt[s]) / wanted[s])
        dealt[split] += group[: wanted[split] - len(dealt[split])]
    return dealt


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
        number = self.number()
        if number != int(number):
            raise ValueError(f"{number} is no integer")
        return int(number)

    def number(self) -> float:
        """Take one number."""
        return finite(self.word())

    def wholes(self, count: int) -> list[int]:
        """Take `count` integers."""
        return [self.whole() for _ in range(count)]

    def numbers(self, count: int) -> list[float]:
        """Take `count` numbers."""
        return [self.number() for _ in range(count)]

    def table(self, rows: int, columns: int) -> list[list[float]]:
        """Take a table of numbers, row by row."""
        return [self.numbers(columns) for _ in range(rows)]


def finite(word: str) -> float:
    """Return the number that a word of a file is; infinity and NaN are none."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no finite number")
    return number


def _with_integers(value: Any) -> Any:
    """Return an answer with lists for arrays and an integer for every number that is one, as those who draw it index by them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _with_integers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_with_integers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
    chosen = integers(value, what=what)
    for number in chosen:
        if number not in allowed:
            raise invalid(f"`{what}` must hold numbers from {allowed.start} to {allowed.stop - 1}; it holds {number}.")
    if len(set(chosen)) != len(chosen):
        raise invalid(f"`{what}` must not hold a number twice.")
    return chosen


def rows(table: Sequence[Any] | npt.NDArray[Any]) -> str:
    """Write a table as lines of numbers."""
    return "\n".join(" ".join(f"{v:g}" for v in line) for line in table)
