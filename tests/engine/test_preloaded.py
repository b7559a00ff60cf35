"""A job's process finds in memory whatever our own trainers need: nothing is imported after the fork."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

from tests.whole import HEAVY

from tracebench_engine import api
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.config import parse_config

WATCHER = """
import json, sys
from tracebench_core.hookspecs import hookimpl

@hookimpl(wrapper=True)
def tracebench_run_job(job, job_dir):
    before = set(sys.modules)
    try:
        return (yield)
    finally:
        (job_dir / "imported.json").write_text(json.dumps(sorted(set(sys.modules) - before)))
"""
OURS = ("tracebench_engine.", "tracebench_opto.")
NEEDS_SETTINGS = {"Command", "Agent", "Sequence", "Portfolio", "DSPyTrainer"}


def trainers() -> list[str]:
    """Return the trainers of ours that can train an offline task with the stub model alone."""
    specs = open_host().catalog().components["trainer"].values()
    return sorted(spec.name for spec in specs if spec.loader.startswith(OURS) and spec.name not in NEEDS_SETTINGS)


@HEAVY
def test_nothing_is_imported_after_the_fork(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("watcher", WATCHER)
    config = {
        "tasks": ["internal:code_param"],
        "trainers": trainers(),
        "budget": {"evaluations": 6, "llm_calls": 4},
        "mode": "stub",
        "plugins": {"options": {"watcher": {}}},
        "runs_dir": str(tmp_path / "runs"),
        "max_workers": 2,
    }

    summary = api.run(parse_config(config), stream=io.StringIO())

    run = api.load_run(summary.run_dir)
    told = {
        result.trainer_id: json.loads((run.layout.job(job_id).path / "imported.json").read_text())
        for job_id, result in run.results.items()
        if result.status == "ok"
    }
    assert len(told) > 20
    assert {trainer: modules for trainer, modules in told.items() if modules} == {}
