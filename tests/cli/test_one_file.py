"""A task and a trainer that are one file each: a whole run, and a resume that refuses a changed file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .conftest import Cli

EXAMPLES = Path(__file__).parents[2] / "examples" / "one_file"
CONFIG = """
tasks: ["./my_task.py:task"]
trainers: [{id: ./my_trainer.py:Halving, params_variants: [{steps: 4}]}]
"""


def test_a_run_of_files_ends_well_and_does_not_resume_with_another_file(cli: Cli, tmp_path: Path) -> None:
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)

    done = cli("run", "--config", "mine.yaml", "-o", "run_id=mine")
    assert done.returncode == 0, done.stderr
    assert "1 ok" in done.stderr
    assert "my_task.py@" in (tmp_path / "runs/mine/meta/manifest.json").read_text()

    trainer = tmp_path / "my_trainer.py"
    trainer.write_text(trainer.read_text() + "\n# another\n")
    refused = cli("resume", "runs/mine")
    assert refused.returncode == 3
    assert "`./my_trainer.py` has changed" in refused.stderr

    run = tmp_path / "runs/mine"
    held = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}
    refused = cli("run", "--config", "mine.yaml", "-o", "run_id=mine")
    assert refused.returncode == 3
    assert "`./my_trainer.py` has changed" in refused.stderr
    assert {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()} == held


def test_settings_of_a_file_are_listed_and_checked(cli: Cli, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "my_trainer.py", tmp_path)
    listed = cli("list-trainers", "./my_trainer.py:Halving", "--json")
    assert "steps" in json.dumps(json.loads(listed.stdout))
    (tmp_path / "mine.yaml").write_text(
        CONFIG.replace("./my_task.py:task", "internal:numeric_param").replace("steps", "stps")
    )

    refused = cli("validate", "--config", "mine.yaml")

    assert refused.returncode == 2
    assert "has no setting `stps`. Did you mean `steps`?" in refused.stderr


def test_a_task_of_a_file_is_shown_with_where_it_was_calibrated(cli: Cli, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "my_task.py", tmp_path)
    shown = cli("list-tasks", "./my_task.py:task")
    assert shown.returncode == 0, shown.stderr
    assert "never calibrated" in shown.stdout
