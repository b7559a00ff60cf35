"""Conformance kit: checks with codes that authors of trainers run on their own work, and the small world they run in."""

from tracebench_core.testing.teacher import Teacher
from tracebench_core.testing.toys import Toy
from tracebench_core.testing.trainer_checks import TRAINER_CHECKS, Finding, Subject, check_trainer
from tracebench_core.testing.trainer_suite import TrainerConformance
from tracebench_core.testing.trials import Trial, run_trial

__all__ = [
    "TRAINER_CHECKS",
    "Finding",
    "Subject",
    "Teacher",
    "Toy",
    "TrainerConformance",
    "Trial",
    "check_trainer",
    "run_trial",
]
