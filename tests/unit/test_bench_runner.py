"""`BenchRunner` runs a config as `run` does."""

from __future__ import annotations

from pathlib import Path

from tracebench_engine.api import BenchRunner
from tracebench_engine.config import parse_config


def test_a_runner_runs_its_config(tmp_path: Path) -> None:
    config = parse_config({"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "runs_dir": str(tmp_path)})

    assert BenchRunner(config).run().counts == {"ok": 1}
