"""A run is followed from its directory alone: each job is told of once, as it is when somebody looks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.analysis.runs import make_run

from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine.run.control_follow import LineFollower, RunFollower, follow_lines
from tracebench_runs.storage.layout import RunLayout


class Told:
    """What a reporter was told, in order."""

    def __init__(self) -> None:
        self.words: list[Any] = []

    def run_started(self, run_dir: Path, jobs: int) -> None:
        self.words.append(("run", jobs))

    def job_started(self, job: JobSpec) -> None:
        self.words.append(("started", job.seed))

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        self.words.append((result.status, job.seed))

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        self.words.append(dict(counts))


def journal(layout: RunLayout, *records: Mapping[str, Any], worker: str = "main") -> None:
    with (layout.path / f"journal-{worker}.jsonl").open("a") as sink:
        sink.writelines(json.dumps(record) + "\n" for record in records)


def test_each_job_is_told_of_once_and_of_all_at_the_end(tmp_path: Path) -> None:
    statuses: Any = {("A", "s:x", 2): "failed", ("A", "s:x", 3): "not_run"}
    run = make_run(
        tmp_path / "run", lambda *_: 1.0, trainers=("A",), tasks=("s:x",), seeds=(1, 2, 3), statuses=statuses
    )
    (run.layout.path / "journal-0.jsonl").unlink(missing_ok=True)
    one, two, three = (job.job_id for job in run.planned)
    told = Told()
    follower = RunFollower(run.layout, told)
    follower.begin()
    follower.look()
    journal(run.layout, {"kind": "job_started", "job": one}, {"kind": "job_started", "job": "another"})
    follower.look()
    follower.look()
    journal(run.layout, {"kind": "job_finished", "job": one})
    journal(run.layout, {"kind": "job_started", "job": two}, {"kind": "job_finished", "job": two}, worker="other")
    journal(run.layout, {"kind": "job_finished", "job": three})
    follower.look()
    follower.end()

    assert told.words[:2] == [("run", 3), ("started", 1)]
    assert sorted(map(str, told.words[2:-1])) == sorted(map(str, [("ok", 1), ("started", 2), ("failed", 2)]))
    assert told.words[-1] == {"failed": 1, "not_run": 1, "ok": 1}


def test_a_growing_file_is_told_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    follower = LineFollower(path)
    assert follower.lines() == []
    path.write_text("one\ntw")
    assert follower.lines() == [b"one"]
    with path.open("a") as sink:
        sink.write("o\nthree\n")
    assert follower.lines() == [b"two", b"three"]
    assert follower.lines() == []


def test_a_last_line_without_its_end_comes_at_the_end(tmp_path: Path) -> None:
    path, looks = tmp_path / "log", iter([True, True, False])

    def grow(_seconds: float) -> None:
        with path.open("a") as sink:
            sink.write("a\nb")

    assert list(follow_lines(path, goes_on=lambda: next(looks), sleep=grow)) == [b"a", b"ba", b"b"]
    assert list(follow_lines(tmp_path / "none", goes_on=lambda: False)) == []
