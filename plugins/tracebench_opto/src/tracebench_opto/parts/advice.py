"""What a search cannot do, or not tell apart, on a task so large at such a budget: sentences for `plan` and `validate`."""

from __future__ import annotations

from math import comb

from tracebench_core.specs import TaskShape
from tracebench_opto.parts.cost import judged_examples
from tracebench_opto.parts.evolution import EvolutionSettings
from tracebench_opto.parts.scarcity import tested_at_first
from tracebench_opto.parts.search import SearchSettings
from tracebench_opto.parts.updating import TestedSettings

FEW = 10
"""Examples of right or wrong below which a comparison is warned of."""
PARENT, CHILD = 0.5, 0.6
"""How often two candidates are right that a comparison should tell apart."""


def of_search(settings: SearchSettings, shape: TaskShape) -> list[str]:
    """Warn of a selection on which nothing is told apart, where the task has more examples."""
    available = shape.validation or shape.train
    size = judged_examples(settings, shape)
    if size >= min(FEW, available):
        return []
    mend = "validation_size" if settings.validation_size is not None else "a higher cap of evaluations"
    return [f"it compares candidates on {size} of {available} examples: {_tells(size)}; {mend} gives it more"]


def of_beams(settings: SearchSettings, shape: TaskShape) -> list[str]:
    """Warn of the draws on which a beam is cut, too."""
    size = min(int(getattr(settings, "validation_dataset_size", FEW)), judged_examples(settings, shape))
    drawn = [f"it cuts its beam on {size} examples, drawn anew: {_tells(size)}; validation_dataset_size gives it more"]
    return [*of_search(settings, shape), *(drawn if size < min(FEW, judged_examples(settings, shape)) else [])]


def of_tests(settings: TestedSettings | EvolutionSettings, shape: TaskShape) -> list[str]:
    """Warn of tests of children that are too small to tell anything."""
    found = of_search(settings, shape)
    batch = min(settings.train_batch_size, shape.train)
    size = tested_at_first(shape.budget, settings.variant, batch=batch, most=judged_examples(settings, shape))
    if size >= FEW or not getattr(settings, "acceptance_test", True):
        return found
    more = "" if settings.variant == "budget" else ", as published; `variant: budget` tests on as many as it can afford"
    return [*found, f"it turns a child down on {size} examples{more}: {_tells(size)}"]


def of_merging(settings: EvolutionSettings, shape: TaskShape) -> list[str]:
    """Say that a task of one parameter leaves nothing to merge, too."""
    found = of_tests(settings, shape)
    if shape.parameters > 1 or not settings.merge_every:
        return found
    return [
        *found,
        "a task of one parameter leaves it nothing to merge, so that it does here what it does with `merge_every: 0`",
    ]


def chance_to_lead(examples: int, *, child: float = CHILD, parent: float = PARENT) -> float:
    """Return how often a child that is right in `child` of all cases gets strictly more right than its parent, on as many examples."""

    def exactly(right: int, rate: float) -> float:
        return comb(examples, right) * rate**right * (1 - rate) ** (examples - right)

    return sum(exactly(c, child) * sum(exactly(p, parent) for p in range(c)) for c in range(1, examples + 1))


def _tells(examples: int) -> str:
    ahead, behind = chance_to_lead(examples), chance_to_lead(examples, child=PARENT, parent=CHILD)
    return (
        f"where scores are 0 or 1, a child that is right in {CHILD:g} of all cases then leads a parent right in {PARENT:g}"
        f" in {ahead:.0%} of the tests, and trails it in {behind:.0%}"
    )
