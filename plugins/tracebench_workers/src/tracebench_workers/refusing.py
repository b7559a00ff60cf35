"""What a run may not ask of a worker: orders that stand on what only the run's own machine has."""

from __future__ import annotations

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import JobOrder


def refuse_what_stays(order: JobOrder, *, is_elsewhere: bool) -> None:
    """Refuse an order that stands on what only the run's own machine has.

    Raises:
        TraceBenchError: in words.
    """
    task = f"Task `{order.job.task_id}`"
    if order.environments is not None:
        raise TraceBenchError(
            f"{task} or a model of this run lives in an environment, and workers have none.", hint="-o executor=local"
        )
    if order.limits.counter is not None:
        raise TraceBenchError(
            "`run_budget.evaluations` is counted in a file of the run's own machine, which workers do not see.",
            hint="cap each job instead: budget.evaluations, or -o executor=local",
        )
    if is_elsewhere and order.access is not None and order.budget.seconds is not None:
        raise TraceBenchError(
            "`budget.seconds` is kept by the gateway's clock, and a worker on another machine has another one.",
            hint="cap calls, tokens or USD instead, or set job_timeout",
        )
