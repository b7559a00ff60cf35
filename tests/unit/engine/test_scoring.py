"""The winner is whoever leads when it was measured again: nobody wins by one lucky measurement."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Candidate, Example, Feedback, Parameter, TaskSpec
from tracebench_core.specs.events import EvaluationDone, Event, Flagged, Scored
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.job.scoring import Scorer
from tracebench_engine.measure.answer_cache import CachedModels
from tracebench_engine.measure.context import Shared
from tracebench_engine.measure.models import NoModels
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.repeats import Repeats
from tracebench_engine.measure.service import EvaluationService

LOST = -1.0
"""In place of a score: the infrastructure kept it from being measured, and once more where that is tried again."""
LATE = -2.0
"""In place of a score: it reached its time limit, as any may on a starved machine."""
DRAWS = {
    "start": [1.0],
    "steady": [5.0],
    "good": [6.0, 6.5, 5.5, 6.0, 6.0],
    "lucky": [9.0, 0.0, 1.0, 0.0, 0.0],
    "twin": [5.0],
    "cut": [7.0, LOST, 7.0],
    "gone": [7.0, LOST],
    "late": [7.0, LATE, 7.0],
    "cut and random": [7.0, LOST, 6.0, 7.0, LOST, 7.0, 8.0],
}
"""What a candidate scores, the first time and later; the last again and again."""
IDS = {
    "start": "c0",
    "steady": "c1",
    "lucky": "c2",
    "good": "c3",
    "twin": "c4",
    "cut": "c5",
    "gone": "c6",
    "cut and random": "c7",
    "late": "c8",
}


def scorer_of(
    names: tuple[str, ...], events: list[Event], *, timed: bool = False, test: int = 0
) -> tuple[Scorer, dict[str, Candidate]]:
    """Return what scores candidates, and these by name; `events` is filled."""
    met: dict[str, int] = defaultdict(int)

    def draw(values: Any, _example: Example, _context: Any) -> float:
        name = values["x"]
        met[name] += 1
        drawn = DRAWS[name][min(met[name], len(DRAWS[name])) - 1]
        if drawn == LOST:
            raise EvaluationFailed(Feedback(score=0.0, status="not_measured", text="the sandbox died"))
        if drawn == LATE:
            raise EvaluationFailed(Feedback(score=0.0, status="timeout", text="2 s"))
        return drawn

    task = SimpleTask([Parameter(name="x", initial="start")], "Up.", draw, lambda _e, o, _c: Feedback(score=o))
    heard = CachedModels(NoModels())
    shared = Shared(heard, None, workdir=Path("work"), artifacts=Path("artifacts"))  # type: ignore[arg-type]  # none asks
    spec = TaskSpec(name="t", loader="t:t", title="t", timed=timed)
    candidates = {name: Candidate(id=IDS[name], values={"x": name}) for name in names}
    service = EvaluationService(task, task.guide, shared, spec=spec, initial=candidates["start"], seed=0)
    scorer = Scorer(
        service=service,
        validation=(Example(id="v"),),
        split="validation",
        test=tuple(Example(id=f"t{i}") for i in range(test)),
        models=heard,
        recorder=Recorder(events.append),
        worst_score=None,
        repeats=Repeats(service, heard, timed=timed),
    )
    return scorer, candidates


def choose(*names: str, timed: bool = False) -> tuple[str, list[Event]]:
    """Return who wins of some finalists, by name, and what was recorded."""
    events: list[Event] = []
    scorer, candidates = scorer_of(names, events, timed=timed)
    finalists = [candidates[name] for name in names]
    best = scorer.choose(finalists, final=finalists[0])
    return next(name for name in names if IDS[name] == best.id), events


def scored(events: list[Event]) -> dict[str, Scored]:
    return {event.candidate: event for event in events if isinstance(event, Scored)}


def test_a_lucky_measurement_wins_nothing() -> None:
    winner, events = choose("lucky", "steady", "start")

    found = scored(events)
    assert winner == "steady"
    assert (found["c2"].score, len(found["c2"].repeats)) == (2.0, 5)
    assert found["c1"].repeats == (5.0, 5.0)
    assert found["c0"].repeats == ()  # it never led
    assert found["c1"].score == max(event.score or 0.0 for event in found.values())
    assert not [event for event in events if isinstance(event, Flagged)]  # the winner is not random


def test_a_random_winner_is_told_with_its_mean_and_spread() -> None:
    winner, events = choose("good", "steady", "start")

    assert winner == "good"
    assert (scored(events)["c3"].score, scored(events)["c3"].repeats) == (6.0, (6.0, 6.5, 5.5, 6.0, 6.0))
    (flag,) = [event for event in events if isinstance(event, Flagged)]
    assert "5.5 to 6.5 in 5 measurements" in flag.reason


@pytest.mark.parametrize("names", [("start", "steady"), ("steady", "start")])
def test_who_comes_out_as_before_is_measured_twice_and_nobody_else_again(names: tuple[str, ...]) -> None:
    winner, events = choose(*names)

    assert winner == "steady"
    assert {id_: event.repeats for id_, event in scored(events).items()} == {"c0": (), "c1": (5.0, 5.0)}


@pytest.mark.parametrize(
    ("name", "repeats"),
    [
        ("cut", (7.0, 7.0)),
        ("gone", ()),  # each repeat is lost
        ("cut and random", (7.0, 6.0, 7.0, 7.0, 8.0)),
    ],
)
def test_a_repeat_that_was_not_measured_is_made_up_for_and_is_no_chance_of_the_candidate(
    name: str, repeats: tuple[float, ...]
) -> None:
    """A sandbox that died in one of two equal measurements made four of them."""
    winner, events = choose(name, "start")

    assert winner == name
    assert scored(events)[IDS[name]].repeats == repeats
    assert bool([event for event in events if isinstance(event, Flagged)]) == (len(set(repeats)) > 1)


def test_a_repeat_that_earned_no_score_is_recorded() -> None:
    winner, events = choose("late", "start")

    assert winner == "late"
    assert scored(events)["c8"].repeats == (7.0, 7.0, 7.0, 7.0)
    told = [event.status for event in events if isinstance(event, EvaluationDone) and event.candidate == "c8"]
    assert told == ["ok", "timeout"]


def test_of_a_timed_task_each_leader_is_measured_twice() -> None:
    winner, events = choose("lucky", "steady", "start", timed=True)

    assert winner == "steady"
    assert scored(events)["c2"].repeats == (9.0, 0.0)


@pytest.mark.parametrize("names", [("start", "steady", "twin"), ("twin", "start", "steady")])
def test_among_equals_the_first_finalist_wins(names: tuple[str, ...]) -> None:
    winner, events = choose(*names)

    assert winner == next(name for name in names if name != "start")
    assert {scored(events)[id_].score for id_ in ("c1", "c4")} == {5.0}


@pytest.mark.parametrize("name", ["steady", "lucky", "good"])
def test_what_the_best_and_the_initial_candidate_got_on_test_is_told_of_each_by_its_own_name(name: str) -> None:
    events: list[Event] = []
    scorer, candidates = scorer_of(("start", name), events, test=1)

    scorer.test_once(candidates["start"], candidates[name])

    found = {event.what: event for event in events if isinstance(event, Scored)}
    mean = {"steady": 5.0, "lucky": 2.0, "good": 6.0}[name]
    assert {what: (event.candidate, event.split, event.score) for what, event in found.items()} == {
        "initial": ("c0", "test", 1.0),
        "best": (IDS[name], "test", mean),
    }


def test_a_task_without_test_examples_tells_nothing_of_them() -> None:
    events: list[Event] = []
    scorer, candidates = scorer_of(("start", "steady"), events)

    scorer.test_once(candidates["start"], candidates["steady"])

    assert events == []
