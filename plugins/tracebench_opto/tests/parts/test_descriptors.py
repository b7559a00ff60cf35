"""Descriptors say of what kind a candidate is, and a grid over them has a best candidate in every cell."""

from __future__ import annotations

import pytest

from tracebench_core.specs import Candidate, Evaluation, ExampleResult, Feedback, Parameter, Values
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.descriptors import cells, default_descriptors, describe

FLAT = "def f(x):\n    return x\n"
NESTED = "def f(x):\n    for i in range(3):\n        if x and i:\n            x += 1\n    return x\n"


def entry(values: Values, **metrics: float) -> Entry:
    feedback = Feedback(score=0.0, metrics=metrics)
    result = ExampleResult(example="a", split="train", seconds=0.0, feedback=feedback)
    return Archive().add(Evaluation(candidate=Candidate(id="c", values=values), results=(result,), score=0.0))


def test_code_is_described_by_its_syntax_tree() -> None:
    flat, nested = entry({"code": FLAT}), entry({"code": NESTED})
    assert describe(flat, ["branches"]) == (0.0,)
    assert describe(nested, ["branches"]) == (3.0,)
    assert describe(nested, ["depth"]) > describe(flat, ["depth"])  # type: ignore[operator]  # both are there
    assert describe(nested, ["length"]) > describe(flat, ["length"])  # type: ignore[operator]


def test_what_is_no_code_has_no_branches_and_what_was_not_measured_has_no_kind() -> None:
    assert describe(entry({"prompt": "be ( kind"}), ["branches", "depth"]) == (0.0, 0.0)
    assert describe(entry({"x": 2.0}, cost=3.0), ["value:x", "metric:cost"]) == (2.0, 3.0)
    assert describe(entry({"x": 2.0}), ["metric:cost"]) is None
    assert describe(entry({"x": "two"}), ["value:x"]) is None


def test_the_grid_spans_what_was_met() -> None:
    assert cells([(0.0,), (5.0,), (10.0,)], 2) == [(0.0,), (1.0,), (1.0,)]
    assert cells([(3.0, 1.0), (3.0, 2.0)], 4) == [(0.0, 0.0), (0.0, 3.0)]


@pytest.mark.parametrize(
    ("parameters", "metrics", "found"),
    [
        ([Parameter(name="x", initial=0.0, kind="number")], [], ("value:x",)),
        ([Parameter(name="x", initial=0.0, kind="number")], ["a", "b"], ("metric:a", "metric:b")),
        ([Parameter(name="f", initial="", kind="code")], ["a"], ("length", "branches")),
        ([Parameter(name="t", initial="", kind="text")], [], ("length",)),
    ],
)
def test_a_task_has_descriptors_that_fit(
    parameters: list[Parameter], metrics: list[str], found: tuple[str, ...]
) -> None:
    assert default_descriptors(parameters, metrics) == found
