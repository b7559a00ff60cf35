"""Conformance kit: checks with codes that plugin authors run on their own work, the small world they run in, and a model for tests."""

from tracebench_engine.api.checking import (
    Check as Check,
    Finding as Finding,
    Outcome as Outcome,
    Skipped as Skipped,
)
from tracebench_testing.checks.plugin import PluginUnderTest as PluginUnderTest
from tracebench_testing.conformance import (
    EnvironmentConformance as EnvironmentConformance,
    ExecutorConformance as ExecutorConformance,
    GuideConformance as GuideConformance,
    LoggerConformance as LoggerConformance,
    OptimizerConformance as OptimizerConformance,
    PluginConformance as PluginConformance,
    SuiteConformance as SuiteConformance,
)
from tracebench_testing.answering import FakeModel as FakeModel
from tracebench_testing.kit import CHECKS as CHECKS, check_plugin as check_plugin
from tracebench_testing.teacher import Teacher as Teacher
from tracebench_testing.toys import Toy as Toy
from tracebench_testing.trainer_checks import (
    TRAINER_CHECKS as TRAINER_CHECKS,
    Subject as Subject,
    check_trainer as check_trainer,
)
from tracebench_testing.trainer_suite import TrainerConformance as TrainerConformance
from tracebench_testing.trials import Trial as Trial, run_trial as run_trial
