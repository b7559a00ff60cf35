"""The contracts between the engine and everything that plugs into it: small protocols, no code. A module is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.contracts.environment import (
        Environment as Environment,
        EnvironmentContext as EnvironmentContext,
    )
    from tracebench_core.contracts.executor import (
        CountsProcessors as CountsProcessors,
        Executor as Executor,
        JobEnd as JobEnd,
        JobLogger as JobLogger,
        Placed as Placed,
        Reporter as Reporter,
    )
    from tracebench_core.contracts.sandbox import Sandbox as Sandbox, Session as Session
    from tracebench_core.contracts.stub import Propose as Propose, StubFormat as StubFormat
    from tracebench_core.contracts.task import (
        Context as Context,
        EvaluationFailed as EvaluationFailed,
        Guide as Guide,
        NotMeasured as NotMeasured,
        Task as Task,
    )
    from tracebench_core.contracts.trainer import (
        SIDE_BY_SIDE as SIDE_BY_SIDE,
        BatchOptimizer as BatchOptimizer,
        BudgetView as BudgetView,
        Confinement as Confinement,
        Optimizer as Optimizer,
        Problem as Problem,
        Ticket as Ticket,
        Trainer as Trainer,
        Twin as Twin,
    )

__getattr__ = imported_on_use(__name__)
