"""Settings of the core's own trainers, and what a job of each is expected to use."""

from __future__ import annotations

from pydantic import Field, JsonValue

from tracebench_core.proposing.settings import TrainerSettings
from tracebench_core.specs import CostEstimate, Range, Split, TaskShape

RANDOM_STEPS = 10
"""Of `RandomSearch` when neither its settings nor a cap say more."""
PROPOSALS = 8
"""Of `BestOfN` and `SequentialRefine` likewise."""


class ComparingSettings(TrainerSettings):
    """What trainers take that compare candidates on one fixed set of examples."""

    validation_size: int | None = Field(default=24, ge=1)
    """Examples of validation, or of train where there is none, on which candidates are compared, drawn once; None for all of them."""

    def judged(self, shape: TaskShape) -> int:
        """Return on how many examples a candidate is compared."""
        available = shape.validation or shape.train
        return min(self.validation_size or available, available)


class NoOpSettings(ComparingSettings):
    """`NoOp` measures as the others do."""


class RandomSearchSettings(ComparingSettings):
    """How far `RandomSearch` goes."""

    num_steps: int | None = Field(default=None, ge=1)
    """When None: as long as a cap of the budget is being spent, or 10."""
    num_proposals: int = Field(default=2, ge=1)
    """Candidates per step."""


class GivenSettings(TrainerSettings):
    """One candidate, and what it is measured on."""

    values: dict[str, JsonValue] = Field(default_factory=dict)
    """By parameter; what is left out keeps its initial value."""
    name: str = ""
    """What it came from, such as a file; equal values of two names are two candidates."""
    split: Split | None = None
    """When None: test, else validation, else train, the first that has examples."""
    limit: int | None = Field(default=None, ge=1)
    """The first examples of the split; None for all."""


class FeedbackSettings(ComparingSettings):
    """What trainers take that show a model feedback."""

    train_batch_size: int = Field(default=8, ge=1)
    """Examples of train whose feedback a proposal sees, drawn once; without a validation split it sees that of the comparison."""

    def fed(self, shape: TaskShape) -> int:
        """Return how many evaluations the feedback on one candidate costs, beside the comparison."""
        return min(self.train_batch_size, shape.train) if shape.validation else 0


class BestOfNSettings(FeedbackSettings):
    """How many independent proposals `BestOfN` draws."""

    n: int | None = Field(default=None, ge=1)
    """When None: as many as a cap of the budget allows, or 8."""


class SequentialRefineSettings(FeedbackSettings):
    """How many refinements `SequentialRefine` makes."""

    num_steps: int | None = Field(default=None, ge=1)
    """When None: as long as a cap of the budget is being spent, or 8."""


def noop_cost(settings: NoOpSettings, shape: TaskShape) -> CostEstimate:
    """One comparison of the initial candidate."""
    return CostEstimate(
        evaluations=_exactly(settings.judged(shape)), llm_calls=_exactly(0), steps=1, proposals=_exactly(0)
    )


def given_cost(_settings: GivenSettings, _shape: TaskShape) -> CostEstimate:
    """The trainer itself measures nothing."""
    none = Range(low=0, likely=0, high=0)
    return CostEstimate(evaluations=none, llm_calls=none)


def random_search_cost(settings: RandomSearchSettings, shape: TaskShape) -> CostEstimate:
    """Each step compares its proposals."""
    proposals = (settings.num_steps or RANDOM_STEPS) * settings.num_proposals
    return CostEstimate(
        evaluations=_exactly((1 + proposals) * settings.judged(shape)),
        llm_calls=_exactly(0),
        steps=settings.num_steps,
        proposals=_exactly(proposals),
        start=settings.judged(shape),
        to_cap=settings.num_steps is None,
    )


def best_of_n_cost(settings: BestOfNSettings, shape: TaskShape) -> CostEstimate:
    """One proposal after another, each compared; the initial candidate gives the feedback."""
    judged, fed = settings.judged(shape), settings.fed(shape)
    return _one_call_each(settings.n, start=judged + fed, each=judged)


def sequential_refine_cost(settings: SequentialRefineSettings, shape: TaskShape) -> CostEstimate:
    """One proposal a step, compared, and measured for the next one's feedback."""
    each = settings.judged(shape) + settings.fed(shape)
    return _one_call_each(settings.num_steps, start=each, each=each)


def _one_call_each(asked: int | None, *, start: int, each: int) -> CostEstimate:
    """Estimate proposals at one call each; a repaired answer costs a second one."""
    proposals = asked or PROPOSALS
    most = start + proposals * each
    return CostEstimate(
        evaluations=Range(low=start, likely=most, high=most),
        llm_calls=Range(low=proposals, likely=proposals, high=2 * proposals),
        steps=asked,
        proposals=Range(low=0, likely=proposals, high=proposals),
        start=start,
        to_cap=asked is None,
    )


def _exactly(amount: float) -> Range:
    return Range(low=amount, likely=amount, high=amount)
