"""The logger `StepsCsv`: a line a step, and a head once, however often a job goes on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from tracebench_core.specs.events import MetricLogged, StepFinished
from tracebench_example.steps_csv import StepsCsv

TOLD: dict[str, Any] = {"v": 1, "seq": 1, "t": "2026-01-01T00:00:00.000Z", "mono": 0.0}
USED = {"evaluations": 4, "llm_calls": 1, "tokens": 0, "usd": 0.0, "seconds": 1.0}


def step(index: int, score: float | None) -> StepFinished:
    return StepFinished.model_validate(
        TOLD | {"kind": "step_finished", "index": index, "score": score, "best": 1.0, "seconds": 1.0, "used": USED}
    )


def test_each_step_is_a_line_and_a_job_that_goes_on_adds_to_the_file(tmp_path: Path) -> None:
    for steps in ((step(0, 0.5), step(1, None)), (step(2, 1.0),)):
        logger = StepsCsv(tmp_path)
        for one in steps:
            logger(one)
        logger(MetricLogged.model_validate(TOLD | {"kind": "metric", "name": "m", "value": 1.0, "step": None}))
        logger.close()
    with (tmp_path / "steps.csv").open(encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == [
            ["step", "score", "best", "evaluations"], ["0", "0.5", "1.0", "4"], ["1", "", "1.0", "4"], ["2", "1.0", "1.0", "4"],
        ]  # fmt: skip
