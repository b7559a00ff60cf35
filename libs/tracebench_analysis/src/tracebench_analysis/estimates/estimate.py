"""What a plan will use: per job from its trainer's declared cost and past runs, cut by budgets; then the whole run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tracebench_analysis.estimates.amounts import LEVELS, Amounts, Estimate, Level, total_estimate
from tracebench_analysis.estimates.history import CallCost, Caller, History, kind_of, range_of
from tracebench_core.specs import Axis, Budget, CostEstimate, JobSpec, Range, Role, TaskShape
from tracebench_runs.prices import PriceTable

FEW_PROPOSALS = 3
"""Fewer than these tell nothing of a trainer."""
DEFAULT_PROMPT = Range(low=150, likely=1500, high=6000)
DEFAULT_COMPLETION = Range(low=20, likely=500, high=2000)
LEAST_SPREAD = 0.1
"""Of a mean per call that past jobs show: how far the next job's may lie beyond theirs, as a share of it."""
DEFAULT_CALL_SECONDS = Range(low=1, likely=5, high=30)
STUB_CALL_SECONDS = Range(low=0.002, likely=0.01, high=0.05)
DEFAULT_EVALUATION_SECONDS = Range(low=0.002, likely=0.05, high=5)
CALLS_PER_EVALUATION = Range(low=1, likely=1, high=2)
"""Of a program or guide that asks a model, where no past run tells."""
STARTUP_SECONDS = 2.0
"""Of gateway, sandboxes and the first job's process."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is declared of a job."""

    shape: TaskShape | None
    scoring: Range
    """Evaluations of the engine's own scoring."""
    uses_model: bool
    """The task's program or guide asks a model."""
    cost: CostEstimate | None


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """What one job is expected to use. Calls, tokens, USD and seconds hold the engine's own scoring too; evaluations do not."""

    amounts: Estimate
    scoring: Estimate
    """What the engine's own scoring takes, in calls, tokens, USD and seconds, without its cap."""
    scoring_cut_by: Axis | None
    """The cap of `scoring_budget` that scoring likely reaches, which leaves the job unscored."""
    cut_by: Axis | None
    """The cap that likely ends the job."""
    proposals: float | None
    """How many its budget likely allows."""
    wanted: float | None
    """How many the trainer would make without a budget."""
    assumed: tuple[str, ...]
    """What no past run tells, so that a default stands for it."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What the whole run is expected to use, with `seconds` as wall time at its workers."""

    amounts: Estimate
    cut_by: Axis | None
    jobs: Mapping[str, JobEstimate]


class Estimator:
    """Estimates jobs from what they declare, with past runs for what a call and an evaluation cost."""

    def __init__(
        self, history: History, prices: PriceTable, *, eval_workers: int = 1, scoring_budget: Budget | None = None
    ) -> None:
        """`scoring_budget` caps the calls of each job's scoring."""
        self._history = history
        self._scoring_cap = scoring_budget or Budget()
        self._prices = prices
        self._workers = eval_workers

    def job(self, job: JobSpec, known: Known) -> JobEstimate:
        """Estimate one job."""
        work = self._work(job, known)
        cap = job.budget
        if job.timeout is not None:
            seconds = job.timeout if cap.seconds is None else min(job.timeout, cap.seconds)
            cap = cap.model_copy(update={"seconds": seconds})
        levels: dict[Level, Amounts] = {}
        cut_by: Axis | None = None
        for level in LEVELS:
            levels[level], cut = self._training(job, known, work, level, cap)
            if level == "likely":
                cut_by = cut
        likely = levels["likely"]
        if known.cost is not None and known.cost.to_cap:  # dear calls reach a cap early, cheap ones late
            cheap, _ = self._training(job, known, work, "likely", cap, prices="low")
            levels["low"] = levels["low"].joined(levels["high"], min)
            levels["high"] = levels["high"].joined(cheap, max)
        wanted = known.cost.proposals.likely if known.cost is not None and known.cost.proposals is not None else None
        scoring = Estimate(**{level: self._scoring(job, known, level) for level in LEVELS})
        return JobEstimate(
            amounts=Estimate(**{n: levels[n].plus(getattr(scoring, n).cut(self._scoring_cap)[0]) for n in LEVELS}),
            scoring=scoring,
            scoring_cut_by=scoring.likely.cut(self._scoring_cap)[1],
            cut_by=cut_by,
            proposals=_proposals(wanted, known, likely, work),
            wanted=wanted,
            assumed=tuple(self._assumed(job, known, work)),
        )

    def _work(self, job: JobSpec, known: Known) -> tuple[Range | None, Range | None]:
        """Return evaluations and optimizer calls without a budget: as past jobs used, else as declared, else up to their caps.

        What a budget ended says no more than that it may be as much.
        """
        past = self._history.work(job)
        complete = [work for work in past if work.is_complete]
        declared = (known.cost.evaluations, known.cost.llm_calls) if known.cost is not None else (None, None)
        if complete:
            return (
                _learned([w.evaluations for w in complete], [w.evaluations for w in past], declared[0]),
                _learned([w.llm_calls for w in complete], [w.llm_calls for w in past], declared[1]),
            )
        if known.cost is not None:
            return (
                _at_least(known.cost.evaluations, [w.evaluations for w in past]),
                _at_least(known.cost.llm_calls, [w.llm_calls for w in past]),
            )
        return _up_to(job.budget.evaluations), _up_to(job.budget.llm_calls)

    def _training(
        self,
        job: JobSpec,
        known: Known,
        work: tuple[Range | None, Range | None],
        level: Level,
        cap: Budget,
        *,
        prices: Level | None = None,
    ) -> tuple[Amounts, Axis | None]:
        """Return what training uses up to its end and the cap that ends it: work at `level`, each call and evaluation at `prices`.

        A trainer that goes on to the cap heeds the job's budget alone, and not its timeout.
        """
        evaluations, calls = (None if amount is None else float(getattr(amount, level)) for amount in work)
        amounts = self._priced(job, known, evaluations=evaluations, calls=calls, level=prices or level)
        start = self._priced(job, known, evaluations=_start(known), calls=0.0, level=prices or level)
        end: Axis | None = None
        if known.cost is not None and known.cost.to_cap:
            amounts, end = amounts.extended(job.budget, start=start)
        amounts, cut = amounts.cut(cap, start=start)
        return amounts, cut or end

    def _scoring(self, job: JobSpec, known: Known, level: Level) -> Amounts:
        scored = self._priced(
            job, known, evaluations=float(getattr(known.scoring, level)), calls=0.0, level=level, workers=1
        )
        return Amounts(0.0, scored.llm_calls, scored.tokens, scored.usd, scored.seconds)

    def _priced(
        self,
        job: JobSpec,
        known: Known,
        *,
        evaluations: float | None,
        calls: float | None,
        level: Level,
        workers: int | None = None,
    ) -> Amounts:
        """Return what evaluations and optimizer calls come to on all axes."""
        if evaluations is None or calls is None:
            return Amounts(evaluations, calls)
        by_program = evaluations * self._program_calls(job, known, level)
        parts: list[tuple[Role, float]] = [("optimizer", calls), ("agent", by_program)]
        tokens, usd, seconds = 0.0, 0.0, 0.0
        unpriced = False
        for role, number in parts:
            if number == 0:
                continue
            cost = self._call(job, role, level)
            tokens += number * (cost.prompt + cost.completion)
            price = self._usd(job, role, cost)
            unpriced = unpriced or price is None
            usd += number * (price or 0.0)
            if role == "optimizer":
                seconds += number * cost.seconds
        seconds += evaluations * self._evaluation_seconds(job, known, level) / (workers or self._workers)
        return Amounts(evaluations, calls + by_program, tokens, None if unpriced else usd, seconds)

    def _call(self, job: JobSpec, role: Role, level: Level) -> CallCost:
        past = self._history.calls.get(self._caller(job, role))
        if past:
            columns = [_widened(range_of(column)) for column in zip(*past, strict=True)]
            return CallCost(*(float(getattr(column, level)) for column in columns))
        seconds = STUB_CALL_SECONDS if job.mode == "stub" else DEFAULT_CALL_SECONDS
        return CallCost(
            getattr(DEFAULT_PROMPT, level), getattr(DEFAULT_COMPLETION, level), 0.0, getattr(seconds, level)
        )

    def _usd(self, job: JobSpec, role: Role, cost: CallCost) -> float | None:
        price = self._prices.price(job.models[role])
        if price is None:
            return None
        cached = price.prompt if price.cached is None else price.cached
        fresh = cost.prompt - cost.cached
        return (fresh * price.prompt + cost.cached * cached + cost.completion * price.completion) / 1e6

    def _program_calls(self, job: JobSpec, known: Known, level: Level) -> float:
        if not known.uses_model:
            return 0.0
        past = range_of(self._history.program_calls.get(kind_of(job), ()))
        return float(getattr(past or CALLS_PER_EVALUATION, level))

    def _evaluation_seconds(self, job: JobSpec, known: Known, level: Level) -> float:
        past = range_of(self._history.evaluation_seconds.get((job.task_id, job.mode), ()))
        if past is not None:
            return float(getattr(past, level))
        asking = self._call(job, "agent", level).seconds if known.uses_model else 0.0
        return float(getattr(DEFAULT_EVALUATION_SECONDS, level)) + asking

    def _assumed(self, job: JobSpec, known: Known, work: tuple[Range | None, Range | None]) -> list[str]:
        said = []
        if (job.task_id, job.mode) not in self._history.evaluation_seconds:
            said.append(f"{DEFAULT_EVALUATION_SECONDS.likely:g} s an evaluation")
        calls = work[1]
        roles: list[Role] = ["optimizer"] if calls is not None and calls.high else []
        roles += ["agent"] if known.uses_model else []
        if known.uses_model and kind_of(job) not in self._history.program_calls:
            said.append(f"{CALLS_PER_EVALUATION.likely:g} model call an evaluation, where an agent makes many")
        if any(self._caller(job, role) not in self._history.calls for role in roles):
            said.append(f"{DEFAULT_PROMPT.likely:g} + {DEFAULT_COMPLETION.likely:g} tokens a call")
        return said

    @staticmethod
    def _caller(job: JobSpec, role: Role) -> Caller:
        return Caller(job.task_id, job.trainer_id, role, job.models[role].model)


def estimate_run(jobs: Mapping[str, JobEstimate], *, run_budget: Budget, workers: int) -> RunEstimate:
    """Add jobs up to a run, with wall time at so many workers, and cut it by the run's own budget."""
    together = total_estimate([job.amounts for job in jobs.values()])
    longest = [max((getattr(j.amounts, level).seconds or 0.0 for j in jobs.values()), default=0.0) for level in LEVELS]
    levels: list[Amounts] = []
    cut_by: Axis | None = None
    for level, least in zip(LEVELS, longest, strict=True):
        amounts: Amounts = getattr(together, level)
        wall = None
        if amounts.seconds is not None:
            wall = max(amounts.seconds / max(1, min(workers, len(jobs))), least) + STARTUP_SECONDS
        spread = Amounts(amounts.evaluations, amounts.llm_calls, amounts.tokens, amounts.usd, wall)
        kept, cut = spread.cut(run_budget)
        levels.append(kept)
        cut_by = cut if level == "likely" else cut_by
    return RunEstimate(Estimate(*levels), cut_by, jobs)


def too_few_proposals(estimate: JobEstimate) -> bool:
    """Tell whether a job's budget allows fewer than three proposals of a trainer that would make more."""
    few = estimate.proposals is not None and estimate.proposals < FEW_PROPOSALS
    return few and estimate.wanted is not None and estimate.wanted >= FEW_PROPOSALS


def _learned(complete: list[int], all_past: list[int], declared: Range | None) -> Range:
    """Return the range that past jobs of the same settings show; of a single one, what is declared says how far others may go."""
    least, most = min(complete), max(complete)
    high = most + (most - least)
    if len(complete) == 1 and declared is not None:
        least, high = min(least, math.floor(declared.low)), max(high, math.ceil(declared.high))
    return Range(low=least, likely=round(math.fsum(complete) / len(complete)), high=max(high, *all_past))


def _widened(seen: Range | None) -> Range | None:
    """Return a range for means that come: what n jobs showed holds the next one in (n-1) of (n+1) cases only."""
    if seen is None:
        return None
    beyond = max(seen.high - seen.low, LEAST_SPREAD * seen.likely)
    return Range(low=max(seen.low / 2, seen.low - beyond), likely=seen.likely, high=seen.high + beyond)


def _at_least(declared: Range | None, past: list[int]) -> Range | None:
    """Return what is declared, with a high end that is no lower than what was seen."""
    if declared is None or not past:
        return declared
    return declared.model_copy(update={"high": max(declared.high, *past)})


def _up_to(cap: int | None) -> Range | None:
    return None if cap is None else Range(low=0, likely=cap, high=cap)


def _start(known: Known) -> float:
    return 0.0 if known.cost is None else known.cost.start


def _proposals(
    wanted: float | None, known: Known, used: Amounts, work: tuple[Range | None, Range | None]
) -> float | None:
    """Return how many proposals fit: in proportion to the evaluations after those before the first."""
    evaluations, start = work[0], _start(known)
    if wanted is None or evaluations is None or used.evaluations is None or evaluations.likely <= start:
        return wanted
    return wanted * max(0.0, used.evaluations - start) / (evaluations.likely - start)
