"""May jobs of several runs be pooled? The fields in which they differ, and which of these forbid it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from tracebench_analysis.comparison.entrants import models_of
from tracebench_analysis.comparison.judges import Judges
from tracebench_core.errors import UsageError, quoted
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Axis, JobSpec, Split, SplitData
from tracebench_runs.meta.planned import kinds_of, series_of
from tracebench_runs.reading.reader import Run

FORBIDDING_TASK_FIELDS = ("comparability", "source", "salt", "aggregate")
"""Of a task's entry in the manifest: scores that differ in one of these measure different things."""
DEMONSTRATOR = "stub-with-answers"
"""The model of `llm.stub: answers`."""
TOLD_RUN_FIELDS = {
    "prices": "prices",
    "sandbox": "protection level",
    "versions": "versions",
}
"""Of the manifest: what may differ, but is told."""
PLURAL = frozenset({"prices", "versions"})
_DIGITS = 18
LONGEST_VALUE = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """One field in which runs differ."""

    field: str
    values: Mapping[str, tuple[str, ...]]
    """The runs that have each value, by the value as text."""
    forbids: bool
    hint: str = ""
    """The command that makes the runs alike, where there is one."""

    def __str__(self) -> str:
        words = _told_apart([*self.values])
        each = "; ".join(
            f"{_short(word)} in {', '.join(runs)}" for word, runs in zip(words, self.values.values(), strict=True)
        )
        return f"{self.field} {'differ' if self.field in PLURAL else 'differs'}: {each}"


def is_demonstration(run: Run) -> bool:
    """Tell whether any of the run's jobs was answered by the stub that shows shipped answers."""
    return any(identity.model == DEMONSTRATOR for job in kinds_of(run.planned) for identity in job.models.values())


def refuse_demonstrations(runs: Sequence[Run]) -> None:
    """Refuse runs whose model showed the answers that tasks ship: which trainer met them first is chance.

    Raises:
        UsageError: naming the first such run.
    """
    for run in runs:
        if is_demonstration(run):
            raise UsageError(
                f"Run `{run.run_id}` was answered by `{DEMONSTRATOR}`, which shows answers that its tasks ship: it demonstrates the "
                "tasks, and compares nothing.",
                hint=f"trace-bench show {quoted(run.layout.path)}",
            )


def pooling_findings(runs: Sequence[Run], *, axis: Axis | None = None) -> list[Finding]:
    """Return in what the runs differ that are to be compared, what forbids it first; prices forbid a comparison by USD."""
    found = [*_of_tasks(runs), *_of_data(runs), *_of_heads(runs, axis=axis), *_of_jobs(runs)]
    return sorted(found, key=lambda finding: not finding.forbids)


def refuse_unpoolable(findings: Sequence[Finding]) -> None:
    """Refuse runs that differ in what they measured.

    Raises:
        UsageError: naming the first field that forbids pooling, and both values.
    """
    for finding in findings:
        if finding.forbids:
            runs = [runs[0] for runs in finding.values.values()]
            alone = f"compare one of them alone: trace-bench compare {quoted(runs[-1])}"
            raise UsageError(f"These runs cannot be pooled: {finding}.", hint=finding.hint or alone)


def _of_tasks(runs: Sequence[Run]) -> Iterator[Finding]:
    judges = Judges(runs)
    entries: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for run in runs:
        for task_id, entry in run.manifest.get("tasks", {}).items():
            entries[task_id].append((run.run_id, entry))
    for task_id, found in entries.items():
        for name in FORBIDDING_TASK_FIELDS:
            values = _by_value((run_id, entry[name]) for run_id, entry in found if name in entry)
            one_judge = name == "comparability" and judges.comparability(task_id) is not None
            if len(values) > 1 and not one_judge:
                again = _older(values) if name == "comparability" else ""
                yield Finding(f"`{name}` of task `{task_id}`", values, forbids=True, hint=again)
        if judges.comparability(task_id) is None:
            yield from _of_scale(task_id, found)


def _older(values: Mapping[str, tuple[str, ...]]) -> str:
    """Return what scores the run of the lowest comparability by the judge that is installed."""
    run = values[min(values, key=json.loads)][0]
    return f"score what it found by the judge of today: trace-bench regrade {quoted(run)}"


def _of_scale(task_id: str, found: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Compare between which bounds scores lie, and when a task counts as solved: 0 to 1 here and 0 to 100 there are two scales.

    A bound that one run does not have, as before it was declared, is told; two that differ forbid.
    """
    each = [(run_id, entry["score_bounds"]) for run_id, entry in found if "score_bounds" in entry]
    if len(values := _by_value(each)) > 1:
        sides = ({b[side] for _, b in each} - {None} for side in ("minimum", "maximum"))
        yield Finding(f"`score_bounds` of task `{task_id}`", values, forbids=any(len(side) > 1 for side in sides))
    targets = _by_value((run_id, entry["target"]) for run_id, entry in found if "target" in entry)
    if len(targets) > 1:
        yield Finding(f"`target` of task `{task_id}`", targets, forbids=False)


def _of_data(runs: Sequence[Run]) -> Iterator[Finding]:
    """Compare what the jobs of a task found in its splits; runs of before this was told say nothing of it."""
    found: dict[tuple[str, str], dict[str, set[tuple[Split, SplitData]]]] = {}
    for run in runs if len(runs) > 1 else ():
        for part in series_of(run.planned):
            job = part.like
            told = [b.data for job_id in part.ids if (b := run.briefs[job_id]).data or b.status == "ok"]
            if told:
                options = canonical_json([job.eval_kwargs, job.guide, job.guide_kwargs]).decode()
                by_run = found.setdefault((job.task_id, options), {})
                by_run.setdefault(run.run_id, set()).update(item for data in told for item in data.items())
    for (task_id, _), by_run in found.items():
        for split in get_args(Split):
            data = {run_id: {one for name, one in told if name == split} for run_id, told in by_run.items()}
            values = _by_value((run_id, _words(data[run_id], told=bool(by_run[run_id]))) for run_id in by_run)
            if len(values) > 1:
                differs = any(
                    len(told) > 1
                    for told in (
                        {one.examples for ones in data.values() for one in ones},
                        {one.sha256 for ones in data.values() for one in ones} - {None},
                    )
                )
                yield Finding(
                    f"data of split `{split}` of task `{task_id}`", values, forbids=differs and split != "train"
                )


def _words(data: set[SplitData], *, told: bool) -> str:
    each = (f"{one.examples} examples {(one.sha256 or 'of unknown content')[:_DIGITS]}" for one in data)
    return "; ".join(sorted(each)) or ("none" if told else "not told")


def _of_heads(runs: Sequence[Run], *, axis: Axis | None) -> Iterator[Finding]:
    for name, words in TOLD_RUN_FIELDS.items():
        values = _by_value((run.run_id, run.manifest[name]) for run in runs if name in run.manifest)
        if len(values) > 1:
            yield Finding(words, values, forbids=name == "prices" and axis == "usd")


def _of_jobs(runs: Sequence[Run]) -> Iterator[Finding]:
    first: list[tuple[str, JobSpec]] = [(run.run_id, run.planned[0]) for run in runs if run.planned]
    modes = _by_value((run_id, job.mode) for run_id, job in first)
    if len(modes) > 1:
        yield Finding("`mode`", modes, forbids=True)
    models = _by_value((run.run_id, sorted({models_of(job) for job in kinds_of(run.planned)})) for run in runs)
    if len(models) > 1:
        yield Finding("model", models, forbids=False)
    caps = _by_value((run_id, job.budget.model_dump(exclude_none=True)) for run_id, job in first)
    if len(caps) > 1:
        yield Finding("budget", caps, forbids=False)


def _by_value(pairs: Any) -> dict[str, tuple[str, ...]]:
    values: dict[str, list[str]] = defaultdict(list)
    for run_id, value in pairs:
        values[canonical_json(value).decode()].append(run_id)
    return {value: tuple(runs) for value, runs in values.items()}


def _told_apart(values: Sequence[str]) -> list[str]:
    """Return values, given as JSON, in words; of objects only the entries that not all of them have."""
    each = [dict(_entries(json.loads(value))) for value in values]
    shared = set.intersection(*({*entries.items()} for entries in each)) if each else set()
    told = [{name: value for name, value in entries.items() if (name, value) not in shared} for entries in each]
    return [", ".join(f"{name} {value}".strip() for name, value in entries.items()) or "none" for entries in told]


def _entries(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield an object's entries, those of its objects by their names one after another, or anything else as one entry."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entries(inner, f"{name} {key}".strip())
    elif isinstance(value, list):
        yield name, ", ".join(one if isinstance(one, str) else canonical_json(one).decode() for one in value)
    else:
        yield name, value if isinstance(value, str) else "none" if value is None else canonical_json(value).decode()


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
