"""Every suite has a config under its own name, and the quickest run with a real model has one, too."""

from __future__ import annotations

from pathlib import Path

from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.config import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


def test_every_suite_has_a_config_of_its_name_that_runs_its_tasks() -> None:
    suites = {task_id.partition(":")[0] for task_id in open_host().catalog().tasks}
    assert {"internal", "example_plugin"} <= suites
    for suite in suites:
        config = load_config(CONFIGS / f"{suite}.yaml")
        assert {task.id.partition(":")[0] for task in config.tasks} == {suite}


def test_the_quickest_real_run_is_capped() -> None:
    config = load_config(CONFIGS / "smoke_real.yaml")
    assert config.mode == "real"
    assert config.budget.usd is not None
