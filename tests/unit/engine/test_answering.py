"""A library's own program gets what its job was answered and nothing else, and what else it asks for is told in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tracebench_engine.checks.twins.answering import Answering, Gone
from tracebench_engine.checks.twins.told import Call, Measured, Told, key_of, prompt_of

FIRST, SECOND, UNKNOWN = {"x": 1.0}, {"x": 2.0}, {"x": 3.0}


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.fixture
def answering() -> Iterator[Answering]:
    calls = [Call(prompt_of(said(text)["messages"]), {"content": text.upper()}, "stop") for text in ("a", "b", "a")]
    scores = {(key_of(FIRST), "e1"): (0.1, 0.2), (key_of(FIRST), "e2"): (0.3,)}
    told = Told(
        calls=tuple(calls),
        candidates={key_of(FIRST): "c0", key_of(SECOND): "c1"},
        measured=(),
        results={place: tuple(Measured(s, "ok", "", {}) for s in found) for place, found in scores.items()},
        is_cut=False,
        seconds=1.0,
        waited=0.0,
        measuring=0.0,
    )
    with Answering(told) as answers:
        yield answers


def measured(answering: Answering, values: dict[str, float], *examples: str) -> list[float]:
    told = answering.measure({"values": values, "examples": [*examples], "version": "1", "ours": []})
    return [result["score"] for result in told]


def test_what_was_measured_again_is_answered_in_turn(answering: Answering) -> None:
    assert measured(answering, FIRST, "e1", "e2") == [0.1, 0.3]
    assert measured(answering, FIRST, "e1") == [0.2]
    assert answering.measured == [(key_of(FIRST), example) for example in ("e1", "e2", "e1")]


@pytest.mark.parametrize(
    ("values", "before", "words"),
    [
        (FIRST, 2, "it asked to measure `c0` on `e1` once more, which the job measured 2 times"),
        (SECOND, 0, "it asked to measure `c1` on `e1` once more, which the job measured never"),
        (UNKNOWN, 0, "it asked to measure a candidate that the job never had"),
    ],
)
def test_what_was_not_measured_is_told(answering: Answering, values: dict[str, float], before: int, words: str) -> None:
    for _ in range(before):
        measured(answering, values, "e1")
    with pytest.raises(Gone) as gone:
        measured(answering, values, "e1")

    assert words in str(gone.value)
    with pytest.raises(Gone, match="it asked to measure"):  # the first that was missing stays the reason
        measured(answering, FIRST, "e2")


def test_a_prompt_is_answered_as_it_was_and_another_by_the_earliest_reply_that_is_left(answering: Answering) -> None:
    def content(text: str) -> str:
        return str(answering.complete(said(text))["choices"][0]["message"]["content"])

    assert [content(text) for text in ("b", "new", "a")] == ["B", "A", "A"]
    with pytest.raises(Gone, match="once more than the job did"):
        content("a")
