"""The executor `ray`: that of `tracebench-workers`, whose workers Ray places."""

from __future__ import annotations

from tracebench_core.specs import ExecutorSetting
from tracebench_ray.options import Options, options_of
from tracebench_ray.placement import RayWorkers
from tracebench_workers.executor import WorkersExecutor
from tracebench_workers.options import Serving
from tracebench_workers.ticket import Ticket


class RayExecutor(WorkersExecutor):
    """See `WorkersExecutor`."""

    def options(self, setting: ExecutorSetting) -> Options:
        """See `WorkersExecutor`."""
        return options_of(setting)

    def place(self, ticket: Ticket, setting: ExecutorSetting, options: Serving) -> RayWorkers:
        """Have Ray place as many workers as the run's jobs take."""
        chosen = Options.model_validate(options.model_dump())
        order = chosen.order(setting.resources, chosen.number(setting.workers))
        update = {"ticket": str(ticket), "root": setting.root}
        return RayWorkers(order.model_copy(update=update), setting)
