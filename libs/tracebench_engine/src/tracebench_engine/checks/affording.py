"""What the budgets of a plan buy, as far as trainers and tasks say it without being opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracebench_analysis.estimates.estimate import Estimator, Known
from tracebench_analysis.estimates.history import History
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Budget, Range
from tracebench_engine.matrix.costs import Declared, advised, declared_costs
from tracebench_engine.matrix.plan import Plan
from tracebench_runs.prices import PriceTable


class Affording:
    """What is declared of a plan's jobs."""

    def __init__(self, plan: Plan, host: PluginHost) -> None:
        self._plan = plan
        self._declared = declared_costs(plan, host, opens=False)

    def advice(self) -> list[str]:
        """Return what trainers could not do, or not tell apart, at their budgets."""
        return advised(self._plan, self._declared)

    def proposals(self) -> Mapping[str, str]:
        """Return by trainer in words how many proposals a job's budget buys; those of which it is known and capped."""
        fewest: dict[str, tuple[float, float]] = {}
        for trainer, proposals in self._counted():
            low, high = fewest.get(trainer, (proposals, proposals))
            fewest[trainer] = min(low, proposals), max(high, proposals)
        return {t: _words(f"{low:.0f}", f"{high:.0f}") for t, (low, high) in fewest.items()}

    def _counted(self) -> Iterator[tuple[str, float]]:
        estimator = Estimator(History(), PriceTable(self._plan.config.llm.prices))
        for job in self._plan.jobs:
            declared = self._declared[job.job_id]
            if declared.cost is not None and job.budget != Budget():
                found = estimator.job(job, known_of(declared)).proposals
                if found:
                    yield job.trainer_id, found


def known_of(declared: Declared) -> Known:
    """Return what an estimate needs of what is declared."""
    size = declared.size
    if size is None:
        return Known(shape=None, scoring=Range(low=0, likely=0, high=0), uses_model=False, cost=declared.cost)
    return Known(shape=size.shape, scoring=size.scoring, uses_model=size.uses_model, cost=declared.cost)


def _words(low: str, high: str) -> str:
    return f"a job's budget buys about {low if low == high else f'{low} to {high}'} proposals"
