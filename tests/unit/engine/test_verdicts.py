"""What is said of a calibration's case: the verdict, what was expected, what was seen and why, at each edge of what it allows."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.specs import Calibration, Feedback
from tracebench_engine.checks.calibration.verdicts import Seen, judge, seen_of

CASES: list[tuple[Any, ...]] = [
    ({"kind": "gold", "expected": 1.0}, [(1.0, {"a": 1.0, "b": 1.0})], None, ("passed", "every example 1", "all 2 right", "")),
    ({"kind": "gold", "expected": 1.0}, [(1.0, {"a": 1.0})], None, ("passed", "1", "1", "")),
    ({"kind": "gold", "expected": 1.0}, [(1.0, {"a": 1.0, "b": 0.5})], None, ("failed", "every example 1", "1 of 2 right",
        "Example `b`: 0.5 in place of 1")),
    ({"kind": "gold", "expected": 1.0, "abs_tol": 0.25}, [(1.0, {"a": 0.75, "b": 1.25})], None, ("passed", "every example 1",
        "all 2 right", "")),
    ({"kind": "gold", "expected": 1.0, "abs_tol": 0.25}, [(1.0, {"a": 0.7499, "b": 1.25})], None, ("failed", "every example 1",
        "1 of 2 right", "Example `a`: 0.7499 in place of 1")),
    ({"kind": "gold", "expected": 2.0, "rel_tol": 0.25}, [(1.0, {"a": 1.5, "b": 2.5})], None, ("passed", "every example 2",
        "all 2 right", "")),
    ({"kind": "gold", "expected": 2.0, "rel_tol": 0.25}, [(1.0, {"a": 1.5, "b": 2.51})], None, ("failed", "every example 2",
        "1 of 2 right", "Example `b`: 2.51 in place of 2")),
    ({"kind": "gold", "expected": 1.0, "abs_tol": 0.25}, [(1.0, {"a": 2.0}), (2.0, {"a": 2.0})], None, ("noisy", "1", "0 of 1 right",
        "Example `a`: 2 in place of 1. The machine is too noisy: ± 0.5 was seen, ± 0.25 is needed.")),
    ({"kind": "gold", "expected": 1.0, "abs_tol": 0.5}, [(1.0, {"a": 2.0}), (2.0, {"a": 2.0})], None, ("failed", "1", "0 of 1 right",
        "Example `a`: 2 in place of 1")),
    ({"kind": "gold", "expected": 1.0}, [(1.0, {"a": 2.0}), (2.0, {"a": 2.0})], None, ("failed", "1", "0 of 1 right",
        "Example `a`: 2 in place of 1")),
    ({"kind": "known", "expected": {"a": 1.0, "b": 2.0}}, [(1.0, {"a": 1.0, "b": 2.0})], None, ("passed", "the figures of 2 examples",
        "all 2 right", "")),
    ({"kind": "known", "expected": {"a": 1.0, "b": 2.0}}, [(1.0, {"a": 1.0})], None, ("failed", "the figures of 2 examples",
        "1 of 2 right", "Example `b`: it was not measured")),
    ({"kind": "known", "expected": {"a": 1.0, "b": -2.0}, "rel_tol": 0.1}, [(1.0, {"a": 1.3, "b": -2.0}), (1.5, {"a": 1.3, "b": -2.0})],
        None, ("noisy", "the figures of 2 examples", "1 of 2 right",
        "Example `a`: 1.3 in place of 1. The machine is too noisy: ± 0.25 was seen, ± 0.2 is needed.")),
    ({"kind": "form", "other": "other"}, [(1.0, {"a": 1.0, "b": 0.25})], [(1.0, {"a": 1.0, "b": 0.5})], ("failed",
        "the figures of 2 examples", "1 of 2 right", "Example `b`: 0.25 in place of 0.5")),
    ({"kind": "form", "other": "other"}, [(1.0, {"a": 1.0, "b": 0.5})], [(1.0, {"a": 1.0, "b": 0.5})], ("passed",
        "the figures of 2 examples", "all 2 right", "")),
    ({"kind": "form", "other": "other"}, [(1.0, {"a": 1.0})], [(1.0, {"a": "invalid: no"})], ("skipped", "the figures of 0 examples",
        "nothing", "There is no example to measure it on.")),
    ({"kind": "form", "other": "other", "expected": 1.0}, [(1.0, {"a": 1.0})], [(1.0, {"a": 0.0})], ("passed", "1", "1", "")),
    ({"kind": "known", "expected": 1.0}, [(1.0, {"a": 1.0})], None, ("passed", "1", "1", "")),
    ({"kind": "known", "expected": 1.0}, [(1.1, {"a": 1.1})], None, ("failed", "1", "1.1", "")),
    ({"kind": "known", "expected": 1.0, "abs_tol": 0.25}, [(1.25, {"a": 1.25})], None, ("passed", "1 ± 0.25", "1.25", "")),
    ({"kind": "known", "expected": -2.0, "rel_tol": 0.25}, [(-2.5, {"a": -2.5})], None, ("passed", "-2 ± 0.5", "-2.5", "")),
    ({"kind": "known", "expected": 1.0}, [(None, {"a": 1.0})], None, ("failed", "1", "no figure", "It has no figure.")),
    ({"kind": "known", "expected": 1.0}, [(None, {"a": "timeout: slow"})], None, ("failed", "1", "no figure",
        "Example `a`: timeout: slow")),
    ({"kind": "known", "expected": 1.0, "abs_tol": 0.1}, [(1.0, {"a": 1.0}), (1.4, {"a": 1.4})], None, ("noisy", "1 ± 0.1", "1.2 ± 0.2",
        "The machine is too noisy: ± 0.2 was seen, ± 0.1 is needed.")),
    ({"kind": "known", "expected": 1.0, "abs_tol": 0.1}, [(0.9, {"a": 1.0}), (1.1, {"a": 1.4}), (1.0, {"a": 1.0})], None, ("noisy",
        "1 ± 0.1", "1 ± 0.1", "The machine is too noisy: ± 0.1 was seen, ± 0.1 is needed.")),
    ({"kind": "known", "expected": 0.5, "abs_tol": 0.1}, [(1.0, {"a": 1.0}), (1.125, {"a": 1.4})], None, ("failed", "0.5 ± 0.1",
        "1.0625 ± 0.062", "")),
    ({"kind": "known", "expected": 1.0}, [(1.0, {"a": 1.0}), (None, {"a": 1.4})], None, ("failed", "1", "no figure",
        "It has no figure.")),
    ({"kind": "anchor"}, [(1.5, {"a": 1.5})], None, ("passed", "a figure", "1.5", "")),
    ({"kind": "anchor"}, [(1.0, {"a": 1.0}), (2.0, {"a": 2.0})], None, ("passed", "a figure", "1.5 ± 0.5", "")),
    ({"kind": "order", "other": "other"}, [(1.5, {"a": 1.5})], [(1.0, {"a": 1.0})], ("passed", "above `other`, 1", "1.5", "")),
    ({"kind": "order", "other": "other"}, [(1.0, {"a": 1.0})], [(1.0, {"a": 1.0})], ("failed", "above `other`, 1", "1", "")),
    ({"kind": "order", "other": "other", "abs_tol": 0.5}, [(1.5, {"a": 1.5})], [(1.0, {"a": 1.0})], ("failed", "above `other`, 1 ± 0.5",
        "1.5", "")),
    ({"kind": "order", "other": "other"}, [(0.5, {"a": 1.5}), (1.4, {"a": 1.5})], [(1.0, {"a": 1.0})], ("noisy", "above `other`, 1",
        "0.95 ± 0.45", "")),
    ({"kind": "order", "other": "other"}, [(1.5, {"a": 1.5})], [(None, {"a": 1.0})], ("skipped", "`other`", "none",
        "`other` has no figure to compare with.")),
    ({"kind": "order", "other": "other"}, [(1.5, {"a": 1.5})], [(1.0, {"a": "not_measured: busy"})], ("skipped", "`other`", "none",
        "`other` has no figure to compare with.")),
    ({"kind": "ratio", "other": "other", "factor": 2.0, "rel_tol": 0.25}, [(2.5, {"a": 1.5})], [(1.0, {"a": 1.0})], ("passed",
        "2 x `other`, 2 ± 0.5", "2.5", "")),
    ({"kind": "ratio", "other": "other", "factor": 2.0, "rel_tol": 0.25}, [(2.75, {"a": 1.5})], [(1.0, {"a": 1.0})], ("failed",
        "2 x `other`, 2 ± 0.5", "2.75", "")),
    ({"kind": "ratio", "other": "other", "factor": 3.0, "rel_tol": 0.1}, [(3.0, {"a": 1.5})], [(0.8, {"a": 1.0}), (1.2, {"a": 1.0})],
        ("noisy", "3 x `other`, 3 ± 0.3", "3 ± 0.6", "The machine is too noisy: ± 0.6 was seen, ± 0.3 is needed.")),
    ({"kind": "same", "other": "other"}, [(1.0, {"a": 1.0})], [(1.0, {"a": 1.0})], ("passed", "as `other`, 1", "1", "")),
    ({"kind": "same", "other": "other", "noise": "noise", "rel_tol": 0.15}, [(1.0, {"a": (1.0, 0.3)})], [(1.0, {"a": (1.0, 0.4)})],
        ("noisy", "a figure", "1", "The machine is too noisy: ± 50% was told, ± 30% can be allowed for.")),
    ({"kind": "same", "other": "other", "noise": "noise", "rel_tol": 0.25}, [(1.5, {"a": (1.5, 0.3)})], [(1.0, {"a": (1.0, 0.4)})],
        ("passed", "as `other`, 1 ± 0.75", "1.5", "")),
    ({"kind": "refused"}, [(None, {"a": "invalid: no", "b": "timeout: x"})], None, ("passed", "refused", "invalid, timeout", "")),
    ({"kind": "refused", "words": "no"}, [(None, {"a": 1.0, "b": "invalid: no"})], None, ("failed", "refused with `no`", "1",
        "Example `a` was measured.")),
    ({"kind": "refused"}, [(None, {"a": "not_measured: ", "b": "invalid: no"})], None, ("skipped", "a measurement", "none",
        "It cannot be measured here: no reason is given")),
    ({"kind": "forged", "expected": 0.5}, [(1.0, {"a": 0.5, "b": 0.25})], None, ("passed", "at most 0.5", "0.5", "")),
    ({"kind": "forged", "expected": 0.5}, [(1.0, {"a": 0.75, "b": 1.0})], None, ("failed", "at most 0.5", "1",
        "Example `b`: 1, and an honest candidate has 0.5.")),
    ({"kind": "forged", "expected": {"a": 0.5}}, [(1.0, {"a": 0.75})], None, ("failed", "at most 0.5", "0.75",
        "Example `a`: 0.75, and an honest candidate has 0.5.")),
    ({"kind": "forged"}, [(1.0, {"a": 0.75})], None, ("failed", "at most 0.5", "0.75",
        "Example `a`: 0.75, and an honest candidate has 0.5.")),
    ({"kind": "forged"}, [(1.0, {"a": 0.5})], None, ("passed", "at most 0.5", "0.5", "")),
    ({"kind": "forged"}, [(1.0, {"z": 0.5})], None, ("passed", "at most 0.5", "0.5", "")),
    ({"kind": "forged"}, [(None, {"a": "invalid: x", "b": "timeout: y"})], None, ("passed", "at most 0.5", "invalid, timeout", "")),
    ({"kind": "forged", "other": "other"}, [(1.0, {"a": 1.5, "b": 1.0})], [(1.0, {"a": 1.0, "b": 1.0})], ("failed", "at most 1", "1.5",
        "Example `a`: 1.5, and an honest candidate has 1.")),
    ({"kind": "forged", "other": "other", "abs_tol": 0.5}, [(1.0, {"a": 1.5, "b": 1.0})], [(1.0, {"a": 1.0, "b": 1.0})], ("passed",
        "at most 1", "1.5", "")),
    ({"kind": "forged", "other": "other"}, [(1.0, {"a": 1.5})], [(None, {"a": "invalid: no"})], ("skipped", "an honest score", "1.5",
        "No honest case was measured on its examples.")),
    ({"kind": "forged", "other": "other", "noise": "noise", "rel_tol": 0.25}, [(1.0, {"a": (1.75, 0.3)})], [(1.0, {"a": (1.0, 0.4)})],
        ("passed", "at most 1", "1.75", "")),
    ({"kind": "forged", "other": "other", "noise": "noise", "rel_tol": 0.25}, [(1.0, {"a": (1.76, 0.3)})], [(1.0, {"a": (1.0, 0.4)})],
        ("failed", "at most 1", "1.76", "Example `a`: 1.76, and an honest candidate has 1.")),
    ({"kind": "forged", "other": "other", "noise": "noise", "rel_tol": 0.25}, [(-1.0, {"a": (-0.26, 0.3)})], [(-1.0, {"a": (-1.0,
        0.4)})], ("passed", "at most -1", "-0.26", "")),
    ({"kind": "forged", "other": "other", "noise": "noise", "rel_tol": 0.25}, [(-1.0, {"a": (-0.24, 0.3)})], [(-1.0, {"a": (-1.0,
        0.4)})], ("failed", "at most -1", "-0.24", "Example `a`: -0.24, and an honest candidate has -1.")),
]  # fmt: skip
"""A case, then for it and the one that it is compared with the batch's figure and each example's: a score, a score with its noise, or
a status with its words; then the verdict."""


def feedback(told: Any) -> Feedback:
    if isinstance(told, str):
        status, _, text = told.partition(": ")
        return Feedback.model_validate({"score": 0.0, "status": status, "text": text})
    score, noise = told if isinstance(told, tuple) else (told, None)
    return Feedback(score=score, text="so", metrics={} if noise is None else {"noise": noise})


def seen(times: Any, noise: str = "") -> Seen:
    return seen_of([(figure, {id_: feedback(t) for id_, t in told.items()}) for figure, told in times], "", noise)


def verdict(fields: Any, mine: Any, other: Any = None) -> tuple[str, ...]:
    cases = {"mine": Calibration(name="mine", **fields)}
    found = {"mine": seen(mine, cases["mine"].noise)}
    if other is not None:
        cases["other"] = Calibration(name="other", kind="anchor")
        found["other"] = seen(other, cases["mine"].noise)
    told = judge(cases["mine"], cases, found, seen([(None, {"a": 0.5})]))
    return told.result, told.expected, told.seen, told.why


@pytest.mark.parametrize(("fields", "mine", "other", "expected"), CASES)
def test_a_case_is_judged_by_what_was_seen_of_it(fields: Any, mine: Any, other: Any, expected: Any) -> None:
    assert verdict(fields, mine, other) == expected


def test_two_hundred_characters_of_a_feedback_are_repeated() -> None:
    for length in (200, 201, 250):
        told = {"a": 1.0, "b": f"invalid: {'x' * length}"}
        shown = f"Example `b`: invalid: {'x' * 200}"
        assert verdict({"kind": "gold", "expected": 1.0}, [(1.0, told)])[3] == shown
        assert verdict({"kind": "anchor"}, [(1.0, told)])[3] == shown
        strange = [(None, {"a": f"invalid: {'x' * length}"})]
        assert verdict({"kind": "refused", "words": "no"}, strange)[3] == f"It was told: {'x' * 200}"
        unmeasured = [(None, {"a": f"not_measured: {'x' * length}"})]
        assert verdict({"kind": "gold", "expected": 1.0}, unmeasured)[3] == f"It cannot be measured here: {'x' * 200}"


def test_a_forgery_is_held_against_the_best_honest_case_of_its_split_and_metric() -> None:
    def case(name: str, **more: Any) -> Calibration:
        return Calibration(name=name, **({"kind": "known", "expected": 1.0} | more))

    cases = [
        case("low"), case("high"), case("elsewhere", split="validation"), case("otherwise", metric="m"),
        case("false", kind="forged", expected=None), case("refused", kind="refused", expected=None),
    ]  # fmt: skip
    scores = {"low": 0.5, "high": 1.0, "elsewhere": 9.0, "otherwise": 9.0, "false": 9.0, "refused": 9.0}
    mine = Calibration(name="mine", kind="forged")
    for figure, result in ((1.0, "passed"), (1.1, "failed")):
        found = {name: seen([(score, {"a": score})]) for name, score in scores.items()} | {
            "mine": seen([(figure, {"a": figure})])
        }
        told = judge(mine, {one.name: one for one in (*cases, mine)}, found, seen([(None, {"a": 0.0})]))
        assert (told.result, told.expected) == (result, "at most 1")


def test_an_example_counts_where_it_was_ok_each_time_and_the_median_of_its_figures_does() -> None:
    found = seen([(1.0, {"a": 1.0, "b": 2.0}), (None, {"a": 5.0, "b": "invalid: no"}), (3.0, {"a": 3.0, "b": 2.0})])
    assert (found.examples, [*found.failed], found.figure, found.noise) == ({"a": 3.0}, ["b"], None, 1.0)
    assert (seen([(None, {})]).noise, seen([(None, {})]).unmeasured) == (0.0, "")
    assert seen([(1.0, {"a": (1.0, 0.1)}), (1.0, {"a": (1.0, 0.3)})], "noise").share == 0.3
