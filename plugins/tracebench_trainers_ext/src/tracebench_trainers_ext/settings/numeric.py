"""Settings of the searches over numbers and choices."""

from __future__ import annotations

from pydantic import Field

from tracebench_trainers_ext.settings.base import LibrarySettings


class NumericSettings(LibrarySettings):
    """What both take."""

    n_trials: int = Field(default=100, ge=1)
    """Candidates at most; fewer where the budget's evaluations leave no room for so many. Each is measured on all of train."""
    reach: float = Field(default=10.0, gt=0)
    """A number is searched this many times its own size (at least 1) to either side of its initial value, within its bounds."""


class OptunaSettings(NumericSettings):
    """`Optuna`."""

    sampler: str = "tpe"
    """A sampler of the library: `tpe`, `random`, `cmaes` (needs the package `cmaes`), `gp`, `qmc`, or the name of a class, such as
    `NSGAIISampler`. `library` holds its settings."""
    pruner: str | None = None
    """A pruner, such as `median`, `hyperband` or the name of a class, for trials that are measured example by example; None measures all
    of train at once."""


class NevergradSettings(NumericSettings):
    """`Nevergrad`."""

    optimizer: str = "NGOpt"
    """A name of the library's registry, such as `OnePlusOne`, `CMA`, `TwoPointsDE`. `library` holds further arguments of it."""
