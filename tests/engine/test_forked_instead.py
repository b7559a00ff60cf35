"""Where processes of jobs cannot be set back each job has a fork of its own: with the same results, and the reason in words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_set_back import needs_kernel
from tests.whole import HEAVY

from tracebench_engine.run.local import worker
from tracebench_engine.run.local.diagnosis import why_forked

ROOT = Path(__file__).parents[2]
HIDE = [sys.executable, str(ROOT / "tests" / "sandbox" / "hide.py")]
JOBS = 20
SCRIPT = """
import io, json, resource, sys
from pathlib import Path
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.run.local.diagnosis import why_forked

if sys.argv[2]:
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_CPU)[1]))
summary = api.run(parse_config(json.loads(sys.argv[1])), stream=io.StringIO())
print(json.dumps([why_forked(), str(summary.run_dir), {row.name: row.value for row in api.diagnose()}["job processes"]]))
"""
OF_A_MOMENT = re.compile("seconds|^t$|^mono$|_at$|^run_id$")
TOLD = re.compile(r"a job's process was not used again: [^\n]+")
MISSING = {
    "debugging": "it cannot be held: Operation not permitted",
    "watching memory": "it cannot be watched",
    "watching memory by right": "it cannot be watched",
    "written pages": "its memory cannot be watched: Inappropriate ioctl for device",
    "reading of memory": "its memory cannot be copied: Operation not permitted",
    "writing of memory": "its memory cannot be copied: Operation not permitted",
}


def run(folder: Path, *, hidden: str = "", limit: str = "", **environ: str) -> tuple[str, Path, str]:
    """Run the jobs in processes of their own on a host that lacks something; return why they fork, the run, and what `doctor` says."""
    asked = {
        "tasks": ["internal:numeric_param", "internal:multi_param"],
        "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 2}}, "NoOp"],
        "mode": "stub",
        "seeds": list(range(JOBS // 4)),
        "max_workers": 1,
        "runs_dir": str(folder),
    }
    command = [*([*HIDE, hidden] if hidden else []), sys.executable, "-c", SCRIPT, json.dumps(asked), limit]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environ)
    why, run_dir, told = json.loads(done.stdout)
    return why, Path(run_dir), told


def record(run_dir: Path) -> dict[str, Any]:
    """Return what the run's jobs have come to, file by file, without moments, seconds and processes."""
    files = [path for path in sorted((run_dir / "jobs").rglob("*")) if path.is_file()]
    return {path.relative_to(run_dir / "jobs").as_posix(): without_times(path) for path in files}


def without_times(path: Path) -> Any:
    """Return what a file of a job holds."""
    if path.suffix not in {".json", ".jsonl"}:
        return path.read_bytes()
    parts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return [_timeless(json.loads(part)) for part in parts]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if not OF_A_MOMENT.search(key)}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the jobs come to in processes that are set back."""
    why, run_dir, told = run(tmp_path_factory.mktemp("usual"))
    assert (why, told) == ("", "set back between jobs")
    assert (run_dir / "template.log").read_text() == ""
    found = record(run_dir)
    assert len({name.partition("/")[0] for name in found}) == JOBS
    return found


@needs_kernel
@HEAVY
@pytest.mark.parametrize("limit", ["", "1000000"], ids=["the switch", "limited processor time"])
def test_jobs_that_are_forked_come_to_the_same(tmp_path: Path, usual: dict[str, Any], limit: str) -> None:
    why, run_dir, told = run(tmp_path, limit=limit, **({} if limit else {"TRACEBENCH_SET_BACK": "0"}))

    assert why == (
        "processor time is limited, which adds up over a process's life" if limit else "TRACEBENCH_SET_BACK=0"
    )
    assert told == f"a fork for each job: {why}"
    assert (run_dir / "template.log").read_text() == ""
    assert record(run_dir) == usual


@needs_kernel
@pytest.mark.parametrize(
    ("hidden", "words"),
    [pytest.param(*item, marks=HEAVY, id=item[0]) for item in MISSING.items()],
)
def test_what_a_container_forbids_is_told_and_jobs_are_forked(
    tmp_path: Path, usual: dict[str, Any], hidden: str, words: str
) -> None:
    why, run_dir, told = run(tmp_path, hidden=hidden)

    assert why == words
    assert told == f"a fork for each job: {words}"
    lines = (run_dir / "template.log").read_text().splitlines()
    assert 0 < len(lines) <= 10
    assert all(TOLD.fullmatch(line) for line in lines), lines
    assert record(run_dir) == usual


@needs_kernel
def test_a_process_that_cannot_be_watched_says_so_and_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "USERFAULTFD", -1)
    monkeypatch.setattr(worker, "PATIENCE", 600.0)

    assert why_forked() == "it cannot be watched"
