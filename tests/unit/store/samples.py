"""Jobs and events that the tests of the store have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracebench_core.specs import Budget, BudgetState, JobSpec, TaskVersion
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    ErrorRaised,
    EvaluationDone,
    Event,
    JobFinished,
    JobStarted,
    LLMCall,
    Scored,
    StepFinished,
    StepStarted,
)


def job_spec(**changes: Any) -> JobSpec:
    fields = {
        "job_id": "0123456789ab",
        "task_id": "suite:task",
        "task_version": TaskVersion(),
        "plugin_version": "1.2.3",
        "trainer_id": "Climber",
        "params": {},
        "settings": {},
        "optimizer": None,
        "optimizer_kwargs": {},
        "guide": None,
        "guide_kwargs": {},
        "logger": None,
        "logger_kwargs": {},
        "eval_kwargs": {},
        "seed": 1,
        "mode": "stub",
        "models": {},
        "budget": Budget(),
    }
    return JobSpec(**(fields | changes))


def started(job: JobSpec | None = None, **changes: Any) -> JobStarted:
    job = job or job_spec()
    fields = {
        "job_id": job.job_id,
        "task": job.task_id,
        "trainer": job.trainer_id,
        "params": job.params,
        "seed": job.seed,
        "budget": job.budget,
        "mode": job.mode,
        "versions": {"core": "0.1.0"},
    }
    return JobStarted(**(fields | changes))


def candidate(name: str = "c0", **changes: Any) -> CandidateSeen:
    return CandidateSeen(**({"id": name, "parents": (), "origin": "", "values": {"x": 1.5}, "step": None} | changes))


def evaluation(name: str = "c0", example: str = "e0", score: float = 1.0, **changes: Any) -> EvaluationDone:
    fields = {"split": "train", "status": "ok", "metrics": {}, "feedback": "", "seconds": 0.0}
    return EvaluationDone(candidate=name, example=example, score=score, **(fields | changes))


def call(**changes: Any) -> LLMCall:
    fields = {
        "call": 0,
        "role": "optimizer",
        "model": "m",
        "status": "ok",
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "usd": 0.5,
    }
    return LLMCall(**(fields | changes))


def whole_job(job: JobSpec | None = None, *, score: float = 2.0) -> Sequence[Event]:
    """Return the events of a small job that went well: two candidates, one step, one model call."""
    used = BudgetState(evaluations=2, llm_calls=1, tokens=15, usd=0.5, seconds=0.5)
    return (
        started(job),
        candidate("c0"),
        evaluation("c0", score=1.0),
        BestChanged(candidate="c0", score=1.0, used=BudgetState(evaluations=1)),
        Scored(what="initial", split="validation", candidate="c0", score=1.0, metrics={"len": 3.0}),
        StepStarted(index=0),
        call(),
        candidate("c1", parents=("c0",), origin="mutate", values={"x": 2.5}, step=0),
        evaluation("c1", score=score, step=0),
        BestChanged(candidate="c1", score=score, used=used, step=0),
        StepFinished(index=0, score=score, best=score, seconds=0.25, used=used),
        Scored(what="best", split="validation", candidate="c1", score=score, metrics={"len": 4.0}),
        Scored(what="best", split="test", candidate="c1", score=score - 0.5, metrics={}),
        JobFinished(status="ok", stop_reason="completed", used=used, seconds=0.75),
    )


def failure(**changes: Any) -> ErrorRaised:
    return ErrorRaised(**({"type": "ValueError", "message": "first\nlast\n", "traceback": "Traceback"} | changes))
