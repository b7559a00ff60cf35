"""Read a job's experiments from its events: any trainer's, on any run directory, without opening the task."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tracebench_autoresearch.history.confirmation import Confirmation, read_confirmation
from tracebench_autoresearch.statistics.drift import ALARM
from tracebench_autoresearch.trainer.confirming import ROUND
from tracebench_autoresearch.trainer.loop import DRIFT
from tracebench_core.specs import Candidate
from tracebench_core.specs.events import CandidateSeen, Decision, EvaluationDone, MetricLogged, SuiteRecord
from tracebench_engine.api.records import Run

RECORD = "autoresearch.outcome"
_STATUS = {"accepted": "keep", "rejected": "discard", "indecisive": "indecisive"}


@dataclass(slots=True)
class Experiment:
    """One candidate, how it measured, and what became of it."""

    number: int
    candidate: str
    time: str
    description: str
    parents: tuple[str, ...]
    values: list[float] = field(default_factory=list)
    """The metric, one value for each measurement that succeeded."""
    metrics: list[dict[str, float]] = field(default_factory=list)
    outcome: str = ""
    """Of the last measurement: `measured`, `crashed`, `timed out`, …"""
    verdict: str = ""
    reason: str = ""
    beside: list[str] = field(default_factory=list)
    """Candidates that were measured at the same time as any of its measurements."""
    is_ablation: bool = False
    """Made by the confirmation, of what was kept."""

    @property
    def status(self) -> str:
        """`baseline`, `keep`, `discard`, `indecisive`, `ablation`, or how it ended; `measured` under a trainer that decides nothing."""
        if self.is_ablation:
            return "ablation"
        if self.outcome not in {"measured", ""} and not self.values:
            return self.outcome
        if self.number == 0:
            return "baseline"
        return _STATUS.get(self.verdict, self.outcome or "measured")

    @property
    def value(self) -> float | None:
        """The mean of the metric."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def spread(self) -> float | None:
        """The standard deviation of one measurement; None for fewer than two."""
        if self.value is None or len(self.values) < 2:  # noqa: PLR2004 - a spread needs two
            return None
        return math.sqrt(math.fsum((v - self.value) ** 2 for v in self.values) / (len(self.values) - 1))

    def mean_of(self, name: str) -> float | None:
        """Return the mean of one of its other metrics, where it was measured."""
        found = [metrics[name] for metrics in self.metrics if name in metrics]
        return math.fsum(found) / len(found) if found else None


@dataclass(frozen=True, slots=True)
class History:
    """A job as a sequence of experiments."""

    job: str
    task: str
    trainer: str
    metric: str
    direction: str
    revision: str
    policy: str
    experiments: tuple[Experiment, ...]
    self_reported: bool
    """Whether nothing but the candidates' own word stands for the metric."""
    best: str
    """The candidate that stands at the end: the last one kept, or where nothing is decided the one that the run reports."""
    confirmation: Confirmation | None
    """What stands of what was kept, measured anew."""
    drift: float
    """The most evidence, up to now, that what is kept does not go on measuring the same."""

    @property
    def drifts(self) -> bool:
        """Say whether that is enough to say so."""
        return self.drift >= ALARM

    @property
    def kept(self) -> list[Experiment]:
        """The baseline and what was kept, oldest first."""
        if any(e.verdict for e in self.experiments):
            return [e for e in self.experiments if e.number == 0 or e.verdict == "accepted"]
        return [e for e in self.experiments if e.number == 0 or e.candidate == self.best]


def read_history(run: Run, job_id: str) -> History:
    """Return the experiments of one job, in the order in which they were proposed."""
    spec, events = run.job(job_id), run.events(job_id)
    facts = next((e.data for e in events if isinstance(e, SuiteRecord) and e.name == RECORD), {})
    metric = str(facts.get("metric", "score"))
    experiments = _experiments(events, metric)
    accepted = [e.candidate for e in experiments if e.verdict == "accepted"]
    decided = any(e.verdict for e in experiments)
    result = run.results[job_id]
    reported = result.best_candidate or "c0"
    return History(
        job=job_id,
        task=spec.task_id,
        trainer=spec.trainer_id,
        metric=metric,
        direction=str(facts.get("direction", "maximize")),
        revision=str(facts.get("revision", "")),
        policy=str(spec.params.get("policy", "edit_then_commit")),
        experiments=experiments,
        self_reported="score" in result.self_reported,
        best=accepted[-1] if accepted else "c0" if decided else reported,
        confirmation=read_confirmation(events),
        drift=max((e.value for e in events if isinstance(e, MetricLogged) and e.name == DRIFT), default=1.0),
    )


def _experiments(events: Iterable[Any], metric: str) -> tuple[Experiment, ...]:
    """Gather what was said of each candidate; a suite's records may stand before their candidate's first appearance."""
    found: dict[str, Experiment] = {}
    outcomes: dict[str, str] = {}
    beside: dict[str, set[str]] = {}
    confirming = False
    for event in events:
        confirming = confirming or (isinstance(event, MetricLogged) and event.name == ROUND)
        if isinstance(event, CandidateSeen):
            words = (event.origin, event.parents)
            found[event.id] = Experiment(len(found), event.id, event.t, *words, is_ablation=confirming)
        elif isinstance(event, EvaluationDone) and event.by == "trainer" and event.candidate in found:
            _add(found[event.candidate], event, metric)
        elif isinstance(event, SuiteRecord) and event.name == RECORD:
            outcomes[event.candidate] = str(event.data.get("outcome", ""))
            beside.setdefault(event.candidate, set()).update(_names(event.data.get("beside")))
        elif isinstance(event, Decision) and event.candidate in found:
            found[event.candidate].verdict, found[event.candidate].reason = event.verdict, event.reason
    for candidate, outcome in outcomes.items():
        if candidate in found:
            found[candidate].outcome = outcome
            found[candidate].beside = sorted(beside[candidate])
    return tuple(found.values())


def _names(listed: Any) -> list[str]:
    return [str(name) for name in listed] if isinstance(listed, list) else []


def _add(experiment: Experiment, event: EvaluationDone, metric: str) -> None:
    if event.status == "ok":
        experiment.values.append(event.metrics.get(metric, event.score))
        experiment.metrics.append(event.metrics)


def find_candidate(run: Run, job_id: str, candidate: str) -> Candidate:
    """Return a candidate with its files in full.

    Raises:
        StopIteration: never for a candidate of the job's own history.
    """
    return next(c for c in run.candidates_of(job_id) if c.id == candidate)
