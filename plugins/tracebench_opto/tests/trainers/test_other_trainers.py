from __future__ import annotations

import re
from types import ModuleType

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.specs import Budget, Example
from tracebench_core.specs.events import Decision
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.measure.building import build_wrapped
from tracebench_opto.trainers import (
    aggregated_update,
    beam_search,
    beam_search_history,
    curriculum,
    minibatch,
    opro,
    sequential_update,
    streaming_priority_search,
    ucb_search,
)
from tracebench_testing import Teacher, run_trial
from tracebench_testing.toys import build_dials, build_number


def test_an_update_that_does_not_improve_is_rolled_back() -> None:
    toy = build_number()
    harmful = Teacher(toy.lesson, improves=0.0, harms=1.0, seed=1)
    held = run_trial(minibatch.build(minibatch.Settings(num_steps=12)), toy, answer=harmful)
    parents = {c.parents[0] for c in held.candidates[1:]}
    verdicts = {e.verdict for e in held.events if isinstance(e, Decision)}
    assert "rejected" in verdicts
    moved = run_trial(sequential_update.build(sequential_update.Settings(num_steps=12)), toy, answer=harmful)
    assert len({c.parents[0] for c in moved.candidates[1:]}) > len(parents)


@pytest.mark.parametrize("trainer", [minibatch, aggregated_update])
def test_what_an_update_leads_to_is_validated_every_so_many_steps(trainer: ModuleType) -> None:
    toy = build_dials()
    settings = trainer.Settings(num_steps=5, test_frequency=2, ensure_improvement=False, variant="paper")
    trial = run_trial(trainer.build(settings), toy, answer=Teacher(toy.lesson, improves=1.0, harms=0.0))
    first, *children = [seen.id for seen in trial.candidates]
    validated = {e.candidate for e in trial.evaluations if e.split == "validation"} - {first}
    assert validated == {children[1], children[3]}


def test_a_beam_search_keeps_no_more_than_its_width() -> None:
    toy = build_dials()
    settings = beam_search.Settings(num_steps=5, beam_width=2, num_proposals=3)
    trial = run_trial(beam_search.build(settings), toy, answer=Teacher(toy.lesson, improves=0.6))
    last = max(c.step or 0 for c in trial.candidates)
    for step in range(1, last + 1):
        assert len({c.parents[0] for c in trial.candidates if c.step == step}) <= 2


def test_a_beam_search_goes_on_with_the_best() -> None:
    toy = build_number()
    settings = beam_search.Settings(num_steps=6, beam_width=2, num_proposals=3)
    trial = run_trial(beam_search.build(settings), toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.5, seed=3))
    score = {e.candidate: e.score for e in trial.evaluations if e.score is not None}
    beams = {"c0"}
    left_behind = 0
    for step in range(6):
        children = [c for c in trial.candidates if c.step == step]
        parents = {c.parents[0] for c in children}
        best = sorted((score[id_] for id_ in beams), reverse=True)[: settings.beam_width]
        assert all(score[parent] >= best[-1] for parent in parents)
        left_behind += sum(score[id_] < best[-1] for id_ in beams)
        beams = parents | {c.id for c in children} if parents else beams
    assert left_behind > 0


def test_a_history_shows_other_candidates_to_the_proposer() -> None:
    toy = build_dials()
    shown: list[str] = []
    teacher = Teacher(toy.lesson, improves=0.9, harms=0.0)

    def answer(prompt: str, call: int) -> str:
        shown.append(prompt)
        return teacher(prompt, call)

    settings = beam_search_history.Settings(num_steps=6, max_history_size=3)
    run_trial(beam_search_history.build(settings), toy, answer=answer)
    assert any(prompt.partition("Tried before")[2].count("score") == 3 for prompt in shown)


def test_a_full_buffer_keeps_the_best_arm() -> None:
    toy = build_number()
    settings = ucb_search.Settings(num_steps=10, max_buffer_size=2, ucb_exploration_factor=0.0)
    trial = run_trial(ucb_search.build(settings), toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.5, seed=3))
    score = {e.candidate: e.score for e in trial.evaluations if e.score is not None}
    known = ["c0"]
    for candidate in trial.candidates[1:]:
        assert score[candidate.parents[0]] == max(score[id_] for id_ in known)
        known.append(candidate.id)
    assert len({c.parents[0] for c in trial.candidates[1:]}) > 2


def test_the_lowest_arm_leaves_a_full_buffer() -> None:
    toy = build_dials()
    settings = ucb_search.Settings(num_steps=20, max_buffer_size=1)
    trial = run_trial(ucb_search.build(settings), toy, answer=Teacher(toy.lesson, improves=0.8))
    assert trial.error is None
    assert trial.gain() > 0


@pytest.mark.parametrize(("noise", "again"), [(0.5, True), (0.0, False)])
def test_an_arm_is_pulled_again_only_where_that_tells_something(noise: float, again: bool) -> None:
    toy = build_dials(noise=noise)
    trial = run_trial(
        ucb_search.build(ucb_search.Settings(num_steps=30)), toy, answer=Teacher(toy.lesson, improves=0.8)
    )
    met = [(e.candidate, e.example) for e in trial.evaluations if e.split == "validation"]
    assert (len(met) - len(set(met)) > 10 + 8) == again
    assert len(met) > len(set(met))


def test_a_streaming_search_measures_what_its_last_step_proposed() -> None:
    toy = build_number()
    settings = streaming_priority_search.Settings(num_steps=1, num_proposals=3)
    trial = run_trial(
        streaming_priority_search.build(settings), toy, answer=Teacher(toy.lesson, improves=1.0, harms=0.0)
    )
    assert len(trial.candidates) == 4


def test_an_unreadable_merge_falls_back_to_a_single_proposal() -> None:
    toy = build_dials()
    teacher = Teacher(toy.lesson, improves=1.0, harms=0.0)

    def answer(prompt: str, call: int) -> str:
        return "no idea" if "# Proposals" in prompt else teacher(prompt, call)

    settings = aggregated_update.Settings(num_steps=3, ensure_improvement=False)
    trial = run_trial(aggregated_update.build(settings), toy, answer=answer)
    assert trial.error is None
    assert len(trial.candidates) > 1
    assert all(c.origin == "aggregate" for c in trial.candidates[1:])


def test_the_aggregator_sees_every_proposal_of_the_batch() -> None:
    toy = build_dials()
    merges: list[str] = []
    teacher = Teacher(toy.lesson, improves=1.0, harms=0.0)

    def answer(prompt: str, call: int) -> str:
        if "# Proposals" in prompt:
            merges.append(prompt.partition("# Proposals")[2])
        return teacher(prompt, call)

    settings = aggregated_update.Settings(num_steps=1, train_batch_size=4, stepsize=0.25)
    run_trial(aggregated_update.build(settings), toy, answer=answer)
    assert merges
    assert all(f"\n{i}. " in merges[0] for i in (1, 2, 3, 4))
    assert "25%" in merges[0]


def test_a_curriculum_starts_with_what_scores_highest() -> None:
    toy = build_dials(parameters=4, train=8)
    settings = curriculum.Settings(num_stages=2, stage_steps=1, first_share=0.5, trainer_params={"num_steps": 1})
    trial = run_trial(curriculum.build(settings), toy, answer=Teacher(toy.lesson))
    probed = [e for e in trial.evaluations if e.step is None]
    lesson = {e.example for e in trial.evaluations if e.step == 0 and e.split == "train"}
    easy = sorted(probed, key=lambda e: -e.score)[:4]
    assert len(probed) == 8
    assert lesson <= {e.example for e in easy}


@pytest.mark.parametrize("wrapped", ["Minibatch", "GEPA-Base", "SequentialRefine", "RandomSearch"])
def test_a_curriculum_wraps_any_trainer(wrapped: str) -> None:
    toy = build_dials()
    trial = run_trial(
        curriculum.build(curriculum.Settings(trainer=wrapped)),
        toy,
        answer=Teacher(toy.lesson, improves=0.7, harms=0.2),
        budget=Budget(evaluations=300),
    )
    assert trial.error is None
    assert trial.gain() > 0


def test_a_curriculum_maps_the_aliases_of_what_it_wraps() -> None:
    build_wrapped(open_host(), "PrioritySearch", {"ps_steps": 2})
    with pytest.raises(UsageError):
        build_wrapped(open_host(), "PrioritySearch", {"ps_stepz": 2})


def test_a_curriculum_does_not_wrap_itself() -> None:
    with pytest.raises(ValueError, match="cannot wrap"):
        curriculum.Settings(trainer="Curriculum")


def test_the_unmet_example_counts_as_average() -> None:
    from tracebench_opto.parts.lessons import Difficulty

    examples = [Example(id=name) for name in "ab"]
    assert Difficulty().order(examples) == examples


def test_opro_shows_the_best_candidates_of_the_whole_search_worst_first() -> None:
    toy = build_number()
    prompts: list[str] = []
    teacher = Teacher(toy.lesson, improves=0.6, harms=0.3)

    def answer(prompt: str, call: int) -> str:
        prompts.append(prompt)
        return teacher(prompt, call)

    trial = run_trial(opro.build(opro.Settings(num_steps=4, num_solutions=6)), toy, answer=answer)
    shown = re.findall(r"^- score (\S+): ", prompts[-1], re.MULTILINE)
    assert trial.error is None
    assert trial.used.llm_calls == 32
    assert len(shown) == 5
    assert [float(s) for s in shown] == sorted(float(s) for s in shown)
    assert len(set(prompts)) == 4
