"""One outcome per job: the score that counts, what stands for a missing one, and what was used."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tracebench_analysis.comparison.entrants import EntrantKey, entrant_of, name_entrants, name_tasks
from tracebench_analysis.comparison.judges import Judges
from tracebench_analysis.recap import MEASURES, Measure
from tracebench_analysis.statistics.anchors import Anchors, find_anchors
from tracebench_analysis.whatif import recap_job
from tracebench_core.specs import Bounds, Budget, Gain, JobSpec, JobStatus, ProposalCounts
from tracebench_runs.events.ranking import FindAggregate, mean_alone
from tracebench_runs.meta.planned import series_of
from tracebench_runs.reading.briefs import Brief, Used, used_of
from tracebench_runs.reading.reader import Run
from tracebench_runs.results.rows import TaskKey, group_of

FailurePolicy = Literal["initial", "worst", "exclude"]
"""What a job counts for that ended without a score: its task's initial score, the task's lowest score, or nothing.

Where no job of an entrant has a score, none of them counts for anything: nothing was measured that the others could stand beside.
"""
ENDED: frozenset[JobStatus] = frozenset({"ok", "failed", "timeout"})
"""Jobs that ended in another way were not run to their end by their trainer: they count nowhere, and are told."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one job came to; of what it used and how it ended it holds no copy, for there may be 100,000."""

    run_id: str
    job_id: str
    task: str
    entrant: str
    seed: int
    status: JobStatus
    score: float | None
    """Measured, on the task's measure; None where it was not."""
    value: float | None
    """The score, or what the failure policy puts in its place; None where the job counts for nothing."""
    initial: float | None
    """The initial candidate's score on the same measure."""
    gap: float | None
    """The chosen candidate's gain on validation - its gain on test; None without both."""
    briefs: Mapping[str, Brief] = field(repr=False)
    """Of its run."""
    used_at_cap: Used | None = None
    """None where nothing was cut."""
    gain: Gain | None = None
    """Of the score over the initial candidate's, by content and form; None where it was not measured so."""
    times: tuple[float, ...] = ()
    """Of a score that is the mean of several measurements from the same inputs, each of them."""

    @property
    def used(self) -> Used:
        """What training used, up to the cap where there is one."""
        return self.used_at_cap or self.briefs[self.job_id].used

    @property
    def seconds(self) -> float:
        """Of training."""
        return self.briefs[self.job_id].time_seconds

    @property
    def stop_reason(self) -> str:
        """As the job's result tells it."""
        return self.briefs[self.job_id].stop_reason

    @property
    def error(self) -> str:
        """Type and message of what ended it; empty where nothing did."""
        return self.briefs[self.job_id].failure

    @property
    def proposals(self) -> ProposalCounts:
        """What became of what the model was asked to propose."""
        return self.briefs[self.job_id].proposals


@dataclass(frozen=True, slots=True)
class Outcomes:
    """All jobs that are compared."""

    outcomes: tuple[Outcome, ...]
    measures: Mapping[str, Measure]
    """By task, what its scores are: never two on one task."""
    anchors: Mapping[str, Anchors]
    entrants: tuple[str, ...]
    tasks: tuple[str, ...]
    keys: Mapping[str, EntrantKey]
    repeated: int
    """Jobs that a later run repeats: of those the last counts."""
    targets: Mapping[str, float]
    """By task, the score that it declares as its target."""
    bounds: Mapping[str, Bounds]
    """By task, between which its scores lie, where it says so."""
    judged: tuple[str, ...] = ()
    """Whose scores count, in sentences, where there is more to say than that each job keeps its own."""

    def scores(self, entrant: str, *, normalised: bool) -> dict[str, dict[int, float]]:
        """Return an entrant's values by task and seed, where there is one."""
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for outcome in self.of(entrant):
            if outcome.value is not None:
                found[outcome.task][outcome.seed] = (
                    self.anchors[outcome.task].normalise(outcome.value) if normalised else outcome.value
                )
        return dict(found)

    def of(self, entrant: str) -> list[Outcome]:
        """Return an entrant's outcomes."""
        return [outcome for outcome in self.outcomes if outcome.entrant == entrant]

    def counts(self, outcomes: Iterable[Outcome]) -> Counter[JobStatus]:
        """Return how many ended how."""
        return Counter(outcome.status for outcome in outcomes)


class _Cut(NamedTuple):
    """What is kept of a job as it was at a cap."""

    status: JobStatus
    is_begun: bool
    """Whether it had compared anything."""
    scores: Mapping[Measure, float | None]
    used: Used


@dataclass(frozen=True, slots=True)
class _Job:
    run: Run
    job_id: str
    task: TaskKey
    entrant: EntrantKey
    judges: Judges | None
    cut: _Cut | None

    def read(self) -> Brief:
        """Return what it came to; not held, for there may be 100,000 jobs."""
        if self.judges is None:
            return self.run.briefs[self.job_id]
        return self.judges.brief(self.run, self.task.task_id, self.job_id)

    def on(self, measure: Measure, result: Brief) -> float | None:
        if self.cut is not None:
            return self.cut.scores[measure]
        return _finite(result.score_test if measure == "test" else result.score_val_best)

    def times_on(self, measure: Measure, result: Brief) -> tuple[float, ...]:
        if self.cut is not None:
            return ()
        return result.score_test_repeats if measure == "test" else result.score_val_repeats

    def gain_on(self, measure: Measure, result: Brief) -> Gain | None:
        gain = result.gain if self.cut is None else None
        return gain if gain is not None and (gain.split == "test") == (measure == "test") else None

    def counted_on(self, measure: Measure, result: Brief) -> float | None:
        """Return its score; None where it ended without one that counts."""
        status = result.status if self.cut is None else self.cut.status
        return self.on(measure, result) if result.status in ENDED and status != "failed" else None


def _initial_on(measure: Measure, result: Brief) -> float | None:
    return _finite(result.score_test_initial if measure == "test" else result.score_val_initial)


@dataclass(frozen=True, slots=True)
class _Scale:
    name: str
    measure: Measure
    anchors: Anchors | None
    lowest: float | None
    measured: frozenset[EntrantKey]
    """Who has a score."""


def unscored(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the jobs that ended without a score."""
    return [o for o in outcomes if o.status in ENDED and o.score is None]


def read_outcomes(
    runs: Sequence[Run],
    *,
    policy: FailurePolicy = "initial",
    caps: Budget | None = None,
    by_run: bool = False,
    find: FindAggregate = mean_alone,
) -> Outcomes:
    """Read what the jobs of several runs came to; under `caps`, what they had come to there (see `trace-bench recap`).

    A task's scores are those on test when any of its jobs has one, else on validation; under `caps` the first of test, validation and
    best so far that is known for every job of the task that had a candidate; what was regraded counts without caps
    alone. `by_run` keeps the entrants of each run apart. `find` tells how a task makes one score of many: it is asked under `caps` alone.
    """
    jobs: dict[tuple[TaskKey, EntrantKey, int], _Job] = {}
    targets, bounds = _targets(runs), _bounds(runs)
    judges = Judges(runs) if caps is None else None
    labels: dict[EntrantKey, str] = {}
    known: dict[Any, Any] = {}
    repeated = 0
    for run in runs:
        for part in series_of(run.planned):
            like = part.like
            task, entrant = _task_of(like, judges), entrant_of(like, run=run.run_id if by_run else "")
            task, entrant = known.setdefault(task, task), known.setdefault(entrant, entrant)
            labels[entrant] = like.label or labels.get(entrant, "")
            for job_id, seed in zip(part.ids, part.seeds, strict=True):
                brief, place = run.briefs[job_id], (task, entrant, seed)
                repeated += place in jobs
                if place not in jobs or brief.status != "not_run":
                    jobs[place] = _Job(run, job_id, task, entrant, judges, _cut(run, brief, caps, find))
    entrants = name_entrants((job.entrant for job in jobs.values()), labels)
    tasks = name_tasks(job.task for job in jobs.values())
    by_task: dict[TaskKey, list[_Job]] = defaultdict(list)
    for job in jobs.values():
        by_task[job.task].append(job)
    scales = {
        task: _scale(tasks[task], found, cut=caps is not None, target=targets.get(task.task_id))
        for task, found in by_task.items()
    }
    by_task.clear()
    measured = frozenset[EntrantKey]().union(*(scale.measured for scale in scales.values()))
    return Outcomes(
        outcomes=tuple(
            _outcome(job, entrants[job.entrant], scales[job.task], policy if job.entrant in measured else "exclude")
            for job in _emptied(jobs)
        ),
        measures={scale.name: scale.measure for scale in scales.values()},
        anchors={scale.name: scale.anchors for scale in scales.values() if scale.anchors is not None},
        entrants=tuple(entrants.values()),
        tasks=tuple(tasks.values()),
        keys={name: key for key, name in entrants.items()},
        repeated=repeated,
        targets={tasks[key]: targets[key.task_id] for key in scales if key.task_id in targets},
        bounds={tasks[key]: bounds[key.task_id] for key in scales if key.task_id in bounds},
        judged=tuple(judges.said) if judges is not None else (),
    )


def _emptied(jobs: dict[Any, _Job]) -> Iterator[_Job]:
    """Yield what a dict holds while it lets go of it: there may be 100,000."""
    for place in [*jobs]:
        yield jobs.pop(place)


def _task_of(job: JobSpec, judges: Judges | None) -> TaskKey:
    task = group_of(job).task
    if judges is None or (later := judges.comparability(job.task_id)) is None:
        return task
    return task._replace(version=f"{later}.{job.task_version.interface}")


def _cut(run: Run, brief: Brief, caps: Budget | None, find: FindAggregate) -> _Cut | None:
    if caps is None or brief.status not in ENDED or not (events := run.events(brief.job_id)):
        return None
    recap = recap_job(events, brief, caps=caps, find=find)
    scores = {measure: _finite(read(recap)) for measure, read in MEASURES}
    return _Cut(recap.status, recap.best_candidate is not None, scores, used_of(recap.used))


def _measure(jobs: Sequence[_Job], *, cut: bool) -> Measure:
    ended = ((job, result) for job in jobs if (result := job.read()).status in ENDED)
    if not cut:
        return "test" if any(job.on("test", result) is not None for job, result in ended) else "validation"
    begun = [pair for pair in ended if pair[0].cut is not None and pair[0].cut.is_begun]
    return next(
        (name for name, _ in MEASURES if begun and all(job.on(name, result) is not None for job, result in begun)),
        MEASURES[-1][0],
    )


def _targets(runs: Sequence[Run]) -> dict[str, float]:
    """Return by task the score that it declares as its target; none where runs disagree."""
    declared: dict[str, set[float]] = defaultdict(set)
    for run in runs:
        for task_id, entry in run.manifest.get("tasks", {}).items():
            if (target := _finite(entry.get("target"))) is not None:
                declared[task_id].add(target)
    return {task_id: targets.pop() for task_id, targets in declared.items() if len(targets) == 1}


def _bounds(runs: Sequence[Run]) -> dict[str, Bounds]:
    """Return by task between which its scores lie, as widely as any of the runs says."""
    found: dict[str, Bounds] = {}
    for run in runs:
        for task_id, entry in run.manifest.get("tasks", {}).items():
            low, high = (_finite(entry.get("score_bounds", {}).get(side)) for side in ("minimum", "maximum"))
            before = found.get(task_id, Bounds(minimum=low, maximum=high))
            found[task_id] = Bounds(
                minimum=None if low is None or before.minimum is None else min(low, before.minimum),
                maximum=None if high is None or before.maximum is None else max(high, before.maximum),
            )
    return found


def _scale(name: str, jobs: Sequence[_Job], *, cut: bool, target: float | None) -> _Scale:
    measure = _measure(jobs, cut=cut)
    initial: list[float] = []
    scores: list[float] = []
    measured: set[EntrantKey] = set()
    for job in jobs:
        result = job.read()
        if (at_first := _initial_on(measure, result)) is not None:
            initial.append(at_first)
        if (score := job.counted_on(measure, result)) is not None:
            scores.append(score)
            measured.add(job.entrant)
    anchors = find_anchors(initial, scores, target=target)
    lowest = min([*scores, *([anchors.zero] if anchors else [])], default=None)
    return _Scale(name, measure, anchors, lowest, frozenset(measured))


def _outcome(job: _Job, entrant: str, scale: _Scale, policy: FailurePolicy) -> Outcome:
    result = job.read()
    score = job.counted_on(scale.measure, result)
    value = score
    if score is None and result.status in ENDED and scale.anchors is not None and policy != "exclude":
        value = scale.anchors.zero if policy == "initial" else scale.lowest
    return Outcome(
        run_id=job.run.run_id,
        job_id=result.job_id,
        task=scale.name,
        entrant=entrant,
        seed=result.seed,
        status=result.status,
        score=score,
        value=value,
        initial=_initial_on(scale.measure, result),
        gap=_gap(result),
        briefs=job.run.briefs,
        used_at_cap=job.cut.used if job.cut is not None else None,
        gain=job.gain_on(scale.measure, result) if score is not None else None,
        times=job.times_on(scale.measure, result) if score is not None else (),
    )


def _gap(result: Brief) -> float | None:
    scores = (result.score_val_best, result.score_val_initial, result.score_test, result.score_test_initial)
    if any(_finite(score) is None for score in scores):
        return None
    best, initial, test, test_initial = (score or 0.0 for score in scores)
    return (best - initial) - (test - test_initial)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
