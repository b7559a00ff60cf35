"""What every task of the suite can be told through `eval_kwargs`: the generator's seed, how many instances, how much time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tracebench_core.specs.base import Spec

Sizes = Mapping[str, Mapping[str, Any]]
"""What a size by name sets, by the option's name."""


class TaskOptions(Spec):
    """Options of a task; a family's own models add sizes. Two tasks with equal options have equal instances."""

    seed: int = Field(default=2024, ge=0)
    """Of the instance generator. Every split, example and instance derives its own from it."""
    n_instance: int = Field(default=4, ge=1, le=256)
    """Instances in one example; the example's value is their mean."""
    n_train: int = Field(default=2, ge=1, le=256)
    """Examples in the training split."""
    n_validation: int = Field(default=2, ge=0, le=256)
    n_test: int = Field(default=2, ge=0, le=256)
    timeout_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Wall time that a candidate has for one example."""


class SizedOptions(TaskOptions):
    """Options with three sizes of the literature by name; what is given beside the name goes before it."""

    SIZES: ClassVar[Sizes]
    size: Literal["small", "medium", "ranking"] | None = None
    """A size by name; None is the task's own, and `ranking` has the most and the largest instances."""

    @model_validator(mode="before")
    @classmethod
    def _sized(cls, given: Any) -> Any:
        size = given.get("size") if isinstance(given, Mapping) else None
        return {**cls.SIZES.get(size, {}), **given} if isinstance(size, str) else given
