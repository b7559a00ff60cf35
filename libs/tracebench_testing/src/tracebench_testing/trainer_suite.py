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

    def test_stays_within_budget_on_every_axis(self) -> None:
        self._demand("TB201")

    def test_never_meets_a_test_example(self) -> None:
        self._demand("TB202")

    def test_improves_the_numeric_toy(self) -> None:
        self._demand("TB203")

    def test_improves_the_code_toy(self) -> None:
        self._demand("TB204")

    def test_same_seed_and_replies_give_the_same_events(self) -> None:
        self._demand("TB205")

    def test_survives_rubbish(self) -> None:
        self._demand("TB206")

    def test_survives_a_model_that_refuses(self) -> None:
        self._demand("TB207")

    def test_survives_a_model_that_dies_half_way(self) -> None:
        self._demand("TB208")

    def test_measures_its_best_candidate_on_validation(self) -> None:
        self._demand("TB209")

    def test_handles_one_and_five_parameters(self) -> None:
        self._demand("TB210")

    def test_handles_one_and_many_examples(self) -> None:
        self._demand("TB211")

    def test_marks_its_steps(self) -> None:
        self._demand("TB212")

    def test_parallel_evaluation_changes_nothing(self) -> None:
        self._demand("TB213")

    def test_ends_when_every_evaluation_fails(self) -> None:
        self._demand("TB214")

    def test_goes_on_with_what_measured_better(self) -> None:
        self._demand("TB215")

    def test_loses_nothing_that_it_has_found(self) -> None:
        self._demand("TB216")

    def _demand(self, code: str) -> None:
        found = TRAINER_CHECKS[code](Subject(self.build, optimizer=self.optimizer(), improves=self.improves))
        assert not found, "\n".join(f"{f.code}: {f.message}" for f in found)  # noqa: S101 - pytest's own way of failing
