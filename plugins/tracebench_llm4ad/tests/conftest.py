"""The real sandbox, and one way to evaluate a program as a job does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.processes import measured

from tracebench_core.contracts import EvaluationFailed, Sandbox
from tracebench_core.specs import Example, Feedback
from tracebench_llm4ad.code_task import PARAMETER, CodeTask
from tracebench_sandbox.client import open_sandbox


@dataclass(frozen=True)
class Job:
    """The part of a job that a task's program may use."""

    sandbox: Sandbox
    workdir: Path
    seed: int = 7

    def complete(self, messages: Any, *, n: int = 1, **sampling: Any) -> Any:
        raise AssertionError("these tasks ask no model")

    def endpoint(self) -> Any:
        raise AssertionError("these tasks ask no model")

    def record(self, name: str, data: Any) -> None:
        assert name == "drawing"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(preload=("math", "random", "numpy", "scipy.optimize")) as opened:
        yield opened


@pytest.fixture
def evaluate(sandbox: Sandbox, tmp_path: Path) -> Callable[..., Feedback]:
    """Return a function of a task, a program (default: the starting one) and an example (default: the first to train on)."""
    job = Job(sandbox=sandbox, workdir=tmp_path)

    def run(task: CodeTask, program: str = "", *, example: Example | None = None) -> Feedback:
        case = example or task.splits["train"][0]
        values = {PARAMETER: program or task.parameters[0].initial}
        try:
            return measured(lambda: task.guide(case, task.run(values, case, job), job))
        except EvaluationFailed as failure:
            return failure.feedback

    return run
