"""What a job measures whose candidate is given: one candidate on the examples that its trainer's settings name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import NothingMeasured, UsageError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Example, ExampleResult, JobSpec, Split, TrainerSpec

HOPELESS = 10
"""So many first examples that cannot be measured end it."""


@dataclass(frozen=True, slots=True)
class Given:
    """The examples that are asked for, and how many of them may stay unmeasured."""

    split: Split | None
    limit: int | None
    most_lost: float
    """A share."""

    def examples(
        self, splits: Mapping[Split, Sequence[Example]], test: Sequence[Example]
    ) -> tuple[Split, Sequence[Example]]:
        """Return the split and its first examples; where none is named, the last that has any.

        Raises:
            UsageError: when the split that is named has none.
        """
        held: dict[Split, Sequence[Example]] = {
            "test": test,
            "validation": splits.get("validation", ()),
            "train": splits["train"],
        }
        present = [name for name, examples in held.items() if examples]
        chosen = present[0] if self.split is None else self.split
        if chosen not in present:
            raise UsageError(
                f"there are no examples to evaluate on in `{chosen}`, but in {' and '.join(f'`{name}`' for name in present)}"
            )
        return chosen, tuple(held[chosen][: self.limit])

    def watched(self, results: Iterable[ExampleResult]) -> Iterator[ExampleResult]:
        """Yield results as they come.

        Raises:
            NothingMeasured: when none of the first could be measured.
            NotMeasured: at the end, when too many could not; another scoring repeats these alone.
        """
        seen = lost = 0
        why = ""
        for result in results:
            yield result
            seen += 1
            if result.feedback.status == "not_measured":
                lost, why = lost + 1, result.feedback.text
            if lost == seen == HOPELESS:
                raise NothingMeasured(f"none of {seen} evaluations could be measured: {why}")
        if seen and lost / seen > self.most_lost:
            name = NothingMeasured if lost == seen else NotMeasured
            raise name(f"{lost} of {seen} evaluations could not be measured, the last because of: {why}")


def given_by(job: JobSpec, host: PluginHost, *, most_lost: float) -> Given | None:
    """Return what a job's trainer gives to be measured; None for a trainer that searches."""
    trainer = host.component("trainer", job.trainer_id)
    if not isinstance(trainer, TrainerSpec) or not trainer.given:
        return None
    return Given(job.settings.get("split"), job.settings.get("limit"), most_lost)
