"""The plugin's hooks: specs only, nothing of opto is imported here."""

from __future__ import annotations

from collections.abc import Iterable

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import OptimizerSpec, TrainerSpec
from tracebench_opto.proposers.specs import optimizer_specs
from tracebench_opto.trainers.specs import TRAINER_SPECS


@hookimpl
def tracebench_optimizers() -> Iterable[OptimizerSpec]:
    """Offer Trace's optimizers."""
    return optimizer_specs()


@hookimpl
def tracebench_trainers() -> Iterable[TrainerSpec]:
    """Offer our search trainers."""
    return TRAINER_SPECS
