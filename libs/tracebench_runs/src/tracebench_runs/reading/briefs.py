"""Results of many jobs: each whole when it is asked for, and of all of them what tables and statistics need, a few numbers a job."""

from __future__ import annotations

import marshal
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from tracebench_core.ids import content_hash
from tracebench_core.specs import (
    Budget,
    BudgetState,
    Calibrated,
    FeedbackStatus,
    Gain,
    JobResult,
    JobSpec,
    JobStatus,
    Judge,
    ProposalCounts,
    RaisedCount,
    Split,
    SplitData,
)
from tracebench_runs.events.reduce import not_run
from tracebench_runs.journal.trust import Trust
from tracebench_runs.meta.planned import ids_of
from tracebench_runs.results.results import trusted_result
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole

KEPT = 64
"""Whole results that are held at a time, for those who ask for one several times."""


class Used(NamedTuple):
    """What training used on each axis; None where it is not known."""

    evaluations: int
    llm_calls: int
    tokens: int
    usd: float | None
    seconds: float


def used_of(state: BudgetState) -> Used:
    """Return the same amounts as what takes a fifth of the memory."""
    return Used(state.evaluations, state.llm_calls, state.tokens, state.usd, state.seconds)


class Brief(NamedTuple):
    """A result without its steps, candidates, metrics and texts, by the names that a `JobResult` has for its fields."""

    job_id: str
    seed: int
    score_val_best: float | None
    score_test: float | None
    score_val_repeats: tuple[float, ...]
    score_test_repeats: tuple[float, ...]
    time_seconds: float
    used: Used
    score_val_initial: float | None
    score_test_initial: float | None
    task_id: str
    trainer_id: str
    status: JobStatus
    stop_reason: str
    budget: Budget
    gain: Gain | None
    proposals: ProposalCounts
    evaluations_by_status: dict[FeedbackStatus, int]
    exceptions: tuple[RaisedCount, ...]
    flags: dict[str, str]
    self_reported: tuple[str, ...]
    data: dict[Split, SplitData]
    judge: Judge | None
    calibration: Calibrated | None
    failure: str
    """Type and message of the error that ended the job; empty where none did."""
    isolation: str
    """How candidates were held; empty where none was run."""

    def replaced(self, fields: Mapping[str, Any]) -> Brief:
        """Return it with other values of those of the fields that it has."""
        return self._replace(**{name: value for name, value in fields.items() if name in self._fields})


_USED = Brief._fields.index("used")
_OWN = Brief._fields[1:_USED]
"""Fields of which each job has values of its own, as it has of what it used."""
_SHARED = Brief._fields[_USED + 1 : -2]
"""Fields whose values most jobs share with others."""
LONG = 1 << 20
"""Bytes of a result above which it is read without its steps, which are nearly all of a long job's."""
_TOLD = frozenset(JobResult.model_fields)
"""Fields of a result as this version writes it."""


class Briefs(Mapping[str, Brief]):
    """The brief of every job by its id, in plan order: made when it is asked for, of some hundred bytes that are kept of each."""

    def __init__(self, places: Mapping[str, int], results: Iterable[JobResult | bytes]) -> None:
        """Take results one after another, in the order of their places, and hold none of them.

        A result may be its text, if that is known to be one: then only what differs from other texts is validated.
        """
        self._places = places
        self._values: dict[tuple[str, Hashable], Any] = {}
        self._parts: dict[tuple[int, ...], tuple[Any, ...]] = {}
        self._texts: dict[bytes, tuple[Any, ...]] = {}
        self._kept = [*map(self._packed, results)]
        self._texts.clear()

    def __getitem__(self, job_id: str) -> Brief:
        own, shared = self._kept[self._places[job_id]]
        told = marshal.loads(own)  # noqa: S302 - bytes that were made here
        return Brief._make((job_id, *told[: len(_OWN)], Used._make(told[len(_OWN) :]), *shared))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _packed(self, result: JobResult | bytes) -> tuple[bytes, tuple[Any, ...]]:
        if isinstance(result, JobResult):
            return self._own(result), self._shared(result)
        told = from_json(result)
        if told.keys() != _TOLD:  # of another version
            return self._packed(JobResult.model_validate_json(result))
        error = told["error"]
        failure = error and (error["type"], error["message"])
        parts = marshal.dumps([*map(told.get, _SHARED), failure, told["versions"].get("isolation")], 2)
        if (shared := self._texts.get(parts)) is None:
            shared = self._texts[parts] = self._shared(JobResult.model_validate_json(result))
        used = told["used"]
        own = (
            told["seed"],
            *map(_number, (told["score_val_best"], told["score_test"])),
            *(tuple(map(float, told[name])) for name in ("score_val_repeats", "score_test_repeats")),
            float(told["time_seconds"]),
            *(used["evaluations"], used["llm_calls"], used["tokens"], _number(used["usd"]), float(used["seconds"])),
        )
        return marshal.dumps(own), shared

    def _own(self, result: JobResult) -> bytes:
        return marshal.dumps((*(getattr(result, name) for name in _OWN), *used_of(result.used)))

    def _shared(self, result: JobResult) -> tuple[Any, ...]:
        """Return the other fields: what is equal in several jobs is one object to all of them."""
        error = result.error
        failure = f"{error.type}: {error.message}" if error else ""
        held = self._one("isolation", str(result.versions.get("isolation", "")))
        values = (*(self._one(name, getattr(result, name)) for name in _SHARED), self._one("failure", failure), held)
        return self._parts.setdefault(tuple(map(id, values)), values)

    def _one(self, name: str, value: Any) -> Any:
        return self._values.setdefault((name, tuple(value.items()) if isinstance(value, dict) else value), value)


class StoredResults(Mapping[str, JobResult]):
    """The result of every planned job by its id, in plan order, read when it is asked for."""

    def __init__(self, layout: RunLayout, jobs: Sequence[JobSpec], *, trust: Trust) -> None:
        self._layout, self._jobs, self._trust = layout, jobs, trust
        self._places = {job_id: place for place, job_id in enumerate(ids_of(jobs))}
        self._folder, self._name = os.fspath(layout.jobs), layout.job("").results.name
        self._read = lru_cache(KEPT)(self._result)

    def __getitem__(self, job_id: str) -> JobResult:
        """Return one; `not_run` where there is none that can be read.

        Raises:
            RunDirError: when it is not what the journal vouches for.
        """
        return self._read(job_id, self._places[job_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def job(self, job_id: str) -> JobSpec:
        """Return what a job was planned as."""
        return self._jobs[self._places[job_id]]

    def briefs(self) -> Briefs:
        """Read all of them once, and return of each what tables and statistics need."""
        return Briefs(self._places, (self._told(job_id, place) for job_id, place in self._places.items()))

    def _told(self, job_id: str, place: int) -> JobResult | bytes:
        """Return the text of a result that the journal vouches for, elsewhere the result."""
        end = self._trust.end(job_id)
        if end is not None:
            path = f"{self._folder}/{job_id}/{self._name}"
            with suppress(OSError):
                if os.stat(path).st_size <= LONG and content_hash(text := read_whole(path)) == end.digest:  # noqa: PTH116 - a Path costs more
                    return text
        return self._result(job_id, place)

    def _result(self, job_id: str, place: int) -> JobResult:
        found = trusted_result(self._layout.job(job_id), trust=self._trust)
        return not_run(self._jobs[place]) if found is None else found


def _number(value: float | str | None) -> float | None:
    """Return a number as pydantic reads it from JSON, where what is none is a word."""
    return None if value is None else float(value)
