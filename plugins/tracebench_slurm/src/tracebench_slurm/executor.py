"""The executor `slurm`: that of `tracebench-workers`, whose workers are an array of Slurm."""

from __future__ import annotations

from tracebench_core.specs import ExecutorSetting
from tracebench_slurm.array import Array
from tracebench_slurm.options import Options, options_of
from tracebench_workers.executor import WorkersExecutor
from tracebench_workers.options import Serving
from tracebench_workers.ticket import Ticket


class SlurmExecutor(WorkersExecutor):
    """See `WorkersExecutor`."""

    def options(self, setting: ExecutorSetting) -> Options:
        """See `WorkersExecutor`."""
        return options_of(setting)

    def place(self, ticket: Ticket, setting: ExecutorSetting, options: Serving) -> Array:
        """Submit the array."""
        return Array(ticket, setting, Options.model_validate(options.model_dump()))
