"""Tasks, trainers and proposers opened one by one, with the settings that a config would give them."""

from tracebench_core.engine.demand import demand
from tracebench_core.engine.opening import SealedTask, build_optimizer, build_trainer, build_wrapped, open_task
from tracebench_core.engine.settings import resolve_settings

__all__ = [
    "SealedTask",
    "build_optimizer",
    "build_trainer",
    "build_wrapped",
    "demand",
    "open_task",
    "resolve_settings",
]
