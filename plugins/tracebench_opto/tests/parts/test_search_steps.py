"""What one search measures, proposes from and draws, step by step, on the engine's own problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.contracts import Optimizer, Problem
from tracebench_core.errors import ModelError
from tracebench_core.proposing.schedule import IDLE_STEPS
from tracebench_core.specs import Budget, Evaluation, Message, Values
from tracebench_core.specs.events import ComparisonSet
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.search import UNCAPPED_STEPS, Request, Search, SearchSettings
from tracebench_testing import Trial, run_trial
from tracebench_testing.toys import Toy, build_dials

TOY = build_dials()
NOISY = build_dials(noise=1.0)


@dataclass
class Doing:
    """A trainer that does one thing with a search."""

    do: Callable[[Search], None]
    settings: dict[str, Any]
    options: dict[str, Any]

    def train(self, problem: Problem) -> None:
        self.do(Search(problem, SearchSettings.model_validate(self.settings), **self.options))


def within(
    do: Callable[[Search], None],
    *,
    toy: Toy = TOY,
    budget: Budget | None = None,
    answer: Callable[[str, int], str] = lambda _prompt, _call: "",
    optimizer: Callable[[Problem], Optimizer] | None = None,
    options: dict[str, Any] | None = None,
    **settings: Any,
) -> Trial:
    trial = run_trial(Doing(do, settings, options or {}), toy, answer=answer, budget=budget, optimizer=optimizer)
    if trial.error is not None:
        raise trial.error
    return trial


def dials(*positions: float) -> Values:
    return {f"dial_{k}": position for k, position in enumerate((*positions, 0.0, 0.0, 0.0, 0.0)[:4])}


def used(search: Search) -> int:
    return search.problem.budget.used().evaluations


@pytest.mark.parametrize(
    ("settings", "train", "together", "steps"),
    [
        ({}, 8, 1, None),
        ({"num_steps": 7}, 8, 1, 7),
        ({"num_epochs": 1}, 8, 1, 4),
        ({"num_epochs": 2, "train_batch_size": 3}, 8, 1, 6),
        ({"num_epochs": 2, "train_batch_size": 3}, 8, 2, 4),
        ({"num_epochs": 3, "train_batch_size": 3}, 3, 3, 3),
        ({"num_epochs": 5, "train_batch_size": 9}, 1, 1, 5),
        ({"num_epochs": 1, "num_steps": 7, "train_batch_size": 3}, 8, 1, 7),
        ({"num_epochs": 4, "num_steps": 7, "train_batch_size": 3}, 8, 1, 12),
        ({"num_epochs": 4}, 0, 1, 0),
    ],
)
def test_steps_are_planned_by_steps_and_passes_whichever_is_later(
    settings: dict[str, int], train: int, together: int, steps: int | None
) -> None:
    assert SearchSettings.model_validate(settings).planned_steps(train, batches_per_step=together) == steps


def test_settings_have_bounds_and_defaults() -> None:
    for wrong in ({"num_epochs": -1}, {"num_steps": -1}, {"train_batch_size": 0}, {"show_failed": -1}):
        with pytest.raises(ValidationError):
            SearchSettings.model_validate(wrong)
    least = SearchSettings(num_epochs=0, num_steps=0, train_batch_size=1, show_failed=0)
    assert least.planned_steps(8) == 0
    assert (SearchSettings().train_batch_size, SearchSettings().show_failed) == (2, 0)


def test_progress_is_told_by_the_plan_else_by_the_nearest_cap_else_by_ten_steps() -> None:
    def with_caps(search: Search) -> None:
        assert [search.progress(i, planned) for i, planned in ((3, 6), (9, 6), (0, 0), (1, 0))] == [0.5, 1.0, 0.0, 1.0]
        search.seed()
        assert search.progress(3, None) == 0.25
        search.evaluate([dials(1), dials(2), dials(3), dials(4)], search.selection)
        assert search.progress(3, None) == 1.0

    def without(search: Search) -> None:
        assert [search.progress(i, None) for i in (0, 5, 50)] == [0.0, 0.5, 1.0]

    within(with_caps, budget=Budget(evaluations=32, llm_calls=90), validation_size=8)
    within(without)


def test_a_search_that_never_tries_anything_ends() -> None:
    def idle(search: Search) -> None:
        entry = search.seed(search.selection[:1])
        steps = 0
        for _ in search.schedule():
            steps += 1
            search.measure(entry, search.selection[:1], again=True)
        assert steps == IDLE_STEPS

    def spent_nothing(search: Search) -> None:
        assert len(list(search.schedule())) == UNCAPPED_STEPS

    within(idle, budget=Budget(evaluations=500))
    within(spent_nothing, budget=Budget(evaluations=500))


def test_only_what_is_missing_is_measured_unless_all_of_it_is_wanted_again() -> None:
    def do(search: Search) -> None:
        entry = search.seed(search.selection[:3])
        assert (used(search), search.tried) == (3, 1)
        search.measure(entry, search.selection[:5])
        assert (used(search), search.tried) == (5, 1)
        search.measure(entry, search.selection[:5])
        assert used(search) == 5
        found = search.measure(entry, search.selection[:5], again=True)
        assert (used(search), search.tried) == (10, 1)
        assert [r.example for r in found.results] == [e.id for e in search.selection[:5]]

    within(do)


def test_what_repeats_itself_is_not_measured_again() -> None:
    def do(search: Search) -> None:
        entry = search.seed(search.selection[:5])
        search.recheck(entry, search.selection[:5])
        search.recheck(entry, search.selection[:5])
        assert (used(search), search.archive.noisy) == (15, False)
        search.recheck(entry, search.selection[:5])
        search.doubt([entry], search.selection[:5])
        assert used(search) == 15

    within(do)


def test_what_is_noisy_is_measured_again() -> None:
    def do(search: Search) -> None:
        one, two = search.evaluate([dials(1), dials(2)], search.selection[:2])
        search.recheck(one, search.selection[:2])
        assert (used(search), search.archive.noisy) == (6, True)
        search.recheck(one, search.selection[:2])
        assert used(search) == 8
        search.doubt([one, two, one], search.selection[:2])
        assert used(search) == 14

    within(do, toy=NOISY)


def test_finding_out_whether_scores_are_noisy_costs_a_twentieth() -> None:
    def do(search: Search) -> None:
        first, *_ = entries = search.evaluate([dials(n) for n in range(19)], search.selection[:1])
        assert used(search) == 19
        search.doubt([first], search.selection[:1])
        assert used(search) == 20, "the first doubt costs what it costs"
        search.doubt(entries[:5], search.selection[:1])
        assert used(search) == 21, "one in twenty, and no more"
        search.doubt(entries[:5], search.selection[:1])
        assert used(search) == 21

    within(do)


def test_a_candidate_met_before_is_measured_only_where_it_was_not() -> None:
    def do(search: Search) -> None:
        one, two, three = search.selection[:3]
        parent = search.seed([one])
        (known,) = search.attempt([dials(1)], [one, two], parent=parent, origin="propose")
        assert (used(search), search.tried) == (3, 2)
        again, new = search.attempt([dials(1), dials(2)], [one, two], parent=parent, origin="propose")
        assert (used(search), search.tried) == (5, 3), "nothing of the known one was missing"
        assert again is known
        assert new.parent is parent
        search.attempt([dials(1)], [three], parent=parent, origin="propose")
        assert (used(search), search.tried) == (6, 4)

    within(do)


def test_the_leader_alone_is_measured_on_all_of_the_selection() -> None:
    def do(search: Search) -> None:
        bad, good = search.evaluate([dials(90, 90, 90, 90), dials(1, 2, 3, 4)], search.selection[:2])
        search.confirm_leader()
        assert (len(good.latest), len(bad.latest)) == (8, 2)

    def elsewhere(search: Search) -> None:
        bad, good = search.evaluate([dials(90, 90, 90, 90), dials(1, 2, 3, 4)], search.selection[:2])
        search.confirm_leader()
        assert {r.split for r, _ in good.latest.values()} == {"train", "validation"}
        assert (len(good.latest), len(bad.latest)) == (16, 2)

    within(do)
    within(elsewhere, options={"use_validation": False})


def test_a_proposer_sees_the_last_evaluation_of_each_ancestor() -> None:
    def do(search: Search) -> None:
        one = search.selection[:1]
        first = search.seed(one)
        (second,) = search.evaluate([dials(1)], one, parent=first)
        (third,) = search.evaluate([dials(2)], one, parent=second)
        for entry in (first, second):
            search.measure(entry, one, again=True)
            search.measure(entry, search.selection[1:2])
        shown = Request(third, third.evaluations[0]).lineage()
        assert shown == [first.evaluations[-1], second.evaluations[-1], third.evaluations[0]]
        assert len(first.evaluations) == 3
        told = Request(third, third.evaluations[0], [first.evaluations[0]]).lineage([second])
        assert told == [first.evaluations[0], third.evaluations[0]]
        failed = Request(third, third.evaluations[0]).lineage([second])
        assert [e.candidate.id for e in failed] == ["c0", "c1", "c1", "c2"]

    within(do)


@dataclass
class Watching:
    """A proposer that keeps which candidates it was shown, and proposes one thing."""

    shown: list[list[str]]

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        self.shown.append([e.candidate.id for e in evaluations])
        return [dials(n)]


@pytest.mark.parametrize(("show", "seen"), [(0, ["c0"]), (2, ["c3", "c4", "c0"]), (9, ["c1", "c3", "c4", "c0"])])
def test_children_that_did_no_better_are_shown_the_latest_ones(show: int, seen: list[str]) -> None:
    shown: list[list[str]] = []

    def do(search: Search) -> None:
        both = search.selection[:2]  # they look at the dials 0 and 1, best at 1 and 2
        parent = search.seed(both)
        children = [dials(-1, -1), dials(1, 2), dials(1.5, -4), dials(0, 0, 5), dials(1, -0.5)]
        search.evaluate(children, both, parent=parent)
        (grandchild,) = search.evaluate([dials(-9)], both, parent=search.archive.find(children[0]))
        assert grandchild.parent is not parent
        assert search.propose(parent, parent.evaluations[0], n=3) == [dials(3)]

    within(do, optimizer=lambda _problem: Watching(shown), show_failed=show)
    assert shown == [seen]


def test_a_proposal_is_fresh_once_when_nobody_holds_it_and_it_may_be_evaluated() -> None:
    def do(search: Search) -> None:
        one, two = search.evaluate([dials(1), dials(2)], search.selection[:1])
        proposals = [dials(1), dials(2), dials(3), dials(3), dials(1000)]
        assert search.fresh(proposals) == [dials(3)]
        assert search.fresh(proposals, known=[]) == [dials(1), dials(2), dials(3)]
        assert search.fresh(proposals, known=[one]) == [dials(2), dials(3)]
        assert search.fresh(proposals, known=[two, one]) == [dials(3)]

    within(do)


def test_a_call_that_fails_has_no_reply_and_the_others_have_theirs() -> None:
    def answer(prompt: str, _call: int) -> str:
        if "two" in prompt:
            raise ModelError("no answer", kind="server")
        return f"heard {prompt[-3:]}"

    def do(search: Search) -> None:
        prompts = [[Message(role="user", content=text)] for text in ("one", "two", "six")]
        assert search.ask(prompts) == ["heard one", None, "heard six"]

    within(do, answer=answer)
    within(do, answer=answer, num_threads=1)


@pytest.mark.parametrize(
    ("settings", "options", "evaluations", "size"),
    [
        ({}, {}, None, 8),
        ({}, {}, 40, 4),
        ({}, {}, 5, 2),
        ({"train_batch_size": 3}, {}, 5, 3),
        ({}, {}, 1000, 8),
        ({"validation_size": 3}, {}, 1000, 3),
        ({"validation_size": 6}, {}, 10, 6),
        ({}, {"selection_limit": 5}, None, 5),
        ({}, {"selection_limit": 5}, 40, 4),
    ],
)
def test_a_tenth_of_the_budget_is_the_most_that_one_comparison_costs(
    settings: dict[str, int], options: dict[str, int], evaluations: int | None, size: int
) -> None:
    def do(search: Search) -> None:
        assert len({e.id for e in search.selection}) == size
        search.seed()

    trial = within(do, budget=Budget(evaluations=evaluations), options=options, **settings)
    (declared,) = [e for e in trial.events if isinstance(e, ComparisonSet)]
    assert len(declared.examples) == size
    assert {e.split for e in trial.evaluations} == {"validation"}


def test_a_search_on_train_is_still_compared_on_validation() -> None:
    def do(search: Search) -> None:
        search.seed()

    trial = within(do, options={"use_validation": False})
    (declared,) = [e for e in trial.events if isinstance(e, ComparisonSet)]
    assert {e.split for e in trial.evaluations} == {"train"}
    assert all(example.startswith("validation") for example in declared.examples)


def test_the_best_start_comes_first() -> None:
    def do(search: Search) -> None:
        entries: list[Entry] = search.seeds(search.selection[:2])
        assert [e.candidate.id for e in entries] == ["c0"]
        assert search.seed(search.selection[:2]) is entries[0]

    within(do)
