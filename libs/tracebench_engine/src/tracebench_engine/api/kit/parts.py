"""Tasks, trainers and proposers opened one by one, with the settings that a config would give them."""

from tracebench_engine.matrix.settings import resolve_settings
from tracebench_engine.measure.building import SealedTask, build_optimizer, build_trainer, build_wrapped, open_task
from tracebench_engine.measure.requirements import refuse_unmet

__all__ = [
    "SealedTask",
    "build_optimizer",
    "build_trainer",
    "build_wrapped",
    "open_task",
    "refuse_unmet",
    "resolve_settings",
]
