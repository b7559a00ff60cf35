"""A program that runs out of time on one example is not run on the others, whatever the task asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Feedback, Outcome
from tracebench_llm4ad.code_task import PARAMETER, CodeTask


class Hanging:
    """A sandbox in which every call runs out of time."""

    def __init__(self) -> None:
        self.opened = 0
        self.workdir, self.seed, self.sandbox = Path(), 7, self

    @contextmanager
    def session(self, *_: Any, **__: Any) -> Iterator[Hanging]:
        self.opened += 1
        yield self

    def call(self, *_: Any, **__: Any) -> Outcome:
        return Outcome(status="timeout", error="out of time", seconds=1.0)


@pytest.mark.parametrize(
    "name",
    [
        "optimization/tsp_construct",
        "optimization/online_bin_packing",
        "circle_packing",
        "science_discovery/stresstrain",
    ],
)
def test_a_program_that_hangs_is_run_on_one_example(name: str, build: Callable[..., CodeTask]) -> None:
    task = build(name)
    job: Any = Hanging()
    first, other = task.splits["train"][0], task.splits["test"][0]

    def said(example: Any, program: str = "hangs") -> Feedback:
        with pytest.raises(EvaluationFailed) as failed:
            task.run({PARAMETER: program}, example, job)
        assert failed.value.feedback.status == "timeout"
        return failed.value.feedback

    assert "out of time" in said(first).text
    opened = job.opened
    assert (
        said(other).text
        == f"Not run on `{other.id}`: the program ran out of time on `{first.id}`, and then earns nothing."
    )
    assert job.opened == opened
    assert "Not run" not in said(other, "another").text
    assert "Not run" in said(first, "another").text
    assert "Not run" not in said(other, "another").text, "a repeat is run"
