"""Numbers that are larger than anything is: meant as they stand, or told in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]
CONFIG = "seeds: [1]\ntasks: [internal:numeric_param]\ntrainers: [RandomSearch]\nbudget: {evaluations: 4}\n"
ONLY = {"TRACEBENCH_PLUGINS": "internal"}


@pytest.mark.parametrize("seconds", ["1e300", "1e10"])
def test_a_job_may_take_longer_than_a_system_waits(cli: Cli, tmp_path: Path, seconds: str) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    done = cli("run", "--config", "c.yaml", "--job-timeout", seconds, "--json", env=ONLY)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["counts"] == {"ok": 1}


@pytest.mark.parametrize("seconds", ["inf", "1e300", "1e10"])
def test_a_task_may_be_tried_for_as_long_as_it_takes(cli: Cli, tmp_path: Path, seconds: str) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    done = cli("validate", "--config", "c.yaml", "--strict", "--task-timeout", seconds, env=ONLY)
    assert done.returncode == 0, done.stderr
    assert "[OK] internal:numeric_param" in done.stdout


def test_no_more_processes_calibrate_than_there_are_tasks(cli: Cli) -> None:
    done = cli("calibrate", "internal:numeric_param", "--at-once", "9" * 30, "--task-timeout", "inf", env=ONLY)
    assert done.returncode == 0, done.stderr
    assert "3 cases: 3 passed." in done.stderr + done.stdout


@pytest.mark.parametrize("line", ["evaluate internal:numeric_param --seeds {}", "compare x --most-seeds {}"])
def test_more_seeds_than_anybody_measures_are_refused_with_the_option(cli: Cli, line: str) -> None:
    done = cli(*line.format("9" * 30).split(), env=ONLY)
    assert done.returncode == 2
    assert "seeds'" in done.stderr
    assert "less than or equal to" in done.stderr or "range" in done.stderr
