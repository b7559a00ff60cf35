"""One job as its page shows it: reduced once from its events, in their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobResult, JobSpec
from tracebench_core.specs.events import (
    Activity,
    BestChanged,
    CandidateSeen,
    Decision,
    ErrorRaised,
    EvaluationDone,
    Event,
    LLMCall,
    Scored,
    SuiteRecord,
)
from tracebench_engine.api.analysis import AXES
from tracebench_engine.api.records import BlobStore, JobLayout, Run, candidate_scores, read_result

Row = dict[str, Any]


@dataclass(slots=True)
class Seen:
    """One candidate."""

    event: CandidateSeen
    order: int
    score: float | None = None
    verdict: str = "no verdict"
    """`best` (at the end, or by now), `led` (at some time), else its trainer's: `accepted`, `rejected`, `indecisive`, or `no verdict`."""
    reason: str = ""
    at: dict[str, float | None] = field(default_factory=dict)
    """What the job had used of each axis when it was last measured."""
    delta: float | None = None
    """Its score over that of its best parent."""
    generation: int = 0


@dataclass(slots=True)
class JobView:
    """Everything that a job's page shows."""

    layout: JobLayout
    spec: JobSpec
    result: JobResult | None
    """None while it runs."""
    candidates: dict[str, Seen]
    evaluations: list[EvaluationDone]
    calls: list[LLMCall]
    bests: list[BestChanged]
    scored: list[Scored]
    errors: list[ErrorRaised]
    records: list[SuiteRecord]
    doing: str
    """What it was doing last; empty when nothing is known."""
    events: int

    def values(self, candidate: str) -> dict[str, Any]:
        """Return a candidate's values in full.

        Raises:
            RunDirError: when a blob is lost.
        """
        return dict(BlobStore(self.layout.blobs).expand(self.candidates[candidate].event.values))

    def curve(self, axis: str) -> list[Row]:
        """Return the best so far as rows of `x` and `score`; points whose use of the axis is unknown are left out."""
        rows = [{"x": getattr(best.used, axis), "score": best.score} for best in self.bests]
        rows = [row for row in rows if row["x"] is not None]
        end = getattr(self.result.used, axis) if self.result is not None and rows else None
        if end is not None and end > rows[-1]["x"]:
            rows.append({"x": end, "score": rows[-1]["score"]})
        return rows

    def points(self, axis: str) -> list[Row]:
        """Return every measured candidate with its place on an axis."""
        return [
            {"candidate": name, "x": seen.at.get(axis), "score": seen.score, "verdict": seen.verdict,
             "origin": seen.event.origin, "delta": seen.delta}
            for name, seen in self.candidates.items() if seen.score is not None and seen.at.get(axis) is not None
        ]  # fmt: skip

    def axes(self) -> list[str]:
        """Return the axes on which the job used anything."""
        last = self.bests[-1].used if self.bests else None
        return [axis for axis in AXES if last is not None and getattr(last, axis)] or ["evaluations"]

    def table(self) -> list[Row]:
        """Return the candidates as rows."""
        return [
            {"#": seen.order, "candidate": name, "score": seen.score, "delta": seen.delta, "verdict": seen.verdict,
             "origin": seen.event.origin, "step": seen.event.step, "parents": ", ".join(seen.event.parents), "reason": seen.reason}
            for name, seen in self.candidates.items()
        ]  # fmt: skip

    def matrix(self, *, split: str | None = None) -> list[Row]:
        """Return the latest measurement of every candidate on every example."""
        latest: dict[tuple[str, str], EvaluationDone] = {}
        for done in self.evaluations:
            if split is None or done.split == split:
                latest[done.candidate, done.example] = done
        return [
            {"candidate": c, "#": self.candidates[c].order, "example": e, "split": d.split, "status": d.status,
             "score": d.score if d.status == "ok" else None, "feedback": d.feedback, "seconds": d.seconds}
            for (c, e), d in latest.items() if c in self.candidates
        ]  # fmt: skip

    def call_rows(self) -> list[Row]:
        """Return the model calls as rows."""
        return [
            {"call": c.call, "role": c.role, "model": c.model, "phase": c.phase, "status": c.status, "prompt": c.prompt_tokens,
             "completion": c.completion_tokens, "cached": c.cached,
             "usd": c.usd, "seconds": c.seconds, "retries": c.retries, "error": c.error}
            for c in self.calls
        ]  # fmt: skip

    def usage_rows(self) -> list[Row]:
        """Return what each role used, as the job's result tells it."""
        usage = self.result.usage if self.result is not None else {}
        return [
            {"role": role, "calls": used.llm_calls, "prompt tokens": used.prompt_tokens, "completion tokens": used.completion_tokens,
             "from cache": used.cached_calls, "retries": used.retries, "refused": used.refused, "unanswered": used.errors, "usd": used.usd}
            for role, used in usage.items()
        ]  # fmt: skip


def read_job(run: Run, job_id: str) -> JobView:
    """Read a job's events once.

    Raises:
        RunDirError: when the run has no such job, or its log is not what the journal vouches for.
    """
    spec, layout = run.job(job_id), run.layout.job(job_id)
    events = run.events(job_id)
    try:
        result = read_result(layout).result
    except RunDirError:
        result = None
    view = JobView(layout, spec, result, {}, [], [], [], [], [], [], "", len(events))
    _Filling(view).take(events)
    for name, score in candidate_scores(events).items():
        view.candidates[name].score = score
    _relate(view.candidates)
    return view


class _Filling:
    """Sorts events into a view, counting what was used on the way."""

    def __init__(self, view: JobView) -> None:
        self._view = view
        self._used: dict[str, float | None] = dict.fromkeys(AXES, 0)
        self._verdicts: dict[str, Decision] = {}

    def take(self, events: Sequence[Event]) -> None:
        view = self._view
        lists: dict[type[Event], list[Any]] = {
            BestChanged: view.bests, Scored: view.scored, ErrorRaised: view.errors, SuiteRecord: view.records
        }  # fmt: skip
        for event in events:
            match event:
                case CandidateSeen():
                    view.candidates.setdefault(event.id, Seen(event, len(view.candidates)))
                case EvaluationDone():
                    self._evaluated(event)
                case LLMCall():
                    self._called(event)
                case Decision():
                    self._verdicts[event.candidate] = event
                case Activity():
                    amount = f" {event.done} of {event.total}" if event.total else ""
                    view.doing = f"{event.doing}{amount}"
                case _ if type(event) in lists:
                    lists[type(event)].append(event)
        self._judge()

    def _evaluated(self, event: EvaluationDone) -> None:
        self._view.evaluations.append(event)
        if event.by == "trainer":
            if not event.reused:
                self._used["evaluations"] = (self._used["evaluations"] or 0) + 1
            self._used["seconds"] = event.mono
            if (seen := self._view.candidates.get(event.candidate)) is not None:
                seen.at = dict(self._used)

    def _called(self, event: LLMCall) -> None:
        self._view.calls.append(event)
        if event.status == "ok" and event.phase == "training" and not event.cached:
            used = self._used
            used["llm_calls"] = (used["llm_calls"] or 0) + 1
            used["tokens"] = (used["tokens"] or 0) + event.prompt_tokens + event.completion_tokens
            used["usd"] = None if used["usd"] is None or event.usd is None else used["usd"] + event.usd

    def _judge(self) -> None:
        for name, decision in self._verdicts.items():
            if (seen := self._view.candidates.get(name)) is not None:
                seen.verdict, seen.reason = decision.verdict, decision.reason
        for best in self._view.bests:
            if (seen := self._view.candidates.get(best.candidate)) is not None:
                seen.verdict = "led"
        best_of = self._view.result.best_candidate if self._view.result is not None else None
        last = self._view.bests[-1].candidate if self._view.bests else None
        if (seen := self._view.candidates.get(best_of or last or "")) is not None:
            seen.verdict = "best"


def _relate(candidates: dict[str, Seen]) -> None:
    for seen in candidates.values():
        parents = [candidates[name] for name in seen.event.parents if name in candidates]
        scores = [parent.score for parent in parents if parent.score is not None]
        seen.delta = seen.score - max(scores) if scores and seen.score is not None else None
        seen.generation = max((parent.generation + 1 for parent in parents), default=0)


def worst_examples(matrix: Sequence[Row]) -> list[str]:
    """Return the examples, the one with the lowest mean score first; failures count below every score."""
    scores: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in matrix:
        scores[row["example"]].append((0, 0.0) if row["score"] is None else (1, row["score"]))

    def height(example: str) -> tuple[float, float]:
        found = scores[example]
        return sum(s[0] for s in found) / len(found), sum(s[1] for s in found) / len(found)

    return sorted(scores, key=height)
