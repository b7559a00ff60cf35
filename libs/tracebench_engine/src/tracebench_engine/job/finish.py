"""From a job's events to its end: what its processes left so far, the engine's scoring of it, and the files that follow."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pydantic import BaseModel

from tracebench_core.errors import BudgetExhausted, TrainingStopped
from tracebench_core.ids import content_hash
from tracebench_core.specs import (
    BudgetState,
    Candidate,
    Example,
    JobOrder,
    JobResult,
    JobSpec,
    JobStatus,
    Split,
    SplitData,
    TaskSpec,
)
from tracebench_core.specs.events import (
    BudgetReached,
    CandidateSeen,
    DataKnown,
    ErrorRaised,
    EvaluationDone,
    Event,
    JobFinished,
    LLMCall,
    Scored,
    TrainingEnded,
)
from tracebench_engine.job.given import given_by
from tracebench_engine.job.job import JobContext, end_of_budget, open_job_task, open_service, record_error
from tracebench_engine.job.scoring import Scorer
from tracebench_engine.measure.answer_cache import CachedModels
from tracebench_engine.measure.attempt import describe_error
from tracebench_engine.measure.building import OpenTask
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.repeats import Repeats
from tracebench_engine.measure.service import EvaluationService
from tracebench_runs.events.eventlog import iter_events, stream_events
from tracebench_runs.events.history import Standings
from tracebench_runs.events.many import Numbers, Texts
from tracebench_runs.events.metering import Meter
from tracebench_runs.events.ranking import FINALISTS, FindAggregate, mean_alone
from tracebench_runs.events.reduce import Reducer
from tracebench_runs.events.states import StateHistory, write_history
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.meta.meta import write_job_meta
from tracebench_runs.results.results import write_long_result
from tracebench_runs.storage import files
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import JobLayout


class JobSoFar:
    """What the earlier processes of a job left in its events."""

    def __init__(self, events: Iterable[Event] = (), *, find: FindAggregate = mean_alone) -> None:
        """`find` tells how the task makes one score of many; who only ends a log needs none."""
        self.standings = Standings(find)
        self.is_forged = False
        """It tells of what only a process that scores may measure."""
        self.last_call = 0
        self.finished = False
        self.anything = False
        """Whether training has measured anything."""
        self.trained: TrainingEnded | None = None
        self.ends_in_error = False
        """Whether the last event tells what went wrong."""
        self._seen = Numbers()
        self._values = Texts()
        """Of each candidate, in JSON, by its number."""
        self._final = "c0"
        self._meter = Meter()
        self._seconds = 0.0
        self._spent: BudgetReached | None = None
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._seconds = max(self._seconds, event.mono)
        self.standings.add(event)
        self.ends_in_error = isinstance(event, ErrorRaised)
        match event:
            case CandidateSeen():
                if self._seen.add(event.id)[1]:
                    self._values.append(json.dumps(event.values).encode())
            case EvaluationDone(by="trainer", split="train" | "validation"):
                self._final = event.candidate
                self._meter.add_evaluation(event)
                self.anything = self.anything or event.status != "not_measured"
            case Scored() | DataKnown() | EvaluationDone(split="test"):
                self.is_forged = True
            case LLMCall():
                self.last_call = max(self.last_call, event.call)
                self._meter.add_call(event)
            case BudgetReached():
                self._spent = event
            case TrainingEnded():
                self.trained = event
            case JobFinished():
                self.finished = True

    def is_worth_scoring(self, status: JobStatus) -> bool:
        """Tell whether there is anything to score; what measured nothing before its time was over would only take as long again."""
        return self._seen.find("c0") is not None and (status == "ok" or self.anything)

    def candidate(self, id_: str, blobs: BlobStore) -> Candidate:
        """Return a candidate with its values in full."""
        number = self._seen.find(id_)
        if number is None:
            raise KeyError(id_)
        return Candidate(id=id_, values=blobs.expand(json.loads(self._values[number])))

    def final(self) -> str:
        """Return the candidate that the trainer measured last."""
        return self._final

    def shown(self) -> str:
        """Return the candidate that the trainer showed last, whether it measured it or not."""
        return self._seen.name(len(self._seen) - 1)

    def end(self, ended: str) -> tuple[JobStatus, str]:
        """Return status and reason of the job; `ended` says how its process ended that could not say it itself."""
        if self.trained is not None:
            return self.trained.status, self.trained.stop_reason
        if ended == "timeout":
            return "timeout", "timeout"
        if self._spent is None:
            return "failed", "error"
        return end_of_budget(self._spent.axis, self._spent.scope, measured=self.anything)

    def used(self) -> BudgetState:
        """Return what training has used."""
        return self.trained.used if self.trained is not None else self._meter.used(seconds=self._seconds)

    def seconds(self) -> float:
        """Return how long training took."""
        return self.trained.seconds if self.trained is not None else self._seconds


def score_job(order: JobOrder, context: JobContext, so_far: JobSoFar, blobs: BlobStore) -> bool:
    """Choose the winner of a job whose training is over, measure it on test, and write `job_finished`.

    Return whether that could be done. Otherwise the log tells why, and has no end: training is sealed, and another process may score it.
    """
    if so_far.finished:
        return True
    recorder = context.recorder
    if order.is_anew:
        recorder.late_calls(context.models)
        context.models.score_anew()
    else:
        context.models.end_training()  # whatever the process that trained has done, or was kept from doing
        recorder.calls(context.models)
    status, reason = so_far.end(order.ended)
    if status == "failed" and so_far.trained is None:
        recorder.error("JobDied", order.ended, traceback="", fatal=True)
    if status == "ok" and reason.startswith("run budget"):
        recorder.flag("unequal-budget", "the run's budget ended before the job's own: others had more to use")
    if so_far.is_worth_scoring(status):
        try:
            measure_job(order, context, so_far, blobs)
        except (Exception, BudgetExhausted, TrainingStopped) as err:  # noqa: BLE001 - training is kept
            record_error(recorder, err, fatal=False)
            if not (isinstance(err, BudgetExhausted) and err.scope == "scoring"):
                return False
            recorder.calls(context.models)
            status, reason = "unscored", f"scoring budget:{err.axis}"  # to try it again would cost as much again
    recorder.finished(status, reason, used=so_far.used(), seconds=so_far.seconds())
    return True


def measure_job(order: JobOrder, context: JobContext, so_far: JobSoFar, blobs: BlobStore) -> None:
    """Choose the winner of what was found, and measure it on test; what is seen goes to the context's recorder."""
    opened = open_job_task(order, context.host, context.environments)
    heard = CachedModels(context.models)
    context = replace(context, models=heard)
    try:
        context.recorder.data(data_of(opened))
        initial = so_far.candidate("c0", blobs)
        service = open_service(order, context, opened, initial=initial)
        try:
            splits = opened.task.splits
            given = given_by(order.job, context.host, most_lost=order.fail_on_error)
            scorer = Scorer(
                service=service,
                validation=tuple(splits.get("validation") or splits["train"]),
                split="validation" if splits.get("validation") else "train",
                test=opened.test,
                models=context.models,
                recorder=context.recorder,
                worst_score=opened.spec.worst_score,
                aggregate=context.aggregate(opened.spec),
                content=opened.spec.content,
                repeats=None if given else _repeats(order, opened.spec, service, heard),
            )
            if given is not None:
                split, examples = given.examples(splits, opened.test)
                scorer.measure_given(so_far.candidate(so_far.shown(), blobs), split, examples, given.watched)
                return
            finalists = [so_far.candidate(id_, blobs) for id_ in so_far.standings.finalists(FINALISTS)]
            best = scorer.choose(finalists, final=so_far.candidate(so_far.final(), blobs))
            scorer.test_once(initial, best)
        finally:
            service.close()
    finally:
        opened.close()


def _repeats(order: JobOrder, spec: TaskSpec, service: EvaluationService, heard: CachedModels) -> Repeats | None:
    """Return how the winner is measured again; what stands on an environment is not, which has a life of its own."""
    if spec.environments:
        return None
    return Repeats(service, heard, timed=spec.timed, seconds=order.scoring_timeout)


class Reading:
    """One job's events, each read once, and what follows from them; who needs some of them earlier takes them from here."""

    def __init__(self, layout: JobLayout, job: JobSpec) -> None:
        self._layout = layout
        self._job = job
        self._log = files.Tail(layout.events)
        self._reducer = Reducer(job)
        self._history = StateHistory()

    def events(self) -> Iterator[Event]:
        """Yield the events that were not read yet, and take them in."""
        for event in iter_events(self._log.read()):
            self._reducer.add(event)
            self._history.add(event)
            yield event

    def write(self) -> None:
        """Read what is left, and reduce all of it to the job's states, its metadata and its result, in this order.

        What an earlier process of the job was cut short in writing is removed first. Flushing is the commit's.
        """
        layout = self._layout
        files.remove_cut_short(layout.path)
        deque(self.events(), maxlen=0)
        write_history(layout, self._history, BlobStore(layout.blobs))
        result = self._reducer.result(with_steps=False)
        write_job_meta(layout, self._job, status=result.status)
        write_long_result(layout, result, self._reducer.steps())
        if result.status != "unscored":
            files.remove(layout.scoring)

    def conclude(self) -> JobResult:
        """Do the same, and return the result."""
        self.write()
        return self._reducer.result()


def conclude(layout: JobLayout, job: JobSpec) -> JobResult:
    """Reduce a job's events, read once and held nowhere, to the job's files."""
    return Reading(layout, job).conclude()


def conclude_lost(
    layout: JobLayout, job: JobSpec, *, detail: str, ended: str = "", is_scoring: bool = False
) -> JobResult:
    """End the log of a job that nobody else could end, and reduce it: what was trained and scored stays.

    `ended` says how training had ended, as of a `JobOrder`. A training that went well, or was ended on time, and whose scoring was lost
    leaves the job `unscored`.
    """
    files.make_dir(layout.path)
    reading = Reading(layout, job)
    so_far = JobSoFar(reading.events())
    if not so_far.finished:
        writer = EventWriter(layout)
        recorder = Recorder(writer.write)
        status, reason = so_far.end(ended)
        if is_scoring and status in {"ok", "timeout"}:
            status = "unscored"
        if not (is_scoring and so_far.ends_in_error):
            recorder.error("JobDied", detail, traceback="", fatal=status in {"failed", "unscored"})
        recorder.finished(status, reason, used=so_far.used(), seconds=so_far.seconds())
        writer.close(durable=False)
    return reading.conclude()


def conclude_broken(layout: JobLayout, job: JobSpec, *, error: Exception) -> JobResult:
    """End a job that failed by what its own files hold: they are put aside as an attempt, and the job is `failed` with the words."""
    lost = layout.next_attempt()
    layout.fresh()
    used = BudgetState()
    with suppress(Exception):  # whatever is wrong with the files, it is told already
        used = JobSoFar(stream_events(lost)).used()
    writer = EventWriter(layout)
    recorder = Recorder(writer.write)
    words = f"its files cannot be made a result: {describe_error(error)}; they are in `attempts/{lost.path.name}`"
    recorder.error(type(error).__name__, words, traceback="", fatal=True)
    recorder.finished("failed", "error", used=used, seconds=used.seconds)
    writer.close(durable=False)
    return Reading(layout, job).conclude()


def data_of(opened: OpenTask) -> dict[Split, SplitData]:
    """Return what there is of each split of an opened task."""
    splits: dict[Split, Sequence[Example]] = {**opened.task.splits, "test": opened.test}
    return {split: split_data(examples) for split, examples in sorted(splits.items()) if examples}


def split_data(examples: Sequence[Example]) -> SplitData:
    """Return how many examples there are, and the digest of their ids, inputs and references, in their order.

    There is no digest where something in them is no data: an open file, or a `Path`, which says where something lies on this machine and
    not what it is.
    """
    told = [[example.id, example.input, example.reference] for example in examples]
    try:
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), default=_as_data)
    except (TypeError, ValueError, RecursionError):
        return SplitData(examples=len(told))
    return SplitData(examples=len(told), sha256=content_hash(text.encode()))


def _as_data(value: Any) -> Any:
    """Return what JSON has no form for as something that it has, together with its type."""
    kind = type(value).__name__
    if isinstance(value, BaseModel):
        return [kind, {name: getattr(value, name) for name in type(value).model_fields}]
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, {f.name: getattr(value, f.name) for f in fields(value)}]
    if isinstance(value, bytes | bytearray):
        return [kind, content_hash(bytes(value))]
    if isinstance(value, set | frozenset):
        return [kind, sorted(json.dumps(item, sort_keys=True, default=_as_data) for item in value)]
    if isinstance(value, complex):
        return [kind, value.real, value.imag]
    dtype = getattr(value, "dtype", None)
    if dtype is not None and not getattr(dtype, "hasobject", True):  # of numpy, which need not be here
        return [kind, str(dtype), list(value.shape), content_hash(value.tobytes())]
    raise TypeError(kind)
