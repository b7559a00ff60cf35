"""What a proposer is told of a search: what was tried, what a summary says, and another approach where nothing helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget
from tracebench_engine.api.kit.jobs import build_reflective
from tracebench_opto.parts.findings import TACTICIAN, changes
from tracebench_opto.parts.summary import SUMMARISER
from tracebench_opto.trainers import adaptive, polca, priority_search
from tracebench_testing.answering import Answer
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import build_dials
from tracebench_testing.trials import Trial, run_trial

TOLD = "Turn the other way."


class Listening:
    """A teacher that keeps the prompts, and has one answer to whoever asks for words."""

    def __init__(self, teacher: Answer, *, fails: bool = False) -> None:
        self.prompts: list[str] = []
        self._teacher = teacher
        self._fails = fails

    def __call__(self, prompt: str, call: int) -> str:
        self.prompts.append(prompt)
        if SUMMARISER in prompt or TACTICIAN in prompt:
            if self._fails:
                raise ModelError("it is busy", kind="server")
            return TOLD
        return self._teacher(prompt, call)

    def asked(self, words: str) -> list[int]:
        return [place for place, prompt in enumerate(self.prompts) if words in prompt]


def spoil(_prompt: str, call: int) -> str:
    """Answer with what is worse than anything before."""
    return json.dumps({"reasoning": "none", "values": {"dial_0": -10.0 - call}})


def searched(
    module: Any, *, calls: int = 60, fails: bool = False, halts: bool = False, **settings: Any
) -> tuple[Trial, Listening]:
    toy = build_dials(parameters=3)
    heard = Listening(spoil if halts else Teacher(toy.lesson, improves=0.3, harms=0.5, seed=3), fails=fails)
    trainer = module.build(module.Settings(**settings))
    trial = run_trial(trainer, toy, answer=heard, budget=Budget(llm_calls=calls), seed=3, optimizer=build_reflective)
    assert trial.error is None
    return trial, heard


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"a": "be brief and kind"}, {"a": "be brief"}, "a without “and kind”"),
        ({"a": "be brief"}, {"a": "be very brief now"}, "a with “very”, “now”"),
        ({"a": "x  y"}, {"a": "x y"}, "a with other blanks"),
        ({"a": 1.5, "b": [1]}, {"a": 2.5, "b": [1]}, "a from 1.5 to 2.5"),
        ({"a": 1, "b": [1]}, {"a": 1, "b": [1, 2]}, "b from [1] to [1, 2]"),
        ({"a": 1}, {"a": 1}, ""),
    ],
)
def test_a_change_is_told_in_words(before: Any, after: Any, words: str) -> None:
    assert changes(before, after) == words


def test_adaptive_tells_its_proposer_what_each_child_changed_and_what_it_was_worth() -> None:
    trial, heard = searched(adaptive, halts=True, tactics=0.0)
    assert trial.used.llm_calls == 60
    last = [p for p in heard.prompts if "Tried from the current values" in p][-1]
    assert "Tried from the current values: dial_" in last
    assert ": worse by " in last
    silent = searched(adaptive, halts=True, tactics=0.0, show_findings=0)[1]
    assert not [p for p in silent.prompts if "Tried from the current values" in p]


def test_another_approach_is_asked_for_on_a_halt_within_its_part_of_the_calls_and_told_until_something_helps() -> None:
    _, heard = searched(adaptive, halts=True)
    places = heard.asked(TACTICIAN)
    assert len(places) == 3  # a twentieth of 60
    after = heard.prompts[places[0] + 1]
    assert f"Nothing has helped for a while. Another approach: {TOLD}" in after
    assert not [p for p in heard.prompts[: places[0]] if TOLD in p]
    assert searched(adaptive, halts=True, calls=19)[1].asked(TACTICIAN) == []
    assert searched(adaptive, halts=True, tactics=0.0)[1].asked(TACTICIAN) == []
    _, risen = searched(adaptive, calls=200)
    told = [TOLD in p for p in risen.prompts if TACTICIAN not in p]
    assert any(told) or not risen.asked(TACTICIAN)


def test_a_call_for_words_that_fails_costs_nothing_else() -> None:
    for module in (adaptive, polca):
        trial, heard = searched(module, fails=True, halts=True)
        assert trial.failed_calls > 0
        assert trial.used.llm_calls == 60
        assert not [p for p in heard.prompts if TOLD in p]


def test_polca_pays_for_summaries_and_its_proposer_is_told_the_last_one() -> None:
    _, heard = searched(polca)
    places = heard.asked(SUMMARISER)
    assert 4 <= len(places) <= 7  # one in ten of 60
    assert all(
        f"What was tried so far teaches: {TOLD}" in p for p in heard.prompts[places[0] + 1 :] if SUMMARISER not in p
    )
    assert "# Candidate 1, score" in heard.prompts[places[0]]
    assert "Badly, " in heard.prompts[places[0]]
    paper = searched(polca, variant="paper")[1].asked(SUMMARISER)
    assert len(paper) >= 10
    assert searched(polca, summary_frequency=0)[1].asked(SUMMARISER) == []


def test_polca_without_summaries_and_net_is_priority_search() -> None:
    alone, searching = searched(polca, summary_frequency=0, epsilon=0)[0], searched(priority_search)[0]
    assert [c.values for c in alone.candidates] == [c.values for c in searching.candidates]
    assert [c.values for c in searched(polca)[0].candidates] != [c.values for c in searching.candidates]
