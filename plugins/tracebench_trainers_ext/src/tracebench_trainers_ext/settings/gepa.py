"""Settings of `gepa-optimize` and `gepa-anything`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import SampledSettings


class GepaSettings(SampledSettings):
    """What both of gepa's entrances take; names are the library's own."""

    reflection_minibatch_size: int = Field(default=3, ge=1)
    max_metric_calls: int | None = Field(default=None, ge=1)
    """Evaluations that the library plans with; None takes those that the budget leaves, or 300 where it caps none."""
    candidate_selection_strategy: Literal["pareto", "current_best", "epsilon_greedy"] = "pareto"
    perfect_score: float | None = None
    """A minibatch that reaches it everywhere is not reflected upon; None where no score is known to be perfect."""
    module_selector: Literal["round_robin", "all"] = "round_robin"
    acceptance_criterion: Literal["strict_improvement", "improvement_or_equal"] = "strict_improvement"


class GepaOptimizeSettings(GepaSettings):
    """`gepa.optimize`."""

    use_merge: bool = False
    max_merge_invocations: int = Field(default=5, ge=0)


class GepaAnythingSettings(GepaSettings):
    """`gepa.optimize_anything`."""

    mode: Literal["generalization", "multi-task", "single-task"] = "generalization"
    """What the library is given: train and validation examples; train examples alone, as related problems whose solutions may be different
    candidates on its frontier; or none, so that one evaluation is the mean over all train examples, with the words of each."""
    background: str | None = None
    """Domain knowledge, shown to the proposer beside the task's objective."""
    max_refinements: int = Field(default=0, ge=0)
    """Refinements per evaluation by gepa's refiner; each costs a call and an evaluation."""
