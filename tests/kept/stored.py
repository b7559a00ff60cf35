"""What is stored and read of a run whose jobs have events of every kind: results, tables, summary, exports, and what a model was paid."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.kept.store import Said, said_of_each
from tests.kept.text import digest_of, text_of
from tests.unit.store.samples import call, candidate, evaluation, failure, job_spec, started, whole_job
from tracebench_core.specs import (
    Budget,
    BudgetState,
    JobSpec,
    Judge,
    ModelIdentity,
    Objective,
    ProposalCounts,
    SplitData,
    TaskVersion,
)
from tracebench_core.specs.events import (
    BestChanged,
    Caged,
    DataKnown,
    Decision,
    Event,
    ExamplesKnown,
    Flagged,
    JobFinished,
    Proposals,
    Scored,
    StepFinished,
    TrainingEnded,
)
from tracebench_core.specs.job import Cage, Raised, Runtime
from tracebench_core.specs.regrade import Regrade
from tracebench_runs.events.reduce import Reducer, reduce_job
from tracebench_runs.events.spent import LedgerReader, spent_of
from tracebench_runs.events.states import StateHistory, write_history
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.export import export_run
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.meta.meta import write_job_meta
from tracebench_runs.reading.compare import differences
from tracebench_runs.reading.reader import load_run
from tracebench_runs.reading.tabular import TABLES
from tracebench_runs.results.overview import read_overview
from tracebench_runs.results.regrades import append_regrades, latest, read_regrades, regraded
from tracebench_runs.results.results import write_result
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout

MODEL, OTHER = (
    ModelIdentity(provider="p", model="m", base_url="http://127.0.0.1:1"),
    ModelIdentity(provider="q", model="n"),
)
JUDGE = Judge(version="2", digest="0123456789abcdef")
USED = BudgetState(evaluations=5, llm_calls=3, tokens=450, usd=1.5, seconds=12.5)


def _job(number: int, **changes: Any) -> JobSpec:
    fields = {"job_id": f"{number:012x}", "seed": number, "models": {"agent": OTHER, "optimizer": MODEL}}
    return job_spec(**(fields | changes))


JOBS = {
    "whole": _job(0),
    "a second seed": _job(1),
    "everything": _job(
        2, task_id="suite:other", task_version=TaskVersion(comparability=3, interface=2), trainer_id="Other", params={"k": 3, "a": [1]},
        optimizer="Own", optimizer_kwargs={"memory": 5}, guide="g", guide_kwargs={"t": 0.5}, logger="L", eval_kwargs={"n": 2},
        llm_variant="big", label="Mine", budget=Budget(evaluations=4, usd=1.0, llm_calls=9), mode="real",
    ),
    "failed": _job(3),
    "cut short": _job(4, models={"agent": OTHER}),
    "trained": _job(5, trainer_id="Other"),
    "timed out": _job(6, models={}),
    "gained": _job(7, task_id="suite:third"),
    "not run": _job(8),
}  # fmt: skip


def _everything(job: JobSpec) -> Sequence[Event]:
    objectives = (Objective(metric="a", direction="maximize"), Objective(metric="b", direction="minimize"))
    raised = Raised(type="KeyError", file="task.py", line=3)
    pairs = {"c0": (1.0, 5.0), "c1": (2.0, 4.0), "c2": (0.0, 6.0), "c3": (3.0, 7.0)}
    return (
        started(
            job, models=job.models, label="Mine",
            objectives=objectives, versions={"core": "0.1.0", "plugin": "2.0", "isolation": "landlock"},
            worst_score=-1.0, self_reported=("score", "x"), calibration="here", runtime=Runtime(python="CPython 3.11.7", packages="0" * 16),
        ),
        DataKnown(splits={"train": SplitData(examples=2, sha256="ab"), "test": SplitData(examples=1, sha256=None)}),
        ExamplesKnown(train=("e0", "e1"), validation=()),
        candidate("c0"),
        *(evaluation(c, metrics={"a": a, "b": b}, seconds=0.5) for c, (a, b) in pairs.items() if c == "c0"),
        BestChanged(candidate="c0", score=1.0, used=BudgetState(evaluations=1)),
        Proposals(asked=3, usable=2, duplicate=1, invalid=0, step=0),
        Proposals(asked=1, invalid=1),
        call(call=1, cached_tokens=4, written_tokens=1, reasoning_tokens=2, seconds=1.5, retries=2),
        call(call=2, role="agent", model="n", cached=True),
        call(call=3, status="refused", usd=None, error="no"),
        call(call=4, status="error", usd=None, retries=1, error="down"),
        call(call=5, role="judge", model="m", estimated=True, usd=None),
        call(call=6, phase="scoring", usd=0.25),
        *(
            candidate(c, parents=("c0",), origin="mutate", step=1, values={"x": 2.5, "text": c * 600})
            for c in ("c1", "c2", "c3")
        ),
        *(evaluation(c, metrics={"a": a, "b": b}, step=1) for c, (a, b) in pairs.items() if c != "c0"),
        evaluation("c1", "e1", metrics={"a": 2.5, "b": 3.0}),
        evaluation("c0", "e1", metrics={"a": 1.0, "b": 2.0}),
        evaluation("c3", "e1", metrics={"a": 0.0, "b": 3.5}),
        evaluation("c2", "e0", status="error", raised=raised, score=-1.0),
        evaluation("c2", "e1", status="error", raised=raised, score=-1.0),
        evaluation("c2", "e1", status="invalid", raised=Raised(type="ValueError", file="x.py", line=1), score=-1.0),
        evaluation("c2", "e1", status="not_measured", score=0.0),
        evaluation("c3", "e0", reused=True, reused_from="r9", by="engine", split="test"),
        Decision(candidate="c2", verdict="rejected", reason="worse"),
        BestChanged(candidate="c3", score=3.0, used=USED, step=1),
        StepFinished(index=0, score=None, best=1.0, seconds=0.25, used=BudgetState(evaluations=1)),
        StepFinished(index=1, score=2.0, best=3.0, seconds=0.5, used=USED),
        Flagged(name="odd", reason="because"), Flagged(name="early", reason="first"),
        Caged(name="prog", cage=Cage(files="host", reason="told so")),
        Scored(what="initial", split="train", candidate="c0", score=1.0, metrics={"z": 1.0, "len": 3.0}),
        Scored(what="best", split="train", candidate="c1", score=2.0, metrics={"len": 4.0}, repeats=(1.5, 2.5), judge=JUDGE),
        Scored(what="final", split="train", candidate="c3", score=1.75, metrics={}),
        Scored(what="initial", split="test", candidate="c0", score=0.5, metrics={}),
        Scored(what="best", split="test", candidate="c1", score=1.25, metrics={}, repeats=(1.0, 1.5)),
        failure(message="a line\n\n  the last \n", fatal=False),
        JobFinished(status="ok", stop_reason="budget:usd", used=USED, seconds=13.0),
    )  # fmt: skip


def _gained(job: JobSpec) -> Sequence[Event]:
    first, *_ = whole_job(job)
    scored = [
        Scored(what=what, split=split, candidate=c, score=score, metrics={"content": content})
        for split, less in (("validation", 0.0), ("test", 0.5))
        for what, c, score, content in (("initial", "c0", 1.0, 0.75), ("best", "c1", 3.0 - less, 1.5))
    ]
    return (first.model_copy(update={"content": "content"}), candidate("c0"), candidate("c1"), *scored, _ended())  # type: ignore[arg-type]


def _ended(**changes: Any) -> JobFinished:
    return JobFinished(**({"status": "ok", "stop_reason": "completed", "used": USED, "seconds": 2.0} | changes))


def events_of(name: str) -> Sequence[Event]:
    """Return the events of a job."""
    job = JOBS[name]
    whole = whole_job(job, score=2.5 if name == "a second seed" else 2.0)
    made: Mapping[str, Sequence[Event]] = {
        "everything": _everything(job),
        "failed": (
            *whole[:9], failure(), failure(type="Later", message="", fatal=False), _ended(status="failed", stop_reason="error"),
        ),
        "cut short": whole[:10],
        "trained": (*whole[:-1], TrainingEnded(status="ok", stop_reason="completed", used=USED, seconds=3.5)),
        "timed out": (*whole[:-3], _ended(status="timeout", stop_reason="timeout")),
        "gained": _gained(job),
    }  # fmt: skip
    return made.get(name, whole)


def made(folder: Path) -> RunLayout:
    """Make the run; its clock stands still but for a second an event."""
    layout = RunLayout(folder).create()
    write_manifest(layout, {"config_hash": "abc", "tasks": {}}, [*JOBS.values()], durable=False)
    _write_ledger(layout)
    for name, job in JOBS.items():
        if name == "not run":
            continue
        home = layout.job(job.job_id)
        if name == "whole":
            _write_events(home.fresh().path.name, layout, events_of(name)[:8])
        _write_events(home.fresh().path.name, layout, events_of(name))
        result = reduce_job(events_of(name))
        write_job_meta(home, job, status=result.status)
        write_result(home, result, durable=False)
    layout.job(JOBS["failed"].job_id).tensorboard.mkdir()
    return layout


def _write_events(job_id: str, layout: RunLayout, events: Sequence[Event]) -> None:
    now = [0]
    writer = EventWriter(layout.job(job_id), clock=lambda: now[0] * 10**9, monotonic=lambda: float(now[0]))
    for event in events:
        now[0] += 1
        writer.append(event)
    writer.close(durable=False)
    write_history(layout.job(job_id), StateHistory(events), writer.blobs)


def _write_ledger(layout: RunLayout) -> None:
    calls = [
        *(call(call=n, usd=0.1 * n, cached_tokens=n) for n in (1, 2)),
        call(call=3, role="agent", model="n", status="error", usd=None),
        call(call=4, estimated=True, cached=True),
    ]
    lines = []
    for n, each in enumerate(calls):
        told = json.loads(each.model_dump_json()) | {"job_id": f"{n % 2:012x}", "left_out": ["seed", "stop"][: n % 3]}
        lines += [told, told | {"reused": True}]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    layout.ledger.parent.mkdir(exist_ok=True)
    layout.ledger.write_text(text + '{"kind":"llm_call"}\n[]\n{"kind":"other"}\n{"kind":"llm_call","torn')


def stored_of(part: str, folder: Path) -> list[str]:
    """Return what one part of the store holds or tells of the run."""
    with patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "state")}):
        return [line.replace(str(folder), "PLACE") for line in PARTS[part](folder)]


def _results(folder: Path) -> Iterator[str]:
    for name in JOBS:
        if name != "not run":
            result = reduce_job(events_of(name))
            yield from (
                f"{name}, {field}: {text_of(value)}"
                for field, value in result
                if name == "everything" or not _is_plain(field, value)
            )
    yield f"by the plan: {text_of(reduce_job(events_of('whole')[1:], job=JOBS['everything']))}"
    reducer = Reducer()
    for event in events_of("everything"):
        reducer.add(event)
    yield f"without steps: {digest_of(reducer.result(with_steps=False))} complete {reducer.complete}"


def _is_plain(field: str, value: Any) -> bool:
    return value in ({}, (), None, 0, "", ProposalCounts()) or field in {"mode", "suite", "feedback"}


def _tables(folder: Path) -> Iterator[str]:
    run = made(folder / "run")
    writer = TableWriter(run, [*JOBS.values()])
    writer.load()
    for path, content in writer.render(RunEnd(1, 2.5, 1.5, {"usd": 0.5})).items():
        yield from (f"{path.name}: {line}" for line in content.decode().splitlines() if path.suffix == ".csv")
        yield from (
            f"{name}: {text_of(told)}" for name, told in (json.loads(content) if path.suffix == ".json" else {}).items()
        )
    under_way = json.loads(writer.render(RunEnd())[run.summary])
    yield f"under way: {text_of({name: under_way[name] for name in ('exit_code', 'wall_seconds', 'cpu_seconds', 'overshoot')})}"
    writer.finish(RunEnd(0, 2.0, 1.0))
    told = read_overview(run, [*JOBS.values()], trust=read_trust(run))
    yield f"overview: {text_of(told.counts)} {text_of(told.spent)} {digest_of(told.board)}"


def _rows(folder: Path) -> Iterator[str]:
    run = load_run(made(folder / "run").path)
    for name in TABLES:
        rows = [*run.tables.rows(name)]
        yield f"{name}: {len(rows)} rows, the first {text_of(rows[0])}"
        yield from (f"{name}: {digest_of(row)} {text_of(row[1:9])}" for row in rows[1:])
    for job_id, brief in run.briefs.items():
        yield f"brief {job_id}: {text_of(brief)}"
    yield f"candidates: {text_of([*run.candidates_of(JOBS['everything'].job_id)][1:3])[:300]}"
    yield f"spent: {text_of(run.spent())}"


def _ledger(folder: Path) -> Iterator[str]:
    run = made(folder / "run")
    nothing = LedgerReader(folder / "none")
    nothing.read()
    yield f"none: {nothing.of('x')} {nothing.by_payer()} {spent_of(nothing)} {nothing.left_out()}"
    reader = LedgerReader(run.ledger)
    reader.read()
    yield from (f"{job}: {text_of(reader.of(f'{job:012x}'))} {reader.left_out([f'{job:012x}'])}" for job in range(3))
    yield f"all: {text_of(spent_of(reader))} {reader.left_out()}"
    yield f"some: {text_of(spent_of(reader, job_ids=['0' * 12]))}"
    with run.ledger.open("a") as ledger:
        ledger.write('\n{"kind":"llm_call","call":9,"role":"judge","model":"j","status":"ok","job_id":"x","usd":2.0}\n')
    reader.read()
    yield f"more: {text_of(reader.by_payer())}"


def _exports(folder: Path) -> Iterator[str]:
    run = load_run(made(folder / "run").path)
    for form in ("csv", "jsonl", "ioh"):
        for path in export_run(run, folder / form, format_=form):  # type: ignore[arg-type]
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines() if form == "ioh" else text.splitlines()[:2]
            yield f"{path.relative_to(folder)}: {len(text.splitlines())} lines {digest_of(text)}"
            yield from (f"  {line[:300]}" for line in lines if len(line) > 12)


def _regrades(folder: Path) -> Iterator[str]:
    layout = made(folder / "run")
    scored = tuple(e for e in events_of("everything") if isinstance(e, Scored))
    each = [
        Regrade(
            t=datetime(2026, 1, n, tzinfo=UTC), job_id=JOBS["whole"].job_id, task_id="suite:task",
            judge=JUDGE.model_copy(update={"digest": digest}), comparability=n, scored=scored[:many],
        )
        for n, digest, many in ((1, "aa", 2), (2, "bb", 5), (3, "aa", 5), (4, "cc", 0))
    ]  # fmt: skip
    with Journal(layout):
        pass
    yield f"added {len([*append_regrades(layout, each)])}"
    with layout.regrades.open("ab") as file:
        file.write(b'{"torn"')
    found = read_regrades(layout, trust=read_trust(layout))
    yield from (f"{r.t} {r.judge.digest} {len(r.scored)}" for r in found)
    for key, regrade in latest(found).items():
        result = regraded(reduce_job(events_of("whole")), regrade)
        yield f"{key}: {regrade.t} {text_of(result)}"


def _differences(folder: Path) -> Iterator[str]:
    one = load_run(made(folder / "one").path)
    layout = made(folder / "other")
    changed = [job.model_copy(update={"seed": 77}) if name == "gained" else job for name, job in JOBS.items()]
    write_manifest(layout, {"config_hash": "abc", "tasks": {}}, changed, durable=False)
    result = reduce_job(events_of("whole"))
    home = layout.job(JOBS["whole"].job_id)
    write_result(
        home,
        result.model_copy(update={"score_test": 9.0, "time_seconds": 9.0, "versions": {"isolation": "none"}}),
        durable=False,
    )
    for each in differences(one, load_run(layout.path)):
        yield f"{each.job.seed} {each.field}: {text_of((each.one, each.other))}"


PARTS: Mapping[str, Any] = {
    "results": _results,
    "tables": _tables,
    "rows": _rows,
    "ledger": _ledger,
    "exports": _exports,
    "regrades": _regrades,
    "differences": _differences,
}


def stored() -> Said:
    """Return what is said now."""
    return said_of_each(PARTS, stored_of)
