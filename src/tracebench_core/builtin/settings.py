"""Settings of the core's own trainers, and what a job of each is expected to use."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.specs import CostEstimate, Range, TaskShape


class TrainerSettings(BaseModel):
    """What every trainer of ours takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_threads: int | None = Field(default=None, ge=1)
    """Accepted for compatibility; how many examples are evaluated at a time is the run's `eval_workers`."""
    verbose: bool = False
    """Accepted for compatibility; a job's events say everything."""


class NoOpSettings(TrainerSettings):
    """`NoOp` has nothing to set."""


class RandomSearchSettings(TrainerSettings):
    """How far `RandomSearch` goes."""

    num_steps: int = Field(default=10, ge=1)
    num_proposals: int = Field(default=2, ge=1)
    """Candidates per step."""


class BestOfNSettings(TrainerSettings):
    """How many independent proposals `BestOfN` draws."""

    n: int = Field(default=8, ge=1)


class SequentialRefineSettings(TrainerSettings):
    """How many refinements `SequentialRefine` makes."""

    num_steps: int = Field(default=8, ge=1)


def noop_cost(settings: NoOpSettings, shape: TaskShape) -> CostEstimate:  # noqa: ARG001 - the one signature of cost models
    """One evaluation of the initial candidate."""
    return CostEstimate(evaluations=_exactly(shape.train), llm_calls=_exactly(0), steps=1, proposals=_exactly(0))


def random_search_cost(settings: RandomSearchSettings, shape: TaskShape) -> CostEstimate:
    """Each step evaluates its proposals on all of train."""
    proposals = settings.num_steps * settings.num_proposals
    return CostEstimate(
        evaluations=_exactly((1 + proposals) * shape.train),
        llm_calls=_exactly(0),
        steps=settings.num_steps,
        proposals=_exactly(proposals),
    )


def best_of_n_cost(settings: BestOfNSettings, shape: TaskShape) -> CostEstimate:
    """One proposal after another, each evaluated on all of train; a repaired answer costs a second call."""
    return _one_call_each(settings.n, shape)


def sequential_refine_cost(settings: SequentialRefineSettings, shape: TaskShape) -> CostEstimate:
    """One proposal a step, evaluated on all of train; a repaired answer costs a second call."""
    return _one_call_each(settings.num_steps, shape)


def _one_call_each(proposals: int, shape: TaskShape) -> CostEstimate:
    return CostEstimate(
        evaluations=Range(low=shape.train, likely=(1 + proposals) * shape.train, high=(1 + proposals) * shape.train),
        llm_calls=Range(low=proposals, likely=proposals, high=2 * proposals),
        steps=proposals,
        proposals=Range(low=0, likely=proposals, high=proposals),
    )


def _exactly(amount: float) -> Range:
    return Range(low=amount, likely=amount, high=amount)
