"""The trainer keeps every promise that the conformance kit knows."""

from tracebench_core.contracts import Trainer
from tracebench_core.testing import TrainerConformance
from tracebench_example.keep_best import KeepBest, KeepBestSettings


class TestKeepBest(TrainerConformance):
    def build(self) -> Trainer:
        return KeepBest(KeepBestSettings())
