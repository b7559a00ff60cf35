"""The task in the real sandbox: right, wrong and hostile candidates, and a run through the command's own API."""

import csv
from pathlib import Path

import pytest

from tracebench_engine.api import evaluate_task, load_config, run

CONFIG = """
seeds: [1]
tasks: [example_plugin:median]
trainers:
  - id: KeepBest
    logger: StepsCsv
    params_variants: [{num_steps: 3}]
"""
RIGHT = """
def middle(numbers):
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(numbers) % 2 else (ordered[half - 1] + ordered[half]) / 2
"""


def test_the_median_is_worth_one_on_every_example() -> None:
    assert [f.score for f in evaluate_task("example_plugin:median", {"code": RIGHT})] == [1.0] * 3


@pytest.mark.parametrize(
    ("body", "words"),
    [("1 / 0", "division by zero"), ("return 'seven'", "must return a number"), ("return open('/etc/passwd')", "")],
)
def test_a_bad_candidate_is_told_why(body: str, words: str) -> None:
    feedback = evaluate_task("example_plugin:median", {"code": f"def middle(numbers):\n    {body}\n"})

    assert {f.status for f in feedback} == {"invalid"}
    assert all(words in f.text for f in feedback)


def test_a_job_runs_with_the_trainer_and_the_logger(tmp_path: Path) -> None:
    (tmp_path / "try.yaml").write_text(CONFIG)

    summary = run(load_config(tmp_path / "try.yaml", overrides=[f"runs_dir={tmp_path}"]))

    assert summary.counts == {"ok": 1}
    (table,) = tmp_path.glob("*/jobs/*/steps.csv")
    with table.open(encoding="utf-8") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "1", "2"]
