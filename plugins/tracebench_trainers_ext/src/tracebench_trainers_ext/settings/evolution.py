"""Settings of the evolutions of files; names are the libraries' own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import SampledSettings


class EvolutionSettings(SampledSettings):
    """What all of them take."""

    iterations: int = Field(default=30, ge=1)
    """Programs at most; fewer where the budget's evaluations leave no room for so many."""
    diff_based_evolution: bool = False
    """Ask for search-and-replace patches in place of whole files."""


class OpenEvolveSettings(EvolutionSettings):
    """`OpenEvolve`."""

    num_islands: int = Field(default=2, ge=1)
    population_size: int = Field(default=100, ge=1)
    num_top_programs: int = Field(default=3, ge=0)
    num_diverse_programs: int = Field(default=2, ge=0)
    max_code_length: int = Field(default=20_000, ge=100)
    parallel_evaluations: int = Field(default=1, ge=1)
    """Iterations that the library has in flight; how many evaluations run at a time is the run's `eval_workers`."""
    ensure_improvement: bool = True
    """Accepted for compatibility; the engine keeps the best candidate."""
    improvement_threshold: float = 0.0
    """Accepted for compatibility; see `ensure_improvement`."""


class SkyDiscoverSettings(EvolutionSettings):
    """What both searches of SkyDiscover take."""

    search: Literal["adaevolve", "best_of_n"] = "adaevolve"
    database: dict[str, int | float | bool | str] = Field(default_factory=dict)
    """Fields of the library's own database config, such as `num_islands`."""


class AdaEvolveSettings(SkyDiscoverSettings):
    """`SkyDiscover-AdaEvolve`."""

    search: Literal["adaevolve"] = "adaevolve"


class SkyBestOfNSettings(SkyDiscoverSettings):
    """`SkyDiscover-BestOfN`."""

    search: Literal["best_of_n"] = "best_of_n"


class ShinkaSettings(SampledSettings):
    """`ShinkaEvolve`."""

    iterations: int = Field(default=30, ge=1)
    """Generations at most; fewer where the budget's evaluations leave no room for so many."""
    num_islands: int = Field(default=2, ge=1)
    patch_types: tuple[Literal["diff", "full"], ...] = Field(default=("full",), min_length=1)
