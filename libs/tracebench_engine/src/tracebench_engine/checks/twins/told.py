"""What a recorded job was answered, in order: by its model, and by its task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.specs import JobSpec
from tracebench_core.specs.events import EvaluationDone, JobStarted, LLMCall, TrainingEnded
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.player import LLM_FOLDER, entries
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE
from tracebench_runs.reading.reader import Run

ROLE = "optimizer"


class Call(NamedTuple):
    """One call of the trainer's model: what was asked, and what was answered; `error` in place of an answer."""

    prompt: str
    message: dict[str, Any]
    finish_reason: str
    error: str = ""


class Measured(NamedTuple):
    """What one candidate came to on one example; no score where it could not be measured."""

    score: float | None
    status: str
    feedback: str
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Told:
    """A job as it was answered; candidates are written as `key_of` writes values."""

    calls: tuple[Call, ...]
    candidates: Mapping[str, str]
    """In the order in which they appeared, with their ids; the first is the initial one."""
    measured: tuple[tuple[str, str], ...]
    """Candidate and example of each evaluation that the trainer asked for, in order."""
    results: Mapping[tuple[str, str], tuple[Measured, ...]]
    is_cut: bool
    """A cap ended it."""
    seconds: float
    """Of its training."""
    waited: float
    """Of these, for the model: the sum over its calls."""
    measuring: float
    """Of these, in the task: the sum over its evaluations."""


def key_of(values: Any) -> str:
    """Write values down so that equal ones are alike: numbers by value, texts without blank space at their ends."""
    return json.dumps(_plain(values), sort_keys=True, ensure_ascii=False)


def prompt_of(messages: Any) -> str:
    """Write messages down."""
    return json.dumps([[m.get("role"), m.get("content")] for m in messages], ensure_ascii=False)


def read_told(run: Run, job: JobSpec) -> Told:
    """Read what a job was answered.

    Raises:
        RunDirError: when it has not trained to its end, was not recorded, or its records are damaged.
    """
    events = run.events(job.job_id)
    ended = next((e for e in events if isinstance(e, TrainingEnded)), None)
    if ended is None or ended.status != "ok":
        raise RunDirError(
            f"Job `{job.job_id}` has not trained to its end: it is `{run.results[job.job_id].status}`.",
            hint=f"trace-bench resume {quoted(run.layout.path)}",
        )
    started = next(e for e in events if isinstance(e, JobStarted))
    keys = {c.id: key_of(c.values) for c in run.candidates_of(job.job_id)}
    candidates: dict[str, str] = {}
    for id_, key in keys.items():
        candidates.setdefault(key, id_)
    asked = [e for e in events if isinstance(e, EvaluationDone) and e.by == "trainer"]
    results: dict[tuple[str, str], tuple[Measured, ...]] = {}
    for one in asked:
        place = (keys[one.candidate], one.example)
        results[place] = (*results.get(place, ()), _measured(one, started.worst_score))
    calls = [e for e in events if isinstance(e, LLMCall) and e.phase == "training"]
    return Told(
        calls=_calls(run.layout.path, job.job_id) if calls else (),
        candidates=candidates,
        measured=tuple((keys[one.candidate], one.example) for one in asked),
        results=results,
        is_cut="budget:" in ended.stop_reason,
        seconds=ended.seconds,
        waited=sum(call.seconds for call in calls),
        measuring=sum(one.seconds for one in asked if not one.reused),
    )


def _calls(run_dir: Path, job_id: str) -> tuple[Call, ...]:
    """Return the calls of the trainer's model; of a job that ran twice, those of the last time."""
    folder = run_dir / LLM_FOLDER
    blobs = Blobs(folder / BLOBS_FOLDER)
    found: dict[tuple[str, int], Call] = {}
    for entry in entries(folder / CALLS_FILE):
        if entry["job_id"] != job_id or entry["role"] != ROLE:
            continue
        prompt = prompt_of(json.loads(blobs.get(entry["request"]))["messages"])
        if "error" in entry:
            call = Call(prompt, {}, "", error=entry["error"]["message"])
        else:
            reply = json.loads(blobs.get(entry["reply"]))
            call = Call(prompt, reply["message"], reply["finish_reason"])
        found[entry["digest"], entry["occurrence"]] = call
    return tuple(found.values())


def _measured(one: EvaluationDone, worst: float | None) -> Measured:
    score = one.score if one.status == "ok" else worst
    return Measured(score, one.status, one.feedback, one.metrics)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return value.strip()
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def shared(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """Return how many elements two collections have in common, each as often as both hold it."""
    return sum((Counter(one) & Counter(other)).values())
