"""The checks as a class for pytest: subclass it, say how the trainer is built, and every check is a test."""

from __future__ import annotations

from typing import ClassVar

from tracebench_core.contracts import Trainer
from tracebench_testing.trainer_checks import TRAINER_CHECKS, Subject
from tracebench_testing.trials import BuildOptimizer


class TrainerConformance:
    """One test per check.

    ```python
    class TestMyTrainer(TrainerConformance):
        def build(self) -> Trainer:
            return MyTrainer(MySettings())
    ```
    """

    improves: ClassVar[bool] = True
    """Set to False for a baseline that does not search."""

    def build(self) -> Trainer:
        """Return a new trainer."""
        raise NotImplementedError(f"{type(self).__name__} must override `build` and return its trainer")

    def optimizer(self) -> BuildOptimizer | None:
        """Return what builds its proposer; None for `Reflective`."""
        return None

    def demand(self, code: str) -> None:
        """Make one check and fail with what it finds."""
        found = TRAINER_CHECKS[code](Subject(self.build, optimizer=self.optimizer(), improves=self.improves))
        assert not found, "\n".join(f"{f.code}: {f.message}" for f in found)  # noqa: S101 - pytest's own way of failing


_TESTS = {
    "TB201": "stays_within_budget_on_every_axis",
    "TB202": "never_meets_a_test_example",
    "TB203": "improves_the_numeric_toy",
    "TB204": "improves_the_code_toy",
    "TB205": "same_seed_and_replies_give_the_same_events",
    "TB206": "survives_rubbish",
    "TB207": "survives_a_model_that_refuses",
    "TB208": "survives_a_model_that_dies_half_way",
    "TB209": "measures_its_best_candidate_on_validation",
    "TB210": "handles_one_and_five_parameters",
    "TB211": "handles_one_and_many_examples",
    "TB212": "marks_its_steps",
    "TB213": "parallel_evaluation_changes_nothing",
    "TB214": "ends_when_every_evaluation_fails",
    "TB215": "goes_on_with_what_measured_better",
    "TB216": "loses_nothing_that_it_has_found",
}
for _code, _name in _TESTS.items():
    setattr(TrainerConformance, f"test_{_name}", lambda self, code=_code: self.demand(code))
