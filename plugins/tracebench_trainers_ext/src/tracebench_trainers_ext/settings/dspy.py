"""Settings of the DSPy trainers; names are the library's own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import LibrarySettings, SampledSettings
from tracebench_trainers_ext.settings.gepa import GepaSettings


class DspySettings(SampledSettings):
    """What those take that read scores alone."""

    init_temperature: float = Field(default=1.0, ge=0)
    score_scale: float = Field(default=1e4, gt=0)
    """Scores are multiplied by it: the library rounds them to the fourth decimal place."""


class CoproSettings(DspySettings):
    """`DSPy-COPRO`; on n parameters it evaluates about breadth * depth * n * n programs on all of train."""

    breadth: int = Field(default=5, ge=2)
    depth: int = Field(default=3, ge=1)
    init_temperature: float = Field(default=1.4, ge=0)


class MiproSettings(DspySettings):
    """`DSPy-MIPROv2`, instructions only."""

    num_candidates: int = Field(default=6, ge=1)
    num_trials: int | None = Field(default=None, ge=1)
    """None: as many as the budget's evaluations leave room for, up to 30."""
    program_aware_proposer: bool = False
    data_aware_proposer: bool = True
    tip_aware_proposer: bool = True


class SimbaSettings(SampledSettings):
    """`DSPy-SIMBA`, rules only."""

    bsize: int = Field(default=8, ge=1)
    """Examples of a batch; at most all of train."""
    num_candidates: int = Field(default=4, ge=1)
    max_steps: int = Field(default=4, ge=1)
    temperature_for_sampling: float = Field(default=0.2, gt=0)
    temperature_for_candidates: float = Field(default=0.2, gt=0)


class DspyGepaSettings(GepaSettings):
    """`DSPy-GEPA`."""

    use_merge: bool = True


class BootstrapSettings(SampledSettings):
    """`DSPy-BootstrapFewShot`."""

    max_bootstrapped_demos: int = Field(default=4, ge=1)
    max_labeled_demos: int = Field(default=0, ge=0)
    max_rounds: int = Field(default=1, ge=1)
    num_candidate_programs: int = Field(default=0, ge=0)
    """So many random sets of demonstrations are tried on validation beside that (the library's `BootstrapFewShotWithRandomSearch`)."""
    metric_threshold: float = 1.0
    """The score from which an example counts as solved, and may be shown."""
    parameter: str = ""
    """The demonstrations parameter; found by its name and kind when empty."""


class DspyTrainerSettings(LibrarySettings):
    """`DSPyTrainer`: the settings of today's Trace-Bench; each optimizer takes those that it knows."""

    dspy_optimizer: Literal["mipro", "copro", "simba", "gepa"] = "mipro"
    num_candidates: int = Field(default=6, ge=1)
    max_steps: int = Field(default=8, ge=1)
    bsize: int = Field(default=32, ge=1)
    breadth: int = Field(default=10, ge=2)
    depth: int = Field(default=3, ge=1)
    max_metric_calls: int | None = Field(default=None, ge=1)
    reflection_minibatch_size: int = Field(default=3, ge=1)
    init_temperature: float = Field(default=1.0, ge=0)
    auto: Literal["light", "medium", "heavy"] | None = None
    """Accepted for compatibility; the budget bounds the search."""
    max_demos: int = 0
    """Accepted for compatibility; instructions alone are optimised."""
    max_bootstrapped_demos: int = 0
    """Accepted for compatibility; instructions alone are optimised."""
    max_labeled_demos: int = 0
    """Accepted for compatibility; instructions alone are optimised."""
    track_stats: bool = False
    """Accepted for compatibility; a job's events say everything."""
