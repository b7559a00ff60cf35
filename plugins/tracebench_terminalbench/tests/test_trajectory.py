"""The steps of the best candidate's trials are shown from the files that the job kept, and from no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_core.specs.events import SuiteRecord
from tracebench_engine.api.records import Run, load_run
from tracebench_terminalbench.trajectory import view

STEPS = [
    {"step_id": 1, "source": "user", "message": "the prompt"},
    {
        "step_id": 2, "source": "agent", "message": "I look <b>around</b>",
        "tool_calls": [{"function_name": "bash", "arguments": {"keystrokes": "ls\n"}}],
        "observation": {"results": [{"content": "a.txt" + "x" * 5000}]},
    },
]  # fmt: skip


def _made(tmp_path: Path, **data: Any) -> tuple[Run, str]:
    """Return a run whose one job holds one record, and the job's id."""
    made = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["terminal_bench:t"], seeds=[1])
    job_id = made.planned[0].job_id
    record = SuiteRecord(name="terminal_bench.trials", data=data, candidate="c1", example="task-1")
    made.layout.job(job_id).events.write_text(record.model_dump_json() + "\n")
    return load_run(made.layout.path), job_id


def test_steps_are_shown_as_columns(tmp_path: Path) -> None:
    run, job_id = _made(tmp_path, transcript="terminal_bench/c1-task-1/transcript.txt", trials=["trial-1", "gone"])
    folder = run.layout.job(job_id).artifacts / "terminal_bench" / "c1-task-1" / "trial-1" / "agent"
    folder.mkdir(parents=True)
    (folder / "trajectory.json").write_text(json.dumps({"steps": STEPS}))
    shown = view(run, job_id)
    assert shown is not None
    assert (shown["step"], shown["typed"], shown["said"]) == ([2], ["ls\n"], ["I look <b>around</b>"])
    assert len(shown["shown"][0]) < 1100
    assert view(run, None) is None


@pytest.mark.parametrize(("transcript", "trials"), [("../out/t.txt", ["t"]), ("gone/t.txt", ["t"]), ("out/t.txt", 3)])
def test_a_record_that_leads_elsewhere_shows_nothing(tmp_path: Path, transcript: str, trials: Any) -> None:
    run, job_id = _made(tmp_path, transcript=transcript, trials=trials)
    outside = run.layout.job(job_id).path / "out" / "t"
    outside.mkdir(parents=True)
    (outside / "trajectory.json").write_text(json.dumps({"steps": STEPS}))
    assert view(run, job_id) is None
