from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.toys import build_trade_off

from tracebench_core.contracts import Context, Problem
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.specs import Budget, Candidate, Evaluation, Example, ExampleResult, Feedback, Objective
from tracebench_core.specs.events import Decision
from tracebench_opto.parts.archive import Archive
from tracebench_opto.parts.contests import _by_objective
from tracebench_opto.parts.evolution import EvolutionSettings
from tracebench_opto.parts.evolution import evolve as evolve_pool
from tracebench_opto.trainers import anneal, gepa_base, gepa_beam, gepa_merge, gepa_ucb
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.toys import Toy, build_dials


def evolve(
    toy: Toy, *, improves: float = 0.4, harms: float = 0.4, budget: Budget | None = None, **settings: object
) -> Trial:
    trainer = gepa_base.build(gepa_base.Settings.model_validate(settings))
    return run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=improves, harms=harms), budget=budget)


def test_a_mutation_that_fails_its_minibatch_is_never_measured_on_validation() -> None:
    trial = evolve(build_dials(), improves=0.0, harms=1.0, num_steps=8, merge_every=0)
    rejected = {e.candidate for e in trial.events if isinstance(e, Decision) and e.verdict == "rejected"}
    validated = {e.candidate for e in trial.evaluations if e.split == "validation"}
    assert rejected
    assert not rejected & validated


def test_an_accepted_mutation_is_measured_on_the_whole_frontier_set() -> None:
    trial = evolve(build_dials(), improves=1.0, harms=0.0, num_steps=8, merge_every=0)
    accepted = {e.candidate for e in trial.events if isinstance(e, Decision) and e.verdict == "accepted"}
    assert accepted
    for candidate in accepted:
        assert len({e.example for e in trial.evaluations if e.candidate == candidate and e.split == "validation"}) == 8


def test_the_frontier_set_has_the_size_that_was_asked_for() -> None:
    trial = evolve(build_dials(validation=40), num_steps=2, pareto_subset_size=5)
    assert len({e.example for e in trial.evaluations if e.split == "validation"}) == 5


def test_one_parameter_is_mutated_at_a_time() -> None:
    trial = evolve(build_dials(), improves=1.0, harms=0.0, num_steps=10, merge_every=0)
    values = {c.id: c.values for c in trial.candidates}
    for child in trial.candidates[1:]:
        base = values[child.parents[0]]
        assert sum(child.values[name] != base[name] for name in base) == 1


class FromTheSeed:
    """Mutates the initial candidate only, so that every child is a lineage of its own."""

    def train(self, problem: Problem) -> None:
        evolve_pool(problem, EvolutionSettings(num_steps=30, merge_every=3), choose=lambda _, pool: pool[0])


def test_complementary_lineages_are_merged() -> None:
    toy = build_dials(parameters=3, train=6, validation=6)
    trial = run_trial(FromTheSeed(), toy, answer=Teacher(toy.lesson, improves=1.0, harms=0.0))
    values = {c.id: c.values for c in trial.candidates}
    merges = [c for c in trial.candidates if c.origin == "merge"]
    assert merges
    for merged in merges:
        one, other = (values[p] for p in merged.parents)
        assert all(merged.values[name] in {one[name], other[name]} for name in merged.values)
    assert trial.best.id in {c.id for c in merges}


def test_no_merge_is_tried_when_merging_is_off() -> None:
    trial = evolve(build_dials(), num_steps=40, merge_every=0)
    assert all(c.origin != "merge" for c in trial.candidates)


@pytest.mark.parametrize("seed", range(4))
def test_what_failed_one_minibatch_may_pass_another(seed: int) -> None:
    """Each dial has one move to make, and a batch of one example sees one dial: a move that it did not see is not banned for good."""
    toy = build_dials(parameters=3, train=3, validation=3, stride=3.0)
    teacher = Teacher(toy.lesson, improves=1.0, harms=0.0, seed=seed)
    trainer = gepa_base.build(gepa_base.Settings(train_batch_size=1, merge_every=0, num_steps=60))
    assert run_trial(trainer, toy, answer=teacher, seed=seed).score() == 0.0


def test_the_bound_measures_its_choice_again_where_scores_are_noisy() -> None:
    toy = build_dials(noise=0.5)
    trainer = gepa_ucb.build(gepa_ucb.Settings(num_steps=20, merge_every=0))
    trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=0.7, harms=0.2))
    met = [(e.candidate, e.example) for e in trial.evaluations if e.split == "validation"]
    assert len(met) > len(set(met))


def test_a_wide_beam_mutates_more_than_the_best() -> None:
    toy = build_dials()
    teacher = Teacher(toy.lesson, improves=0.7, harms=0.2)
    wide, narrow = (
        run_trial(gepa_beam.build(gepa_beam.Settings(num_steps=20, beam_width=width)), toy, answer=teacher)
        for width in (4, 1)
    )
    assert wide.comparable() != narrow.comparable()


def test_the_beam_and_the_bound_choose_differently_from_the_frontier() -> None:
    toy = build_dials(noise=0.5)
    found = []
    for module in (gepa_base, gepa_ucb, gepa_beam):
        trainer = module.build(module.Settings(num_steps=15))
        trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=0.6, harms=0.2))
        found.append([(e.candidate, e.example) for e in trial.evaluations])
    assert len({str(f) for f in found}) == 3


def test_a_minibatch_without_a_fault_is_not_sent_to_a_model() -> None:
    toy = build_dials()
    asked, spared = (
        evolve(toy, num_steps=12, skip_perfect_score=skip, perfect_score=-100.0, budget=Budget(evaluations=60))
        for skip in (False, True)
    )
    assert asked.used.llm_calls > 0
    assert spared.used.llm_calls == 0
    assert spared.error is None


def test_a_fault_on_one_example_is_enough_to_ask() -> None:
    assert evolve(build_dials(), num_steps=6, perfect_score=-0.001).used.llm_calls == 6


def test_scores_above_one_are_not_taken_for_perfect() -> None:
    toy = build_dials()

    def guide(example: Example, output: Any, context: Context) -> Feedback:
        found = toy.task.guide(example, output, context)
        return found.model_copy(update={"score": found.score + 100})

    high = replace(toy, task=replace(toy.task, guide=guide))
    assert evolve(high, num_steps=6).used.llm_calls == 6


def test_only_the_parameter_whose_turn_it_is_is_asked_for() -> None:
    toy = build_dials()
    shown: list[set[str]] = []

    def answer(prompt: str, _call: int) -> str:
        shown.append(set(shown_values(prompt) or {}))
        return "{}"

    trainer = gepa_base.build(gepa_base.Settings(num_steps=5))
    run_trial(trainer, toy, answer=answer)
    asked = [names for names in shown if names]
    assert all(len(names) == 1 for names in asked)
    assert len(set.union(*asked)) == 4


def test_merging_is_a_trainer_of_its_own() -> None:
    assert gepa_base.Settings().merge_every == 0
    assert gepa_merge.Settings().merge_every == 5


def test_a_parent_is_measured_again_on_its_minibatch_unless_results_are_kept() -> None:
    measured = [evolve(build_dials(), num_steps=12, cache_evaluation=kept).used.evaluations for kept in (False, True)]
    assert measured[0] > measured[1]


@pytest.mark.parametrize("kind", ["objective", "hybrid", "cartesian"])
def test_a_frontier_may_be_of_objectives(kind: str) -> None:
    trial = evolve(build_trade_off(), num_steps=8, frontier_type=kind, one_parameter=False)
    assert trial.error is None
    assert trial.used.llm_calls == 8


def test_contests_follow_the_kind_and_the_direction() -> None:
    examples = (Example(id="a"), Example(id="b"))
    results = tuple(
        ExampleResult(
            example=e, split="train", seconds=0.0, feedback=Feedback(score=s, metrics={"good": s, "cost": 2 * s})
        )
        for e, s in (("a", 1.0), ("b", 3.0))
    )
    entry = Archive().add(Evaluation(candidate=Candidate(id="c", values={}), results=results, score=2.0))
    objectives = (Objective(metric="good", direction="maximize"), Objective(metric="cost", direction="minimize"))

    def of(kind: str) -> dict[str, float]:
        return _by_objective(entry, examples, kind=kind, objectives=objectives)  # type: ignore[arg-type]

    assert of("objective") == {"good": 2.0, "cost": -4.0}
    assert of("hybrid") == {"a": 1.0, "b": 3.0, "good": 2.0, "cost": -4.0}
    assert of("cartesian") == {"a good": 1.0, "b good": 3.0, "a cost": -2.0, "b cost": -6.0}


def test_failed_children_are_shown_when_they_are_asked_for() -> None:
    shown: list[int] = []
    toy = build_dials(stride=0.5)

    def answer(prompt: str, call: int) -> str:
        shown.append(prompt.partition("# Tried before")[2].count("- score"))
        return Teacher(toy.lesson, improves=0.0, harms=1.0)(prompt, call)

    for asked in (0, 2):
        trainer = anneal.build(anneal.Settings(num_steps=6, show_failed=asked, temperature=1e-9))
        run_trial(trainer, toy, answer=answer)
    assert shown[:6] == [0] * 6
    assert shown[6:] == sorted(shown[6:])
    assert shown[-1] == 2
