"""The plugins of the page on extensions, as they stand there: installed, run, and read again."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.whole import HEAVY

from tracebench_core import errors
from tracebench_core.specs.events import SuiteRecord
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.events.eventlog import read_events

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"


def test_the_pages_plugins_run_as_they_stand_there(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    judge, service, data = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    install_plugin("judging", judge)
    install_plugin("serving", service)
    install_plugin("sharing", data)

    summary = api.run(
        parse_config(
            {
                "tasks": ["judging:summaries", "serving:served", "sharing:doubled"],
                "trainers": ["NoOp", {"id": "RandomSearch", "params": {"num_steps": 2}}],
                "runs_dir": str(tmp_path),
            }
        ),
        stream=io.StringIO(),
    )

    run = api.load_run(summary.run_dir)
    by_task = {job.task_id: job.job_id for job in run.planned if job.trainer_id == "NoOp"}
    events = read_events(run.layout.job(by_task["judging:summaries"])).events
    records = [event for event in events if isinstance(event, SuiteRecord)]
    assert summary.counts == {"ok": 6}
    assert {record.name for record in records} == {"judging.judged"}
    assert run.results[by_task["judging:summaries"]].usage["judge"].llm_calls
    assert run.results[by_task["serving:served"]].score_val_initial == -3.0
    assert run.results[by_task["sharing:doubled"]].score_test == -5.5


@HEAVY
def test_the_pages_axis_ends_a_job_once_its_lines_are_in_the_table(tmp_path: Path) -> None:
    core = tmp_path / "site" / "tracebench_core"
    shutil.copytree(Path(errors.__file__).parent, core, ignore=shutil.ignore_patterns("__pycache__"))
    table = core / "specs" / "budget.py"
    (change,) = re.findall(r"^```diff\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    lines = change.splitlines()
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        assert table.read_text().count(f"\n{old[1:]}\n") == 1, old
        put = new[1:] if old[0] == "-" else f"{old[1:]}\n{new[1:]}"
        table.write_text(table.read_text().replace(f"\n{old[1:]}\n", f"\n{put}\n"))
    config = {
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "SequentialRefine", "num_steps": 50}],
        "budget": {"answer_tokens": 60},
        "runs_dir": str(tmp_path),
        "run_id": "r",
    }
    (tmp_path / "c.json").write_text(json.dumps(config))
    environ = os.environ | {"PYTHONPATH": str(core.parent)}

    path = str(tmp_path / "c.json")
    for command in (["run", "--config", path], ["plan", path]):
        done = subprocess.run(
            [sys.executable, "-m", "tracebench_engine.cli", *command],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "answer tokens:" in done.stdout

    (written,) = (tmp_path / "r").glob("jobs/*/results.json")
    result = json.loads(written.read_text())
    assert result["stop_reason"] == "budget:answer_tokens"
    assert result["used"]["answer_tokens"] >= 60
