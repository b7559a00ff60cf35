"""A run whose budget does not pay for its next job says so, with a command that gives it enough."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.cli.conftest import Cli

CONFIG = """run_id: b
tasks: ['internal:numeric_param']
trainers: [RandomSearch]
seeds: [1, 2]
budget: {evaluations: 20}
run_budget: {evaluations: 10}
"""


def test_a_run_budget_below_a_jobs_names_the_flag_that_pays_for_all(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    stopped = cli("run", "--config", "c.yaml")
    assert stopped.returncode == 5
    assert "`run_budget.evaluations`" in stopped.stderr
    (line,) = [line for line in stopped.stderr.splitlines() if "Give it more:" in line]
    typed = shlex.split(line.partition("Give it more:")[2])
    assert typed == ["trace-bench", "resume", "runs/b", "--max-evaluations", "40"]
    gone_on = cli(*typed[1:], "--json")
    assert gone_on.returncode == 0, gone_on.stderr
    assert json.loads(cli("show", "runs/b", "--json").stdout)["counts"] == {"ok": 2}
