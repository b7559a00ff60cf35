"""The plugins of the page on extensions, as they stand there: installed, run, and read again."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

from tracebench_core import api
from tracebench_core.config import parse_config
from tracebench_core.specs.events import SuiteRecord
from tracebench_core.store.eventlog import read_events

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"


def test_the_pages_plugins_run_as_they_stand_there(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    judge, service = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    install_plugin("judging", judge)
    install_plugin("serving", service)

    summary = api.run(
        parse_config(
            {
                "tasks": ["judging:summaries", "serving:served"],
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
    assert summary.counts == {"ok": 4}
    assert {record.name for record in records} == {"judging.judged"}
    assert run.results[by_task["judging:summaries"]].usage["judge"].llm_calls
    assert run.results[by_task["serving:served"]].score_val_initial == -3.0
