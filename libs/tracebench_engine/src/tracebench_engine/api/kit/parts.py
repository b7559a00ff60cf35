"""Tasks, trainers and proposers opened one by one, with the settings that a config would give them."""

from tracebench_engine.matrix.settings import resolve_settings as resolve_settings
from tracebench_engine.measure.building import (
    SealedTask as SealedTask,
    build_optimizer as build_optimizer,
    build_trainer as build_trainer,
    build_wrapped as build_wrapped,
    open_task as open_task,
)
from tracebench_engine.measure.requirements import refuse_unmet as refuse_unmet
