"""What the budgets of a plan buy, as far as trainers and tasks say it without being opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tracebench_analysis.estimates.estimate import Estimator, JobEstimate, Known
from tracebench_analysis.estimates.history import History
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Budget, JobSpec, Range, RunConfig
from tracebench_engine.matrix.costs import Declared, advised, declared_costs
from tracebench_engine.matrix.plan import Plan
from tracebench_runs.prices import PriceTable


class Told(NamedTuple):
    """What scoring takes, in words."""

    words: str
    is_enough: bool
    """Its caps likely pay for it."""


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

    def scoring(self) -> list[Told]:
        """Return by task what the scoring of a job asks of models; past runs are not looked at."""
        estimates = ((job, self._estimator().job(job, known_of(self._declared[job.job_id]))) for job in self._plan.jobs)
        return scoring_words(self._plan.config, estimates)

    def _estimator(self) -> Estimator:
        config = self._plan.config
        return Estimator(History(), PriceTable(config.llm.prices), scoring_budget=config.scoring_budget)

    def _counted(self) -> Iterator[tuple[str, float]]:
        estimator = self._estimator()
        for job in self._plan.jobs:
            declared = self._declared[job.job_id]
            if declared.cost is not None and job.budget != Budget():
                found = estimator.job(job, known_of(declared)).proposals
                if found:
                    yield job.trainer_id, found


def scoring_words(config: RunConfig, estimates: Iterable[tuple[JobSpec, JobEstimate]]) -> list[Told]:
    """Return by task how many model calls the engine's own scoring of a job takes, what they cost, and what caps them."""
    told: dict[str, Told] = {}
    caps = config.scoring_budget.caps()
    for job, estimate in estimates:
        calls, usd = estimate.scoring.on("llm_calls"), estimate.scoring.on("usd")
        if job.task_id in told or calls is None or not calls.high:
            continue
        words = f"{calls.low:g} / {calls.likely:g} / {calls.high:g} model calls a job of `{job.task_id}`"
        if usd is not None and usd.high:
            words += f", {usd.low:.4g} / {usd.likely:.4g} / {usd.high:.4g} USD"
        if estimate.scoring_cut_by is not None:
            axis = estimate.scoring_cut_by
            words += f", and `scoring_budget` ends it at {caps[axis]:g} {axis}: it would be `unscored`"
        elif caps:
            words += ", at most " + " and ".join(f"{cap:g} {axis}" for axis, cap in caps.items())
        else:
            words += ", which no cap holds for: `budget` is of training, `scoring_budget` of this"
        told[job.task_id] = Told(words, estimate.scoring_cut_by is None)
    return list(told.values())


def known_of(declared: Declared) -> Known:
    """Return what an estimate needs of what is declared."""
    size = declared.size
    if size is None:
        return Known(shape=None, scoring=Range(low=0, likely=0, high=0), uses_model=False, cost=declared.cost)
    return Known(shape=size.shape, scoring=size.scoring, uses_model=size.uses_model, cost=declared.cost)


def _words(low: str, high: str) -> str:
    return f"a job's budget buys about {low if low == high else f'{low} to {high}'} proposals"
