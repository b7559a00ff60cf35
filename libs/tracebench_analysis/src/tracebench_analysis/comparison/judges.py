"""Whose scores count: of each task those of one judge for all jobs, and which one that is.

A run keeps the scores of the judge that it had; `trace-bench regrade` adds those of later ones. Where one judge has scored every job of
a task that has a score, in all runs that are read, its scores count, of several such the latest. Elsewhere each job keeps its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_core.specs.regrade import Regrade
from tracebench_runs.reading.briefs import Brief
from tracebench_runs.reading.reader import Run
from tracebench_runs.results.regrades import latest, read_regrades, rescored

_DIGITS = 8


@dataclass(frozen=True, slots=True)
class _Scores:
    """What is known of the jobs of one task: by run and job its own judge's digest, and its scorings by others."""

    own: dict[tuple[str, str], str]
    others: dict[str, dict[tuple[str, str], Regrade]]


class Judges:
    """Of the tasks of some runs."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._chosen: dict[str, dict[tuple[str, str], Regrade]] = {}
        self.said: list[str] = []
        """By which judge a task's scores are, where jobs have those of several; sentences."""
        for task_id, scores in _read(runs).items():
            self._settle(task_id, scores)

    def brief(self, run: Run, task_id: str, job_id: str) -> Brief:
        """Return what tables need of a job's result, with the scores that count."""
        brief = run.briefs[job_id]
        chosen = self._chosen.get(task_id, {}).get((run.run_id, job_id))
        return brief if chosen is None else brief.replaced(rescored(chosen))

    def comparability(self, task_id: str) -> int | None:
        """Return the comparability of a task's scores where those of one judge count for all jobs; None where each keeps its own."""
        return next((each.comparability for each in self._chosen.get(task_id, {}).values()), None)

    def _settle(self, task_id: str, scores: _Scores) -> None:
        jobs = {*scores.own}
        whole = {
            digest: found
            for digest, found in scores.others.items()
            if all(job in found or scores.own[job] == digest for job in jobs) and found
        }
        if whole:
            chosen = max(whole.values(), key=lambda found: max(each.t for each in found.values()))
            self._chosen[task_id] = {job: each for job, each in chosen.items() if job in jobs}
            judge = next(iter(chosen.values())).judge
            by, again = f"{judge.version} ({judge.digest[:_DIGITS]})", len(self._chosen[task_id])
            self.said.append(f"{task_id}: scored by {by} in all {len(jobs)} jobs, {again} of them regraded.")
        elif len(told := {digest for digest in scores.own.values() if digest}) > 1:
            shown = ", ".join(sorted(digest[:_DIGITS] for digest in told))
            self.said.append(
                f"{task_id}: scored by {len(told)} judges ({shown}); `trace-bench regrade RUN` makes it one."
            )
        elif scores.others:
            regraded_jobs = {job for found in scores.others.values() for job in found}
            self.said.append(
                f"{task_id}: {len(regraded_jobs)} of {len(jobs)} jobs are regraded; each counts as its run scored it."
            )


def _read(runs: Sequence[Run]) -> dict[str, _Scores]:
    found: dict[str, _Scores] = defaultdict(lambda: _Scores({}, defaultdict(dict)))
    for run in runs:
        later = latest(read_regrades(run.layout, trust=run.trust))
        for job_id, brief in run.briefs.items() if later or len(runs) > 1 else ():
            if brief.score_val_best is not None or brief.score_test is not None:
                found[brief.task_id].own[run.run_id, job_id] = brief.judge.digest if brief.judge else ""
        for (job_id, digest), regrade in later.items():
            found[regrade.task_id].others[digest][run.run_id, job_id] = regrade
    return found
