"""GEPA-Merge: `GEPA-Base` that now and then merges two lineages which improved different parameters.

Source: GEPA with its system-aware merge (arXiv 2507.19457, section 3.3 and appendix). What differs, and why: a merge is
tried every `merge_every` steps, where gepa 0.1.4 tries one after each accepted mutation up to a number of merges; a
merge must do as well as both parents on a sample of the frontier's examples before it is measured on all, so that it
costs little. For the rest see `gepa_base`.
"""

from __future__ import annotations

from pydantic import Field

from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.evolution import estimate_evolution
from tracebench_opto.trainers import gepa_base


class Settings(gepa_base.Settings):
    """Settings of GEPA-Merge."""

    merge_every: int = Field(default=5, ge=0)
    """Steps between attempts to merge; 0 for no merging."""


def build(settings: Settings) -> gepa_base.GEPABase:
    """Return the trainer."""
    return gepa_base.GEPABase(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_evolution(settings, shape)
