"""Where a metric is found in what a command printed or wrote, and what is said where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_autoresearch.evaluation.box import Ran
from tracebench_autoresearch.evaluation.extraction import NoMetric, read_metric
from tracebench_autoresearch.experiment import Metric
from tracebench_core.averages import LARGEST

REGEX: dict[str, Any] = {"name": "loss"}
JSON: dict[str, Any] = {"name": "loss", "kind": "json"}
PYTEST: dict[str, Any] = {"name": "passed", "kind": "pytest"}
COVERAGE: dict[str, Any] = {"name": "covered", "kind": "coverage"}
CODE: dict[str, Any] = {"name": "code", "kind": "exit_code"}


def ran(stdout: str = "", *, stderr: str = "", code: int | None = 0, **outputs: bytes) -> Ran:
    return Ran("ended", code, stdout, stderr, outputs, seconds=1.0)


FOUND = [
    (REGEX, ran("loss: 3"), 3),
    (REGEX, ran("LOSS = -1.5e-3"), -0.0015),
    (REGEX, ran("  loss .5"), 0.5),
    (REGEX, ran("loss: 1\nother: 9\nloss: 2\n"), 2),
    (REGEX, ran("loss: 7.\nmyloss: 8\nthe loss: 9"), 7),
    (REGEX | {"pattern": "final ([0-9]+)"}, ran("final 4 final 56"), 56),
    (REGEX | {"pattern": "[0-9]+"}, ran("1 2 30"), 30),
    (REGEX, ran(f"loss: {LARGEST!r}"), LARGEST),
    (REGEX, ran(f"loss: {-LARGEST!r}"), -LARGEST),
    (JSON, ran('{"loss": 2.5}'), 2.5),
    (JSON, ran('{"loss": "2.5"}'), 2.5),
    (JSON | {"path": "a.1.b"}, ran('{"a": [{"b": 1}, {"b": 2}, {"b": 3}]}'), 2),
    (JSON | {"file": "out"}, ran('{"loss": 1}', out=b'{"loss": 2}'), 2),
    (PYTEST, ran("= 3 passed, 1 failed in 0.1s ="), 0.75),
    (PYTEST, ran("1 passed\n= 2 passed, 1 failed, 1 error, 3 xfailed, 1 xpassed ="), 5 / 8),
    (PYTEST, ran("0 passed"), 0),
    (PYTEST, ran(stderr="Ran 4 tests in 0.1s\nFAILED (failures=1, errors=1)"), 0.5),
    (PYTEST, ran(stderr="Ran 1 test in 0.1s\nOK"), 1),
    (PYTEST, ran(stderr="Ran 0 tests in 0s"), 0),
    (COVERAGE, ran("TOTAL 10 5 50%\nx 1 1 9%\nTOTAL 100 3 97.25%  \n"), 97.25),
    (CODE, ran(code=3), 3),
    (CODE, ran(code=0), 0),
]
LACKING = [
    (REGEX, ran("gain: 3"), r"`loss` is not in the output \(nothing matches `.*loss.*`\)"),
    (REGEX, ran("loss: -inf"), "`loss` is -inf$"),
    (REGEX, ran("loss: nan"), "`loss` is nan$"),
    (REGEX, ran("loss: 1e155"), r"`loss` is 1e\+155, and nothing beyond .* can be averaged"),
    (REGEX | {"pattern": "x+"}, ran("x" * 90), f"`loss` is '{'x' * 80}', which is no number"),
    (JSON | {"file": "out"}, ran('{"loss": 1}'), "`out` was not written"),
    (JSON | {"file": "out"}, ran(out=b"{"), "`out` is no JSON"),
    (JSON, ran("loss: 1"), "the output is no JSON"),
    (JSON, ran("{}"), "the output has nothing at `loss`"),
    (JSON | {"path": "a.2"}, ran('{"a": [1, 2]}'), "nothing at `a.2`"),
    (JSON | {"path": "a.b"}, ran('{"a": 1}'), "nothing at `a.b`"),
    (JSON, ran('{"loss": true}'), "`loss` is True, which is no number"),
    (JSON, ran('{"loss": null}'), "`loss` is 'None', which is no number"),
    (PYTEST, ran("all well", stderr="all well"), "no summary of tests is in the output"),
    (COVERAGE, ran("SUBTOTAL 1 2 3%"), "no line `TOTAL … n%`"),
    (CODE, ran(code=None), "has no exit code"),
    (
        {"name": "cost", "kind": "cpu_seconds"},
        ran("cost: 1"),
        "processor time of the box cannot be told, and so no `cost`",
    ),
]


@pytest.mark.parametrize(("metric", "said", "value"), FOUND)
def test_it_is_found(metric: dict[str, Any], said: Ran, value: float) -> None:
    assert read_metric(Metric(**metric), said) == value


@pytest.mark.parametrize(("metric", "said", "words"), LACKING)
def test_what_is_not_there_is_said(metric: dict[str, Any], said: Ran, words: str) -> None:
    with pytest.raises(NoMetric, match=words):
        read_metric(Metric(**metric), said)
