"""The trainer keeps every promise that the conformance kit knows."""

from tracebench_core.contracts import Trainer
from tracebench_example.keep_best import KeepBest, KeepBestSettings
from tracebench_testing import TrainerConformance


class TestKeepBest(TrainerConformance):
    def build(self) -> Trainer:
        return KeepBest(KeepBestSettings())
