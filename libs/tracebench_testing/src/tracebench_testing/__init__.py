"""Conformance kit: checks with codes that plugin authors run on their own work, the small world they run in, and a model for tests."""

from tracebench_testing.checks.findings import Finding, Skipped
from tracebench_testing.checks.plugin import PluginUnderTest
from tracebench_testing.conformance import (
    EnvironmentConformance,
    ExecutorConformance,
    GuideConformance,
    LoggerConformance,
    OptimizerConformance,
    PluginConformance,
    SuiteConformance,
)
from tracebench_testing.fake_model import FakeModel
from tracebench_testing.kit import CHECKS, Check, Outcome, check_plugin
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import Toy
from tracebench_testing.trainer_checks import TRAINER_CHECKS, Subject, check_trainer
from tracebench_testing.trainer_suite import TrainerConformance
from tracebench_testing.trials import Trial, run_trial

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
