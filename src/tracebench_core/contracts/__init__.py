"""The contracts between the engine and everything that plugs into it: small protocols, no code."""

from tracebench_core.contracts.environment import Environment, EnvironmentContext
from tracebench_core.contracts.executor import CountsProcessors, Executor, JobEnd, JobLogger, Placed, Reporter
from tracebench_core.contracts.sandbox import Sandbox, Session
from tracebench_core.contracts.stub import Propose, StubFormat
from tracebench_core.contracts.task import Context, EvaluationFailed, Guide, NotMeasured, Task
from tracebench_core.contracts.trainer import (
    SIDE_BY_SIDE,
    BatchOptimizer,
    BudgetView,
    Confinement,
    Optimizer,
    Problem,
    Ticket,
    Trainer,
)
from tracebench_core.contracts.twin import Twin

__all__ = [
    "SIDE_BY_SIDE",
    "BatchOptimizer",
    "BudgetView",
    "Confinement",
    "Context",
    "CountsProcessors",
    "Environment",
    "EnvironmentContext",
    "EvaluationFailed",
    "Executor",
    "Guide",
    "JobEnd",
    "JobLogger",
    "NotMeasured",
    "Optimizer",
    "Placed",
    "Problem",
    "Propose",
    "Reporter",
    "Sandbox",
    "Session",
    "StubFormat",
    "Task",
    "Ticket",
    "Trainer",
    "Twin",
]
