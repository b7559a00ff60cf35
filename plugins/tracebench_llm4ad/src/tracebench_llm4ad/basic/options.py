"""Options of the basic tasks, named as LLM4AD's evaluators name theirs where they have a name."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tracebench_core.specs.base import Spec, Split
from tracebench_llm4ad.options import TaskOptions


class ListedOptions(Spec):
    """Tasks whose instances are listed rather than drawn: every entry of a split is one example."""

    train: tuple[Any, ...]
    validation: tuple[Any, ...]
    test: tuple[Any, ...]
    timeout_seconds: float = Field(default=30.0, gt=0, le=3600)
    """Wall time that a candidate has for one example."""

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        every = (*self.train, *self.validation, *self.test)
        if len(set(every)) != len(every) or not self.train:
            raise ValueError("the splits must be disjoint, and `train` must not be empty")
        return self

    def splits(self) -> dict[Split, tuple[Any, ...]]:
        """Return the instances by split."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


Circles = Annotated[int, Field(ge=1, le=400)]
Dimension = Annotated[int, Field(ge=3, le=24, multiple_of=3)]


class CirclePackingOptions(ListedOptions):
    """Circle packing: numbers of circles."""

    train: tuple[Circles, ...] = (26,)
    validation: tuple[Circles, ...] = (25,)
    test: tuple[Circles, ...] = (27,)


class AdmissibleSetOptions(ListedOptions):
    """Symmetric admissible sets: pairs of dimension (a multiple of 3) and weight."""

    train: tuple[tuple[Dimension, int], ...] = ((15, 10),)
    validation: tuple[tuple[Dimension, int], ...] = ((12, 7),)
    test: tuple[tuple[Dimension, int], ...] = ((15, 9),)

    @model_validator(mode="after")
    def _weights_fit(self) -> Self:
        if wrong := [pair for pairs in self.splits().values() for pair in pairs if not 1 <= pair[1] <= pair[0]]:
            raise ValueError(f"the weight must be between 1 and the dimension, not {wrong[0]}")
        return self


class OnlineBinPackingOptions(TaskOptions):
    """Online bin packing; by default as in the literature, five sequences of 5,000 items.

    On short sequences the published heuristics rank upside down: what they leave open at the end outweighs what they gain.
    """

    size: Literal["literature", "small", "medium", "ranking"] = "literature"
    """Sequences of 5,000 items; `small` ones of 500 are for quick looks and say little of longer ones, `medium` has 1,000 and `ranking`
    10,000 (both in Liu et al. 2024)."""
    data: Literal["generated", "real"] = "generated"
    """`real`: OR-Library's files `binpack1` and on, in the sub-folder `Bin packing - one-dimensional` of the folder of data, an example
    each: the first `n_test` are tested on, the next `n_train` trained and the next `n_validation` chosen by."""
    instances: tuple[str, ...] = ()
    """Of `data: real`: the files by name, such as `binpack1`, in this order; none are all, by name."""
    n_instance: int = Field(default=5, ge=1, le=256)
    n_train: int = Field(default=1, ge=1, le=256)
    n_validation: int = Field(default=1, ge=0, le=256)
    n_test: int = Field(default=1, ge=0, le=256)
    n_items: int | None = Field(default=None, ge=10, le=100_000)
    """Items of a sequence; None goes by `size`."""
    capacity: int = Field(default=100, ge=100, le=100_000)
    sizes: Literal["weibull", "uniform"] = "weibull"
    """`weibull` has shape 3 and scale 45; `uniform`, from 20 to 100, with a capacity of 150 is OR-Library's class `u`."""
    timeout_seconds: float = Field(default=120.0, gt=0, le=3600)

    @property
    def items(self) -> int:
        """The number of items of a sequence."""
        return self.n_items or {"literature": 5000, "small": 500, "medium": 1000, "ranking": 10_000}[self.size]


class LocalBinPackingOptions(OnlineBinPackingOptions):
    """Online bin packing, one sequence at a time."""

    n_instance: int = Field(default=1, ge=1, le=256)


class MoeadOptions(TaskOptions):
    """MOEA/D on DTLZ2."""

    n_instance: int = Field(default=1, ge=1, le=64)
    n_train: int = Field(default=1, ge=1, le=64)
    n_validation: int = Field(default=1, ge=0, le=64)
    n_test: int = Field(default=2, ge=0, le=64)
    n_gen: int = Field(default=20, ge=2, le=1000)
    """Generations; a generation makes one offspring for each of the 28 weight vectors."""


class GlsOptions(TaskOptions):
    """Guided local search for the travelling salesman problem."""

    problem_size: int = Field(default=50, ge=8, le=200)
    perturbations: int = Field(default=20, ge=1, le=1000)
    """Calls of the heuristic for one instance."""
    search: Literal["descent", "penalties"] = "descent"
    """`descent` searches on under the returned distances; `penalties` is the published search (Liu et al. 2024), which moves only the
    ends of the edges that the function lengthens most, and counts these as penalised."""
    penalised: int = Field(default=30, ge=1, le=1000)
    """Edges that `penalties` penalises after each call."""
