"""Run directories whose jobs have events: climbs of chosen heights, measured, called for and scored as the engine does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.unit.store.samples import job_spec

from tracebench_core.ids import content_hash
from tracebench_core.specs import Budget, BudgetState, JobSpec, ModelIdentity
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    EvaluationDone,
    Event,
    ExamplesKnown,
    JobFinished,
    JobStarted,
    LLMCall,
    Scored,
)
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.reading.reader import Run, load_run
from tracebench_runs.results.results import write_result
from tracebench_runs.storage.layout import RunLayout

Heights = Callable[[str, str, int], Sequence[float]]
"""Of each candidate of a trainer's job on a task with a seed."""


def events_of(job: JobSpec, heights: Sequence[float], *, usd: float | None = 0.25) -> list[Event]:
    """Return a job's events: each candidate but the first is called for, each is measured once, and the best is scored on both splits."""
    events: list[Event] = [
        JobStarted(job_id=job.job_id, task=job.task_id, trainer=job.trainer_id, params={}, seed=job.seed, budget=job.budget,
                   mode="stub", versions={}),
        ExamplesKnown(train=("e",), validation=("v",)),
    ]  # fmt: skip
    best = -1
    for i, height in enumerate(heights):
        mono = 10.0 * i + 3
        if i:
            events.append(
                LLMCall(call=i, role="optimizer", model="m", status="ok", prompt_tokens=90, completion_tokens=10 * i, usd=usd,
                        mono=mono)
            )  # fmt: skip
        parents = (f"c{best}",) if i else ()
        events.append(
            CandidateSeen(id=f"c{i}", parents=parents, origin="", values={"x": f"say {i}\nand <{i}>"}, step=None)
        )
        events.append(
            EvaluationDone(candidate=f"c{i}", split="train", example="e", score=height, status="ok", metrics={}, feedback="",
                           seconds=0.5 + i, mono=mono + 1)
        )  # fmt: skip
        if best < 0 or height > heights[best]:
            best = i
            used = BudgetState(
                evaluations=i + 1,
                llm_calls=i,
                tokens=90 * i + 5 * i * (i + 1),
                usd=None if usd is None else usd * i,
                seconds=mono,
            )
            events.append(BestChanged(candidate=f"c{i}", score=height, used=used, mono=mono + 1))
    for what, at in (("initial", 0), ("best", best)):
        for split, less in (("validation", 0.0), ("test", 0.125)):
            events.append(
                Scored(what=what, split=split, candidate=f"c{at}", score=heights[at] - less, metrics={})  # type: ignore[arg-type]
            )
    n = len(heights)
    used = BudgetState(
        evaluations=n, llm_calls=n - 1, tokens=90 * (n - 1) + 5 * n * (n - 1), usd=None if usd is None else usd * (n - 1),
        seconds=10.0 * n,
    )  # fmt: skip
    return [*events, JobFinished(status="ok", stop_reason="completed", used=used, seconds=10.0 * n + 2)]


def make_logged(
    folder: Path,
    heights: Heights,
    *,
    trainers: Sequence[str] = ("A", "B"),
    tasks: Sequence[str] = ("s:x", "s:y"),
    seeds: Sequence[int] = (0, 1, 2),
    budget: Budget | None = None,
    usd: float | None = 0.25,
) -> Run:
    """Write a run."""
    layout = RunLayout(folder).create()
    jobs = []
    for task in tasks:
        for trainer in trainers:
            for seed in seeds:
                job = job_spec(
                    job_id=content_hash(f"{task} {trainer} {seed}".encode())[:12], task_id=task, trainer_id=trainer, seed=seed,
                    models={"optimizer": ModelIdentity(provider="p", model="m")}, budget=budget or Budget(),
                )  # fmt: skip
                jobs.append(job)
                now = [0.0]
                writer = EventWriter(layout.job(job.job_id).fresh(), clock=lambda: 0, monotonic=lambda now=now: now[0])
                events = events_of(job, heights(trainer, task, seed), usd=usd)
                for event in events:
                    now[0] = max(now[0], event.mono)
                    writer.append(event)
                writer.close(durable=False)
                write_result(layout.job(job.job_id), reduce_job(events), durable=False)
    write_manifest(layout, {"tasks": {task: {"comparability": 1} for task in tasks}}, jobs, durable=False)
    return load_run(folder)
