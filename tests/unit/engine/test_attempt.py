"""What becomes of one attempt at an evaluation: who is blamed, whether it is tried again, what cannot be, and what is kept of the words."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.averages import LARGEST
from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.errors import ModelError, TraceBenchError
from tracebench_core.specs import Bounds, Feedback, Raised, TaskSpec
from tracebench_engine.measure.attempt import Failure, attempt, classify, describe_error, overdue, possible, score
from tracebench_engine.measure.bounded import Overdue
from tracebench_engine.measure.context import evaluation_name


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (NotMeasured("busy"), Failure("infrastructure", "busy", retry=True, blameless=True)),
        (NotMeasured("busy", retry=False), Failure("infrastructure", "busy", retry=False, blameless=True)),
        (NotMeasured("busy", suspect=True), Failure("suspect", "busy", retry=True, blameless=True)),
        (TraceBenchError("x"), Failure("infrastructure", "TraceBenchError: x", retry=False)),
        (ValueError("x"), Failure("suspect", "ValueError: x", retry=True)),
        (SystemExit(3), Failure("suspect", "SystemExit: 3", retry=True)),
        *(
            (ModelError("no", kind=kind), Failure("infrastructure", "ModelError: no", retry=retry, blameless=True))
            for kind, retry in {
                "refused": True, "timeout": True, "rate_limited": True, "server": True, "auth": False, "replay_miss": False,
            }.items()
        ),
        (ModelError("no", kind="bad_request"), Failure("suspect", "ModelError: no", retry=True, blameless=True)),
        (EvaluationFailed(Feedback(score=0.5, status="invalid", text="bad")), Feedback(score=0.5, status="invalid", text="bad")),
    ],
)  # fmt: skip
def test_an_exception_means_what_its_kind_says(error: Exception | SystemExit, failure: Any) -> None:
    assert classify(error) == failure


def test_the_innermost_place_is_kept_and_none_where_nothing_was_raised() -> None:
    with pytest.raises(RecursionError) as caught:
        exec(
            compile(
                "def fall():\n\n\n  raise RecursionError\n\n\ndef rise():\n  fall()\n\nrise()", "/deep/down.py", "exec"
            ),
            {},
        )
    found = classify(caught.value)
    assert isinstance(found, Failure)
    assert found.raised == Raised(type="RecursionError", file="down.py", line=4)
    unraised = classify(ValueError("x"))
    assert isinstance(unraised, Failure)
    assert unraised.raised is None


def test_where_code_of_a_task_raised_is_kept() -> None:
    def program() -> None:
        raise KeyError("x")

    try:
        program()
    except KeyError as err:
        found, words = classify(err), describe_error(err)
    assert isinstance(found, Failure)
    assert found.raised is not None
    line = program.__code__.co_firstlineno + 1
    assert (found.raised.type, found.raised.file, found.raised.line) == ("KeyError", "test_attempt.py", line)
    assert found.words == words == f"KeyError: 'x' (line {line} of test_attempt.py, in program)"


def test_a_feedback_that_is_none_is_told_field_by_field() -> None:
    with pytest.raises(ValidationError) as caught:
        Feedback.model_validate({"score": "high", "status": "fine"})
    words = describe_error(caught.value)
    assert words.startswith("ValidationError: score: a figure must be a number") or "score: " in words
    assert "; status: " in words
    assert "\n" not in words


class Context:
    """Nobody asks anything of it."""


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (Feedback(score=1.0, text="so"), "ok", "so"),
        ({"score": 1.0, "text": "so"}, "ok", "so"),
        (Feedback.model_construct(score=1.0, text="a\ud800b", status="ok", metrics={}), "ok", "a\ufffdb"),
    ],
)
def test_a_guide_answers_with_feedback_or_a_mapping(answer: Any, status: str, text: str) -> None:
    found = score(lambda *_: answer, None, 1.0, Context())  # type: ignore[arg-type]  # the guide looks at neither
    assert isinstance(found, Feedback)
    assert (found.status, found.text) == (status, text)


def test_what_a_guide_answers_else_is_its_failure_and_so_is_the_error_of_a_program() -> None:
    found = score(lambda *_: 3, None, 1.0, Context())  # type: ignore[arg-type, return-value]
    assert isinstance(found, Failure)
    assert found.words.startswith("TypeError: the guide returned int, not a Feedback")
    assert score(lambda *_: 3, None, ValueError("x"), Context()) == Failure(  # type: ignore[arg-type, return-value]
        "suspect", "ValueError: x", retry=True
    )


def test_a_program_or_a_guide_that_leaves_ends_its_evaluation_and_no_more() -> None:
    """As argparse does where a task calls a command, and as a candidate may."""

    def leaves(*_: Any) -> Any:
        raise SystemExit(3)

    for program, guide in ((leaves, lambda *_: 0), (lambda *_: 0, leaves)):
        found = attempt(SimpleNamespace(run=program), guide, {}, None, Context())  # type: ignore[arg-type]
        assert isinstance(found, Failure)
        assert (found.blame, found.raised and found.raised.type) == ("suspect", "SystemExit")
        assert found.words.startswith("SystemExit: 3 (line ")


def test_of_a_long_feedback_the_beginning_and_the_end_are_kept() -> None:
    def kept(length: int) -> str:
        half = length // 2
        found = score(lambda *_: Feedback(score=0.0, text="a" * half + "b" * (length - half)), None, 0.0, Context())  # type: ignore[arg-type]
        assert isinstance(found, Feedback)
        return found.text

    assert kept(8000) == "a" * 4000 + "b" * 4000
    assert kept(8001) == kept(9000) == "a" * 4000 + "\n…\n" + "b" * 4000


@pytest.mark.parametrize("retry", [True, False])
def test_an_evaluation_that_was_ended_timed_out_and_blames_nobody(retry: bool) -> None:
    words = "the evaluation took longer than 2.5 s"
    assert overdue(Overdue(2.5), retry=retry) == Failure(
        "suspect", words, retry=retry, blameless=True, status="timeout"
    )


def words_on(feedback: Feedback, **bounds: Any) -> str:
    found = possible(feedback, TaskSpec(name="t", loader="t:t", title="t", **bounds))
    if isinstance(found, Failure):
        assert (found.blame, found.retry, found.status) == ("suspect", False, "invalid")
        return found.words.removesuffix(": this is no measurement.")
    assert found is feedback
    return ""


def test_a_figure_that_nothing_can_average_is_no_measurement() -> None:
    def told(figure: float) -> str:
        return words_on(Feedback.model_construct(score=figure, status="ok", text="", metrics={}))

    assert [told(figure) for figure in (0.0, LARGEST, -LARGEST)] == [""] * 3
    for figure in (1.1 * LARGEST, -1.1 * LARGEST):
        assert told(figure) == f"The score is {figure:g}, and nothing beyond {LARGEST:g} can be averaged"
    assert [told(figure) for figure in (math.nan, math.inf)] == ["The score is nan", "The score is inf"]


def test_a_figure_beyond_what_the_task_allows_is_no_measurement_and_one_that_is_not_ok_is_not_looked_at() -> None:
    bounds = {"score_bounds": Bounds(minimum=0.0, maximum=1.0), "metric_bounds": {"m": Bounds(minimum=2.0)}}
    beyond = "The score is {}, and nothing can be beyond 0 to 1 here"
    for figure, words in ((0.0, ""), (1.0, ""), (1.001, beyond.format("1.001")), (-0.1, beyond.format("-0.1"))):
        assert words_on(Feedback(score=figure), **bounds) == words
    metric = "The metric `m` is 1.9, and nothing can be beyond 2 to ∞ here"
    for figure, words in ((2.0, ""), (1.9, metric)):
        assert words_on(Feedback(score=0.5, metrics={"m": figure, "n": -9.0}), **bounds) == words
    assert words_on(Feedback(score=9.0, status="invalid"), **bounds) == ""


@pytest.mark.parametrize(
    ("example", "name"),
    [
        ("e1", "c1-e1"), ("a/b", "c1-a-b-c14cddc0"), (".x", "c1-x-bb42e4c6"), ("é", "c1---4a99557e"),
        ("x" * 80, f"c1-{'x' * 80}"), ("x" * 81, f"c1-{'x' * 80}-4d1f7bb8"),
    ],
)  # fmt: skip
def test_a_folder_is_named_after_its_evaluation_as_far_as_that_is_safe(example: str, name: str) -> None:
    assert evaluation_name("c1", example, phase="training", repeat=0) == name
    assert evaluation_name("c1", example, phase="scoring", repeat=2) == f"scoring-{name}.2"
