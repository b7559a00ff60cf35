from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.toys import build_trade_off

from tracebench_core.contracts import Context
from tracebench_core.specs import Budget, Example, Feedback, Parameter, Values
from tracebench_core.specs.events import MetricLogged
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_opto.parts.novelty import Net, edit_distance
from tracebench_opto.trainers import pareto_search, polca, priority_search
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import Toy, build_dials, build_number


def search(
    toy: Toy, *, seed: int = 0, budget: Budget | None = None, improves: float = 1.0, **settings: object
) -> Trial:
    trainer = priority_search.build(priority_search.Settings.model_validate(settings))
    teacher = Teacher(toy.lesson, improves=improves, harms=0.0, seed=seed)
    return run_trial(trainer, toy, answer=teacher, budget=budget, seed=seed)


def test_the_seed_is_measured_once_and_the_first_step_proposes() -> None:
    trial = search(build_number(), num_steps=1, num_proposals=3)
    assert [e.candidate for e in trial.evaluations].count("c0") == 1
    assert trial.used.llm_calls == 3
    assert trial.best.id != "c0"


def test_the_last_step_counts() -> None:
    trial = search(build_number(), num_steps=4, num_candidates=1, num_proposals=1)
    assert trial.best.id == trial.candidates[-1].id


def test_the_mean_measures_little_again_where_scores_repeat() -> None:
    trial = search(build_dials(), num_steps=12)
    met = [(e.candidate, e.example) for e in trial.evaluations]
    assert len(met) - len(set(met)) <= len(met) / 20 + 4


def test_ucb_measures_again_until_the_task_is_seen_to_repeat_itself() -> None:
    trial = search(build_dials(), num_steps=12, score_function="ucb")
    met = [(e.candidate, e.example) for e in trial.evaluations]
    repeats = len(met) - len(set(met))
    assert 10 <= repeats < 10 + 4


def test_ucb_goes_on_measuring_where_scores_are_noisy() -> None:
    trial = search(build_dials(noise=0.5), num_steps=12, score_function="ucb")
    met = [(e.candidate, e.example) for e in trial.evaluations]
    assert len(met) - len(set(met)) > 14


def test_children_know_their_parents_and_their_origin() -> None:
    trial = search(build_number(), num_steps=2)
    ids = {c.id for c in trial.candidates}
    assert trial.candidates[0].origin == "initial"
    assert all(c.parents and set(c.parents) <= ids and c.origin == "propose" for c in trial.candidates[1:])


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"num_steps": 3}, 3),
        ({"num_epochs": 2}, 8),
        ({"num_epochs": 1, "num_batches": 2}, 2),
        ({"num_steps": 5, "num_epochs": 1}, 5),
    ],
)
def test_it_ends_after_its_steps_and_its_epochs(settings: dict[str, int], steps: int) -> None:
    assert len(search(build_dials(), improves=0.9, **settings).steps) == steps


def test_without_a_number_of_steps_it_spends_its_budget_or_takes_ten() -> None:
    assert search(build_dials(), budget=Budget(evaluations=333), improves=0.5).spent == "evaluations"
    assert len(search(build_dials(), improves=0.9).steps) == 10


def test_a_large_validation_split_takes_at_most_a_tenth_of_the_budget_at_a_time() -> None:
    trial = search(build_dials(train=4, validation=300), budget=Budget(evaluations=100))
    assert len({e.example for e in trial.evaluations if e.split == "validation"}) == 10
    assert len(trial.candidates) > 3


def test_short_bursts_stay_with_their_own_children() -> None:
    bursts = search(build_dials(), num_steps=4, num_candidates=1, memory_update_frequency=4, improves=0.5)
    parents = {c.parents[0] for c in bursts.candidates[3:]}
    assert "c0" not in parents


def test_memories_that_merge_after_every_step_are_one_memory() -> None:
    merged, single = (
        search(build_dials(), num_steps=8, memory_update_frequency=n, improves=0.5).comparable() for n in (1, 0)
    )
    assert merged == single


def test_a_tiny_memory_still_searches() -> None:
    trial = search(build_number(), num_steps=5, long_term_memory_size=1)
    assert trial.best.id != "c0"


def test_polca_evaluates_no_near_copies_and_says_how_many_it_dropped() -> None:
    toy = build_dials()
    teacher = Teacher(toy.lesson, improves=0.5, harms=0.5)
    strict, free = (
        run_trial(
            polca.build(polca.Settings(num_steps=6, num_proposals=4, epsilon=epsilon, summary_frequency=0)),
            toy,
            answer=teacher,
        )
        for epsilon in (1.0, 0.0)
    )
    dropped = [e for e in strict.events if isinstance(e, MetricLogged) and e.name == "proposal_near_copy"]
    assert 1 < len(strict.candidates) < len(free.candidates)
    assert sum(e.value for e in dropped) == strict.used.llm_calls - (len(strict.candidates) - 1)


@pytest.mark.parametrize("lines", [20, 60, 400])
def test_polca_evaluates_one_changed_constant_in_a_long_program(lines: int) -> None:
    """The size of an edit is judged by the other edits of the search, not by the length of the program."""
    program = "".join(f"    step_{i} = prepare(step_{i - 1}, weight={i})\n" for i in range(1, lines))

    def guide(_example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=float(output.split()[-1]), text="")

    task = SimpleTask(
        parameters=[Parameter(name="code", kind="code", initial=f"def run():\n{program}    return 0\n")],
        objective="Return much.",
        program=lambda values, _example, _context: values["code"],
        guide=guide,
    )

    def raised(values: Values, _rng: random.Random) -> Values:
        head, _, last = values["code"].strip().rpartition(" ")
        return {"code": f"{head} {int(last) + 1}\n"}

    toy = Toy("long", task, Lesson(raised, raised), target=8.0)
    trainer = polca.build(polca.Settings(num_steps=8, num_candidates=1, num_proposals=1))
    trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=1.0, harms=0.0))
    assert trial.score() == 8.0


def test_a_net_keeps_the_farthest_proposal_and_drops_small_edits_between_large_ones() -> None:
    net = Net(edit_distance, epsilon=0.5)
    base = {"text": "one two three four five six seven eight"}
    large = [{"text": text} for text in ("alpha beta gamma", "un deux trois quatre", "eins zwei drei")]
    small = {"text": base["text"].replace("eight", "nine")}
    assert net.admit([base], [base]) == [base]
    assert small not in net.admit([base], [*large, small])
    assert net.admit([base], [small]) == [small]


def test_numbers_are_as_far_apart_as_they_differ_in_size() -> None:
    assert edit_distance({"x": 1.0}, {"x": 1.0}) == 0.0
    assert edit_distance({"x": 100.0}, {"x": 101.0}) < edit_distance({"x": 1.0}, {"x": 2.0})
    assert edit_distance({"x": "1.0"}, {"x": 1.0}) > 0.0
    assert 0.0 < edit_distance({"x": "a  b"}, {"x": "a b"}) <= 1.0


def test_an_embedding_may_take_the_place_of_edits() -> None:
    toy = build_dials()
    settings = polca.Settings(num_steps=3, embedding=f"{__name__}:embed")
    trial = run_trial(polca.build(settings), toy, answer=Teacher(toy.lesson, improves=1.0, harms=0.0))
    assert trial.error is None
    assert len(trial.candidates) > 1


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text)), float(text.count("1"))] for text in texts]


def test_a_pareto_search_keeps_both_ends_of_a_trade_off() -> None:
    toy = build_trade_off()
    teacher = Teacher(toy.lesson, improves=0.6, harms=0.4)
    trial = run_trial(pareto_search.build(pareto_search.Settings(num_steps=12)), toy, answer=teacher)
    points = [float(c.values["x"]) for c in trial.candidates]
    assert trial.error is None
    assert len([x for x in points if 0 <= x <= 1]) >= 2


def test_a_pareto_search_expands_its_members_in_turn() -> None:
    toy = build_trade_off()
    trainer = pareto_search.build(pareto_search.Settings(num_steps=16, num_candidates=1))
    trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.5))
    parents = [c.parents[0] for c in trial.candidates[1:]]
    assert len(set(parents)) > 13


@pytest.mark.parametrize("mode", ["scalar", "weighted", "pareto"])
def test_several_objectives_are_searched_in_every_mode(mode: str) -> None:
    trial = search(build_trade_off(), num_steps=5, objective_config={"mode": mode})
    assert trial.error is None
    assert trial.best.id != "c0"


def test_a_mode_that_needs_metrics_is_refused_where_there_are_none() -> None:
    trial = search(build_number(), objective_config={"mode": "pareto"})
    assert "declares no objectives" in str(trial.error)
