"""Tasks, trainers and proposers opened one by one, with the settings that a config would give them."""

from tracebench_engine.matrix.settings import resolve_settings
from tracebench_engine.measure.demand import demand
from tracebench_engine.measure.opening import SealedTask, build_optimizer, build_trainer, build_wrapped, open_task

__all__ = [
    "SealedTask",
    "build_optimizer",
    "build_trainer",
    "build_wrapped",
    "demand",
    "open_task",
    "resolve_settings",
]
