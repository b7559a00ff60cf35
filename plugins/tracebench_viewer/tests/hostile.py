"""Runs that hold what a hostile task, model or neighbour could put into them, in every place that a page shows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.unit.store.samples import candidate, evaluation, job_spec, started

from tracebench_core.ids import content_hash
from tracebench_core.specs import BudgetState, JobSpec, ModelIdentity
from tracebench_core.specs.events import (
    BestChanged,
    Decision,
    ErrorRaised,
    Event,
    JobFinished,
    LLMCall,
    Scored,
    StepFinished,
    StepStarted,
)
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.results.results import write_result
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout

TEXTS = {
    "HTML with an event handler": '<img src=x onerror="window.hacked=1;alert(1)"><b id="hacked">bold</b>',
    "a script": '</script><script>window.hacked=1;alert(1)</script><svg onload="window.hacked=1">',
    "the end of a text area": '</textarea></pre></code><iframe src="http://evil.example/"></iframe>',
    "Markdown": "![x](http://evil.example/x.png) [click](javascript:alert(1)) # no heading\n\n# no heading\n- no list",
    "Streamlit's own marks": ":material/bug_report: :red[red] $\\frac{1}{2}$ :smile: :blue-badge[b] `code`",
    "escapes of terminals": "\x1b[2J\x1b[31mred\x1b]8;;http://evil.example\x07link\x07\x9b5m\x00\x08",
    "turned writing": "safe\u202etxt.exe\u2066\u200f",
    "a formula of spreadsheets": '=HYPERLINK("http://evil.example","x")',
    "a line of 1 MB": "x" * 1_000_000,
    "a million line breaks": "\n" * 1_000_000,
}
"""What it is, to the text. `hacked` is what nobody may find in the page."""
NAME = 80
"""Characters of a text that stand where names do."""


def make_hostile(runs_dir: Path) -> dict[str, str]:
    """Write a run named `hostile` with a job for every text, and return the jobs' ids by what the text is."""
    layout = RunLayout(runs_dir / "hostile").create()
    jobs = {what: _job(what, text) for what, text in TEXTS.items()}
    tasks = {job.task_id: {"comparability": 1, "interface": 1, "source": ""} for job in jobs.values()}
    write_manifest(layout, {"tasks": tasks, "created_at": "2030-01-01T00:00:00+00:00"}, [*jobs.values()], durable=False)
    layout.config_snapshot.write_text(json.dumps({"tags": [text[:NAME] for text in TEXTS.values()]}))
    (layout.path / "run.log").write_text("\n".join(TEXTS.values()))
    layout.calls.parent.mkdir(parents=True, exist_ok=True)
    writer = TableWriter(layout, [*jobs.values()])
    with layout.calls.open("ab") as calls:
        for what, job in jobs.items():
            calls.write(_record(layout, job, TEXTS[what]))
            _write_job(layout, job, TEXTS[what])
            writer.add(job, reduce_job(_events(job, TEXTS[what]), job=job))
    writer.finish(RunEnd(1, 1.0, 1.0))
    return {what: job.job_id for what, job in jobs.items()}


def make_odd(runs_dir: Path, sound: Path) -> Sequence[str]:
    """Write copies of a sound run as crashes, other versions and other people leave them; return their names."""
    names = ("killed", "torn", "newer", "older", "no-journal", "no-results", "empty-folder", "no-plugin")
    for name in names[:-2]:
        shutil.copytree(sound, runs_dir / name)
    (runs_dir / "empty-folder").mkdir()
    for file in ("results.csv", "summary.json", "leaderboard.csv"):
        (runs_dir / "killed" / file).unlink()
    for path in (runs_dir / "torn").rglob("events.jsonl"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    (runs_dir / "torn" / "results.csv").write_bytes(b"job_id,task_id\nx,")
    for name, version in (("newer", 99), ("older", 0)):
        manifest = runs_dir / name / "meta" / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"format_version": 1', f'"format_version": {version}'))
    for journal in (runs_dir / "no-journal").glob("journal-*.jsonl"):
        journal.unlink()
    shutil.rmtree(runs_dir / "no-results" / "jobs")
    layout = RunLayout(runs_dir / "no-plugin").create()
    jobs = [job_spec(job_id="ab" * 6, task_id="nowhere:task", trainer_id="Nobody", models={})]
    write_manifest(layout, {}, jobs, durable=False)
    write = TableWriter(layout, jobs)
    write.add(jobs[0], _finish(layout, jobs[0], [started(jobs[0]), ErrorRaised(type="E", message="m")]))
    write.finish(RunEnd(1, 1.0, 1.0))
    return names


def _job(what: str, text: str) -> JobSpec:
    return job_spec(
        job_id=content_hash(what.encode())[:12],
        task_id=f"internal:{text[:NAME]}",
        trainer_id=text[:NAME],
        models={"optimizer": ModelIdentity(provider="p", model=text[:NAME])},
    )


def _events(job: JobSpec, text: str) -> list[Event]:
    used = BudgetState(evaluations=2)
    hostile = text[:NAME]
    return [
        started(job),
        candidate(values={"program": "x = 1"}),
        evaluation(example=hostile, feedback=text),
        BestChanged(candidate="c0", score=1.0, used=used),
        StepStarted(index=0),
        LLMCall(call=0, role="optimizer", model=hostile, status="ok", request_hash=_digest(text), reply_hash="r"),
        LLMCall(call=1, role="agent", model=hostile, status="error", error=text),
        candidate("c1", values={"program": text, hostile: text}, parents=("c0",), origin=hostile),
        evaluation("c1", example=hostile, score=2.0, feedback=text, status="error"),
        Decision(candidate="c1", verdict="rejected", reason=text),
        StepFinished(index=0, score=2.0, best=1.0, seconds=0.1, used=used),
        Scored(what="best", split="train", candidate="c0", score=1.0, metrics={}),
        ErrorRaised(type=hostile or "E", message=text, traceback=text),
        JobFinished(status="failed", stop_reason=hostile, used=used, seconds=0.1),
    ]


def _write_job(layout: RunLayout, job: JobSpec, text: str) -> None:
    folder = layout.job(job.job_id)
    _finish(layout, job, _events(job, text))
    folder.stdout.write_text(text)
    folder.artifacts.mkdir(parents=True, exist_ok=True)
    name = text[:NAME].replace("/", "_").replace("\0", "_").replace("\n", "_")
    (folder.artifacts / (name or "_")).write_text(text)


def _finish(layout: RunLayout, job: JobSpec, events: list[Event]) -> object:
    folder = layout.job(job.job_id)
    folder.path.mkdir(parents=True)
    lines = [
        event.model_copy(update={"seq": i, "t": "2030-01-01T00:00:00+00:00", "mono": i / 10}).model_dump_json()
        for i, event in enumerate(events)
    ]
    folder.events.write_text("".join(f"{line}\n" for line in lines))
    result = reduce_job(events, job=job)
    write_result(folder, result, durable=False)
    return result


def _digest(text: str) -> str:
    return content_hash(text[:200].encode())


def _record(layout: RunLayout, job: JobSpec, text: str) -> bytes:
    blobs = Blobs(layout.llm_blobs)
    request = {"messages": [{"role": "user", "content": text}, {"role": text[:NAME], "content": "more"}]}
    line = {
        "job_id": job.job_id,
        "role": "optimizer",
        "digest": _digest(text),
        "request": blobs.put(json.dumps(request).encode()),
        "reply": blobs.put(json.dumps({"message": {"role": "assistant", "content": text}}).encode()),
    }
    return json.dumps(line).encode() + b"\n"
