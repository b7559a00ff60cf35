"""`Recombine`: seeded, different each time, and of sentences that stood somewhere."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tracebench_core.contracts import Problem
from tracebench_core.errors import ConfigError
from tracebench_core.specs import Candidate, Evaluation, Example, Feedback, Parameter, Values
from tracebench_engine.builtin.recombine import ATTEMPTS, LONGEST, RecombineSettings, build, recombined
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_testing import run_trial
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import Toy

SENTENCES = st.lists(st.sampled_from([f"S{i}." for i in range(12)]), unique=True, max_size=LONGEST)
PHRASES = ("P1.", "P2.")


@given(SENTENCES, st.lists(SENTENCES, max_size=3), st.integers())
def test_a_recombination_holds_only_known_sentences_and_can_be_repeated(
    own: list[str], mates: list[list[str]], seed: int
) -> None:
    found = recombined(own, mates, PHRASES, random.Random(seed))

    assert found == recombined(own, mates, PHRASES, random.Random(seed))
    assert {*found} <= {*own, *PHRASES, *(s for mate in mates for s in mate)}
    assert len({*found}) == len(found)
    assert own == own.copy()


def changes(own: Sequence[str], *mates: Sequence[str], phrases: Sequence[str] = PHRASES) -> Counter[tuple[str, ...]]:
    return Counter(tuple(recombined(own, mates, phrases, random.Random(seed))) for seed in range(600))


def test_a_change_adds_drops_replaces_or_joins_as_often_as_it_should() -> None:
    found = changes(["A.", "B."], ["M.", "N."], phrases=["P."])

    lengths = Counter[str]()
    for text, times in found.items():
        new = {*text} - {"A.", "B."}
        if len(text) == 1 and not new:
            lengths["dropped or joined"] += times
        elif len(text) == 2 and len(new) == 1 and text[0] != "M." and text[1:] != ("N.",):
            lengths["replaced"] += times
        elif len(text) == 3 and len(new) == 1:
            lengths["added"] += times
    assert {*found} >= {
        ("A.",), ("B.",), ("P.", "B."), ("A.", "P."), ("M.", "B."), ("A.", "M."), ("P.", "A.", "B."), ("A.", "P.", "B."),
        ("A.", "B.", "P."), ("M.", "N."), ("A.", "N."), ("A.", "M.", "N."), ("A.", "B.", "M.", "N."), ("A.", "B."), ("N.",), (),
    }  # fmt: skip
    assert 0.2 < lengths["added"] / 600 < 0.5
    assert not any(len(text) > 4 for text in found)


def test_joining_takes_the_head_of_one_and_the_tail_of_another_and_no_sentence_twice() -> None:
    found = changes(["A.", "B."], ["B.", "C."], phrases=["A."])

    assert ("A.", "B.", "C.") in found
    assert all(len({*text}) == len(text) for text in found)


def test_without_mates_nothing_is_joined_and_the_last_sentence_stays() -> None:
    assert {*changes(["A."], phrases=["P."])} == {("P.",), ("P.", "A."), ("A.", "P.")}
    assert {*changes(["A.", "B."], phrases=["A."])} == {("A.", "B."), ("A.",), ("B.",)}
    assert {*changes([], phrases=["P."])} == {("P.",)}


def test_a_long_text_grows_no_longer_and_one_below_does() -> None:
    sentences = [f"S{i}." for i in range(9)]
    assert {len(text) for text in changes(sentences[:LONGEST])} == {LONGEST - 1, LONGEST}
    assert {len(text) for text in changes(sentences[: LONGEST - 1])} == {LONGEST - 2, LONGEST - 1, LONGEST}
    assert {len(text) for text in changes(sentences)} == {8, 9}
    assert LONGEST == 8


NUMBER, ONE = Parameter(name="n", initial=1.0, kind="number"), Parameter(name="one", initial="A. B.", kind="text")
FOUR = (
    NUMBER,
    ONE,
    Parameter(name="two", initial="C.", kind="text"),
    Parameter(name="code", initial="pass", kind="code"),
)


@dataclass
class Asking:
    """A trainer that asks the proposer once and keeps what it says."""

    earlier: Sequence[Values]
    asked: Mapping[str, int]
    settings: Mapping[str, Any]
    found: list[Values] = field(default_factory=list)

    def train(self, problem: Problem) -> None:
        done = [
            Evaluation(candidate=Candidate(id=f"c{i}", values={**problem.initial, **values}), results=(), score=None)
            for i, values in enumerate(self.earlier)
        ]
        self.found = build(problem, **self.settings).propose(done, **self.asked)


def proposals(
    *earlier: Values, parameters: Sequence[Parameter] = FOUR, seed: int = 0, n: int | None = None, **settings: Any
) -> list[Values]:
    splits = {"train": [Example(id="a", input="a")]}
    task = SimpleTask(
        parameters=list(parameters),
        objective="Any.",
        program=lambda *_: 0.0,
        guide=lambda *_: Feedback(score=0.0),
        splits=splits,
    )
    toy = Toy("texts", task, Lesson(improve=lambda values, _: values, harm=lambda values, _: values), target=0.0)
    asking = Asking(earlier, {} if n is None else {"n": n}, settings)
    trial = run_trial(asking, toy, answer=lambda *_: "", seed=seed)
    if trial.error is not None:
        raise trial.error
    return asking.found


def test_texts_alone_change_one_at_a_time_and_all_proposals_are_new() -> None:
    found = proposals({}, n=12)

    assert len(found) == 12
    assert len({repr(values) for values in found}) == 12
    initial = {p.name: p.initial for p in FOUR}
    assert {name for values in found for name in values if values[name] != initial[name]} == {"one", "two"}
    assert all(sum(values[name] != initial[name] for name in initial) == 1 for values in found)
    assert proposals({}, n=12) == found


def test_one_is_proposed_unless_more_are_asked_for_and_the_start_is_the_base_of_the_first() -> None:
    (first,) = proposals()
    assert first.keys() == {"n", "one", "two", "code"}
    assert first["code"] == "pass"


def test_the_last_candidate_is_the_base_and_the_others_are_mates() -> None:
    mates = ({"one": "X. Y."}, {"one": "V. W."})
    found = [p for seed in range(60) for p in proposals(*mates, {"one": "L. M."}, seed=seed, n=1, phrases=["P."])]
    texts = Counter(sentence for values in found for sentence in str(values["one"]).split())

    assert texts["L."] > 30
    assert texts["M."] > 30
    assert all(texts[mate] for mate in ("X.", "Y.", "V.", "W.")), "every other candidate is a mate"
    assert all(texts["L."] > texts[mate] for mate in ("X.", "Y.", "V.", "W."))


def test_what_is_known_is_not_proposed_and_an_end_of_ideas_is_no_error() -> None:
    known: list[Values] = [{"one": text} for text in ("A. P.", "P. A.", "P.", "A.")]
    only = [Parameter(name="one", initial="A.", kind="text")]

    assert proposals(*known[1:], parameters=only, n=50, phrases=["P."]) == [{"one": "A. P."}]
    assert proposals(*known, parameters=only, n=3, phrases=["P."]) == []
    assert ATTEMPTS >= 20


def test_settings_are_checked_and_a_task_without_a_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="kind `text`"):
        proposals(parameters=[NUMBER])
    with pytest.raises(ValidationError):
        RecombineSettings(phrases=())
    assert RecombineSettings(phrases=("P.",)).phrases == ("P.",)
    with pytest.raises(ValidationError):
        RecombineSettings().phrases = ("Q.",)  # type: ignore[misc]
