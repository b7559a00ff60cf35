"""Conformance kit: checks with codes that plugin authors run on their own work, the small world they run in, and a model for tests."""

from tracebench_core.testing.conformance import (
    EnvironmentConformance,
    ExecutorConformance,
    GuideConformance,
    LoggerConformance,
    OptimizerConformance,
    PluginConformance,
    SuiteConformance,
)
from tracebench_core.testing.fake_model import FakeModel
from tracebench_core.testing.findings import Finding, Skipped
from tracebench_core.testing.kit import CHECKS, Check, Outcome, check_plugin
from tracebench_core.testing.plugin import PluginUnderTest
from tracebench_core.testing.teacher import Teacher
from tracebench_core.testing.toys import Toy
from tracebench_core.testing.trainer_checks import TRAINER_CHECKS, Subject, check_trainer
from tracebench_core.testing.trainer_suite import TrainerConformance
from tracebench_core.testing.trials import Trial, run_trial

__all__ = [
    "CHECKS",
    "TRAINER_CHECKS",
    "Check",
    "EnvironmentConformance",
    "ExecutorConformance",
    "FakeModel",
    "Finding",
    "GuideConformance",
    "LoggerConformance",
    "OptimizerConformance",
    "Outcome",
    "PluginConformance",
    "PluginUnderTest",
    "Skipped",
    "Subject",
    "SuiteConformance",
    "Teacher",
    "Toy",
    "TrainerConformance",
    "Trial",
    "check_plugin",
    "check_trainer",
    "run_trial",
]
