"""Settings of the searches over numbers and choices."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import ForeignSettings


class NumericSettings(ForeignSettings):
    """What both take."""

    n_trials: int = Field(default=100, ge=1)
    """Candidates at most; fewer where the budget's evaluations leave no room for so many. Each is measured on all of train."""
    reach: float = Field(default=10.0, gt=0)
    """A number is searched this many times its own size (at least 1) to either side of its initial value, within its bounds."""


class OptunaSettings(NumericSettings):
    """`Optuna`."""

    sampler: Literal["tpe", "random"] = "tpe"


class NevergradSettings(NumericSettings):
    """`Nevergrad`."""

    optimizer: str = "NGOpt"
    """A name of the library's registry, such as `OnePlusOne`, `CMA`, `TwoPointsDE`."""
