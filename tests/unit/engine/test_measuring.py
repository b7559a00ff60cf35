"""The core's own tasks come to the figures that are known of them, case by case, and replies of a case stand in for a model."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.errors import ModelError, PluginError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Calibration, Feedback
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.builtin.tasks.convex import answers as points
from tracebench_engine.builtin.tasks.convex import build as build_convex
from tracebench_engine.builtin.tasks.numeric import answers_of_one, answers_of_two
from tracebench_engine.checks.calibration.measuring import (
    Replies,
    _figure,
    _refuse_unknown_examples,
    _with_those_compared,
    calibrate,
)

CASES: list[tuple[Any, ...]] = [
    ("internal:numeric_param", [("target", "gold", "0", "0"), ("far", "known", "-5", "-5"), ("beyond", "refused",
        "refused with `at most 100`", "invalid")]),
    ("internal:multi_param", [("sum", "gold", "0", "0"), ("exchanged", "form", "0", "0"), ("far", "order", "above `farther`, -3",
        "-0.25"), ("farther", "known", "-3", "-3")]),
    ("internal:multiobjective_convex", [("camel", "gold", "-1.0316", "-1.03163"), ("camel-mirrored", "known", "-1.0316 ± 5e-05",
        "-1.03163"), ("origin", "known", "0", "0"), ("best", "order", "above `better`, 0.183905", "0.289676"), ("better", "order",
        "above `worst`, -0.455179", "0.183905"), ("worst", "known", "-0.455179 ± 1e-08", "-0.455179")]),
    ("trace_examples:greeting_stub", [("table", "gold", "every example 1", "all 3 right"), ("table-on-test", "gold", "every example 1",
        "all 2 right"), ("more-keys", "form", "every example 1", "all 3 right"), ("other-case", "known", "0", "0")]),
    ("trace_examples:train_single_node_stub", [("wanted", "gold", "1", "1"), ("near", "order", "above `start`, 0.666667", "0.888889"),
        ("start", "known", "0.666667 ± 1e-09", "0.666667")]),
]  # fmt: skip


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


@pytest.mark.parametrize(("task", "cases"), CASES)
def test_each_case_of_the_cores_own_tasks_comes_out(host: PluginHost, task: str, cases: Any) -> None:
    heard: list[str] = []
    found = calibrate(host, task, tell=heard.append)
    assert {verdict.result for verdict in found} == {"passed"}
    assert [(verdict.case, verdict.kind, verdict.expected, verdict.seen) for verdict in found] == cases
    assert heard == [name for name, *_ in cases]


def test_cases_of_some_kinds_are_measured_with_those_that_they_are_compared_with(host: PluginHost) -> None:
    heard: list[str] = []
    found = calibrate(host, "internal:multi_param", kinds=["form"], tell=heard.append)
    assert ([verdict.case for verdict in found], heard) == (["exchanged"], ["sum", "exchanged"])
    assert calibrate(host, "internal:multi_param", kinds=["ratio"]) == []


def case(name: str, kind: Any = "anchor", **fields: Any) -> Calibration:
    return Calibration(name=name, kind=kind, **fields)


def test_a_forgery_without_a_figure_is_measured_beside_the_gold() -> None:
    cases = {
        c.name: c
        for c in (case("g", "gold", expected=1.0), case("a"), case("f", "forged"), case("h", "forged", other="a"))
    }

    def chosen(*names: str) -> list[str]:
        return [c.name for c in _with_those_compared([cases[name] for name in names], cases)]

    assert [chosen("f"), chosen("h"), chosen("a"), chosen("f", "h")] == [
        ["g", "f"],
        ["a", "h"],
        ["a"],
        ["g", "a", "f", "h"],
    ]
    cases["f"] = case("f", "forged", expected=1.0)
    assert chosen("f") == ["f"]


class Bench:
    """Has two examples, and counts feedbacks."""

    def examples(self, _split: str) -> list[Any]:
        return [type("Example", (), {"id": id_}) for id_ in ("one", "two")]

    def aggregate(self, feedbacks: list[Feedback]) -> float:
        return float(len(feedbacks))


@pytest.mark.parametrize(
    "fields",
    [
        {"examples": ("on",)},
        {"replies": {"on": "x"}},
        {"kind": "known", "expected": {"on": 1.0}},
        {"examples": ("one", "on")},
    ],
)
def test_an_example_that_is_not_there_is_refused_with_the_nearest(fields: Any) -> None:
    with pytest.raises(PluginError) as caught:
        _refuse_unknown_examples([case("a", **fields)], lambda _: Bench(), "s:t")  # type: ignore[arg-type, return-value]
    assert str(caught.value) == "Calibration `a` of `s:t` names no example of train: `on`. Did you mean `one`?"


def test_examples_that_are_there_and_replies_to_all_are_taken() -> None:
    _refuse_unknown_examples([case("a", examples=("one",), replies={"": "x", "two": "y"})], lambda _: Bench(), "s:t")  # type: ignore[arg-type, return-value]


def test_the_figure_of_a_metric_is_its_mean_where_each_example_tells_it() -> None:
    def figure(metric: str, *told: Feedback) -> float | None:
        return _figure(Bench(), case("a", metric=metric), {str(i): f for i, f in enumerate(told)})  # type: ignore[arg-type]

    one, other = (Feedback(score=9.0, metrics={"m": value}) for value in (1.0, 4.0))
    assert [figure("", one, other), figure("m", one, other), figure("m")] == [2.0, 2.5, None]
    assert (
        figure("m", one, Feedback(score=1.0))
        is figure("m", one, Feedback(score=1.0, status="invalid", metrics={"m": 1.0}))
        is None
    )


def asked(replies: Replies, *said: str, n: int = 1) -> list[str]:
    messages: Any = [{"role": "assistant", "content": each} for each in said]
    return [completion.text for completion in replies.complete(messages, role="agent", n=n)]


def test_a_model_says_what_the_case_says_in_its_place() -> None:
    replies = Replies()
    replies.say({"one": "yes", "": ("first", "second")}, example="one")
    assert (asked(replies), asked(replies, n=2)) == (["yes"], ["yes", "yes"])
    replies.say({"one": "yes", "": ("first", "second")}, example="two")
    assert [asked(replies, *["x"] * n) for n in range(4)] == [["first"], ["second"], ["second"], ["second"]]
    replies.say({"one": "yes"}, example="two")
    with pytest.raises(ModelError, match=r"^The case has no reply for example `two`\.$") as caught:
        asked(replies)
    assert caught.value.kind == "replay_miss"
    with pytest.raises(ModelError, match="have no address"):
        replies.endpoint("agent")
    replies.say({}, example="")
    for ask in (lambda: asked(replies), lambda: replies.endpoint("agent")):
        with pytest.raises(ModelError, match="without a door to language models"):
            ask()


def test_what_a_task_ships_as_answers_comes_nearer_step_by_step() -> None:
    assert answers_of_one({}) == [{"x": 1.5}, {"x": 2.25}, {"x": 3.0}]
    assert answers_of_one({"target": -4.0, "initial": 4.0}) == [{"x": 0.0}, {"x": -2.0}, {"x": -4.0}]
    assert answers_of_two({}) == [{"a": 1.0, "b": 1.5}, {"a": 1.0, "b": 1.75}, {"a": 1.0, "b": 2.0}]
    assert points({}) == [{"x": 0.5, "y": -0.2}, {"x": 0.1, "y": -0.4}, {"x": 0.08, "y": -0.61}]


def test_a_seed_draws_where_a_search_begins_and_a_mode_says_what_it_is_after() -> None:
    plain, drawn, again = build_convex(), build_convex(seed=3), build_convex(seed=3, objective_mode="pareto")
    starts = [[p.initial for p in task.parameters] for task in (plain, drawn, again)]
    assert starts[0] == [1.5, 1.5]
    assert starts[1] == starts[2] != [p.initial for p in build_convex(seed=4).parameters]
    assert all(-2.0 <= float(value) <= 2.0 and round(float(value), 3) == value for value in starts[1])  # type: ignore[arg-type]
    assert ["the sum of both losses" in task.objective for task in (plain, drawn, again)] == [True, True, False]
    assert [(p.minimum, p.maximum) for p in plain.parameters] == [(-2.0, 2.0)] * 2
