"""What the plugin offers, as data: nothing heavy is imported here."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TrainerSpec


@hookimpl
def tracebench_trainers() -> list[TrainerSpec]:
    """List the trainers."""
    return [
        TrainerSpec(
            name="Kepttrainer",
            title="Hill climbing: one proposal at a time; what is worse is dropped",
            loader="tracebench_kepttrainer.trainer:Kepttrainer",
            settings="tracebench_kepttrainer.trainer:Settings",
            default_optimizer="Reflective",
        )
    ]
