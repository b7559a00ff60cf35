"""What opto's part of the bench says and counts: classes found, batches of feedback, models asked, turns, hardness, merges, races."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import ModelError, UsageError
from tracebench_core.proposing.asking import Asked
from tracebench_core.specs import (
    Budget,
    BudgetState,
    Candidate,
    Completion,
    Evaluation,
    Example,
    ExampleResult,
    Feedback,
    Usage,
    Values,
)
from tracebench_opto.bridge.feedback import batched
from tracebench_opto.bridge.model import ESCAPED, CreatingModel, ModelFailure, TraceModel, restored
from tracebench_opto.discovery.catalogue import _ids, _refusal, _verdict, cache_folder
from tracebench_opto.discovery.probe import _answer, _judge, _small
from tracebench_opto.discovery.records import UNTRIED, FoundClass, Verdict, in_words
from tracebench_opto.discovery.vocabulary import aliases_of, settings_of
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.cost import estimate_steps
from tracebench_opto.parts.descriptors import cells, describe
from tracebench_opto.parts.findings import worth
from tracebench_opto.parts.lessons import Difficulty, Stage, StageOver
from tracebench_opto.parts.merge import merge, mergeable_pairs
from tracebench_opto.parts.novelty import Net, edit_distance
from tracebench_opto.parts.priority import by_priority, ucb
from tracebench_opto.parts.racing import RacingSettings, raced
from tracebench_opto.parts.relay import spent_share, until
from tracebench_opto.parts.scarcity import tested_at_first as first_tested


def measured(number: int, values: Values, scores: Mapping[str, float | None], *, status: str = "error") -> Evaluation:
    results = tuple(
        ExampleResult(
            example=e,
            split="train",
            seconds=0.0,
            feedback=Feedback(score=s) if s is not None else Feedback(score=0.0, status=status),
        )
        for e, s in scores.items()
    )
    known = [s for s in scores.values() if s is not None]
    score = math.fsum(known) / len(known) if len(known) == len(scores) else None
    return Evaluation(candidate=Candidate(id=f"c{number}", values=values), results=results, score=score)


def filed(
    archive: Archive, number: int, scores: Mapping[str, float | None], *, parent: Entry | None = None, **values: Any
) -> Entry:
    return archive.add(measured(number, values or {"x": float(number)}, scores), parent=parent)


# -- classes that were found


def found(name: str = "Climb", module: str = "opto.trainer.algorithms.climb", **more: Any) -> FoundClass:
    return FoundClass(module=module, qualname=name, file_hash="0", **more)


def test_a_class_has_a_key_an_identifier_and_a_verdict_in_one_line() -> None:
    assert found().key == "opto.trainer.algorithms.climb:Climb"
    assert found("Outer.Climb").identifier == "opto__trainer__algorithms__climb__Outer__Climb"
    assert str(Verdict(status="ok")) == "ok"
    assert str(Verdict(status="needs", reason="the command dot")) == "needs: the command dot"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no such thing.\nand more"), "ValueError: no such thing"),
        (ValueError("  "), "ValueError"),
        (ValueError(), "ValueError"),
        (UsageError("ask otherwise."), "ask otherwise"),
        (KeyError("x"), "KeyError: 'x'"),
        (OSError("a" * 201), f"OSError: {'a' * 200}"),
    ],
)
def test_an_error_is_one_line(error: BaseException, words: str) -> None:
    assert in_words(error) == words


def test_a_class_is_called_by_its_module_too_where_another_has_its_name() -> None:
    classes = [found(), found("Fall"), found("Fall", "opto.other")]
    assert _ids(classes) == {
        "opto.trainer.algorithms.climb:Climb": "opto:Climb",
        "opto.trainer.algorithms.climb:Fall": "opto:opto.trainer.algorithms.climb.Fall",
        "opto.other:Fall": "opto:opto.other.Fall",
    }


@pytest.mark.parametrize(
    ("of", "excluded", "why"),
    [
        (found(), (), ""),
        (found(abstract=True), (), "abstract"),
        (found("Trainer"), (), "the base class of trainers"),
        (found("AsyncSearch"), ("AsyncSearch",), "unfinished in every build that has it"),
        (found(), ("Climb",), "excluded by the settings"),
        (found(), ("opto:Climb",), "excluded by the settings"),
        (found(), ("opto:m.Climb",), "excluded by the settings"),
        (found(abstract=True), ("Fall",), "abstract"),
        (found(), ("climb", "opto:Fall"), ""),
    ],
)
def test_some_classes_are_not_tried(of: FoundClass, excluded: tuple[str, ...], why: str) -> None:
    assert _refusal(of, "opto:m.Climb", excluded) == why


def test_the_verdict_on_a_class_is_what_refuses_it_then_what_keeps_it_from_importing_then_what_is_remembered() -> None:
    ok = Verdict(status="ok")
    memory: Any = SimpleNamespace(verdicts={found().key: ok})
    said = {found().key: "abstract"}

    def verdict(of: FoundClass, refused: dict[str, str], known: Any = memory) -> Verdict:
        return _verdict(of, "opto:Climb", refused, known).verdict

    assert verdict(found(unimportable="gone"), said) == Verdict(status="excluded", reason="abstract")
    assert verdict(found(unimportable="gone"), {}) == Verdict(
        status="broken", reason="its module cannot be imported: gone"
    )
    assert verdict(found(), {}) == ok
    assert verdict(found(), {}, SimpleNamespace(verdicts={})) == UNTRIED
    assert _verdict(found(), "opto:Climb", {}, memory).id == "opto:Climb"


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"TRACEBENCH_CACHE": "/one", "XDG_CACHE_HOME": "/two"}, "/one/opto"),
        ({"XDG_CACHE_HOME": "/two"}, "/two/trace-bench/opto"),
        ({"TRACEBENCH_CACHE": "", "HOME": "/home/me"}, "/home/me/.cache/trace-bench/opto"),
    ],
)
def test_what_was_found_is_remembered_in_the_cache_of_the_user(
    variables: Mapping[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TRACEBENCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder().as_posix() == place


def test_settings_are_what_the_adapter_does_not_give_and_go_by_our_words_too() -> None:
    constructor = {"agent": None, "beam_width": 3, "epsilon": 0.1, "logger": None}
    train = {"train_dataset": None, "max_depth": 2, "num_threads": 4, "epsilon": 0.2, "validate_dataset": None}
    settings = settings_of(constructor, train)  # type: ignore[arg-type]  # invariance
    assert settings == {"beam_width": 3, "epsilon": 0.2, "max_depth": 2}
    assert aliases_of(settings) == {
        "num_steps": "max_depth",
        "num_search_iterations": "max_depth",
        "num_iters": "max_depth",
        "steps": "max_depth",
        "num_candidates": "beam_width",
    }
    assert aliases_of({"num_iters": 1, "steps": 2}) == {
        "num_steps": "num_iters",
        "num_search_iterations": "num_iters",
        "max_depth": "num_iters",
    }
    assert aliases_of({"batch_size": 1, "train_batch_size": 2}) == {}
    assert _small(settings) == {"max_depth": 2, "beam_width": 2}
    assert _small({"num_steps": 9, "eval_frequency": 5, "train_batch_size": 8, "pareto_subset_size": 7}) == {
        "num_steps": 2,
        "eval_frequency": 1,
        "train_batch_size": 2,
        "pareto_subset_size": 2,
    }


def trial(error: BaseException | None = None, *candidates: str) -> Any:
    return SimpleNamespace(error=error, evaluations=[SimpleNamespace(candidate=c) for c in candidates])


class ExecutableNotFound(Exception):  # noqa: N818 - its name is what is looked at
    """As graphviz calls it."""


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (trial(None, "c0", "c1"), "ok"),
        (trial(None, "c0", "c0"), "broken: evaluates no candidate of its own (with 2 parameters)"),
        (trial(None), "broken: evaluates no candidate of its own (with 2 parameters)"),
        (trial(ModuleNotFoundError("no", name="torch"), "c1"), "needs: the module torch"),
        (trial(ModuleNotFoundError("no opto", name="opto.features")), "broken: ModuleNotFoundError: no opto"),
        (trial(ModuleNotFoundError("nameless")), "broken: ModuleNotFoundError: nameless"),
        (trial(ExecutableNotFound("dot")), "needs: the command dot"),
        (trial(ZeroDivisionError("division by zero"), "c1"), "broken: ZeroDivisionError: division by zero"),
    ],
)
def test_a_trial_of_a_class_is_judged(of: Any, said: str) -> None:
    assert str(_judge(of, 2)) == said


def test_what_a_class_needs_comes_with_the_command_that_brings_it() -> None:
    (module,) = _judge(trial(ModuleNotFoundError("no", name="torch")), 1).requires
    (command,) = _judge(trial(ExecutableNotFound("dot")), 1).requires
    assert (module.kind, module.name, module.hint) == ("module", "torch", "pip install torch")
    assert (command.kind, command.name, command.hint) == ("command", "dot", "apt-get install graphviz")


def test_the_rule_for_a_model_moves_each_number_that_is_shown_in_the_format_that_is_asked_for() -> None:
    tagged = (
        '<variable name="a" type="float">\n<value>\n1.5\n</value><solution name="b" type="float"><value>-2e0</value>'
    )
    assert _answer(tagged, 3) == (
        "<reasoning>call 3</reasoning><variable><name>a</name><value>1.75</value></variable>"
        "<variable><name>b</name><value>-1.75</value></variable>"
    )
    plain = "#Variables\n(float) x=9.0\n#Variables\n(float) a=0.5\n(float) b=-1.0\n(str) c=1\n#Inputs\n(float) d=4.0\n"
    assert json.loads(_answer(plain, 0)) == {"reasoning": "call 0", "suggestion": {"a": 0.75, "b": -0.75}}


# -- feedback of a batch, and models


def test_a_batch_of_feedback_has_a_line_for_each_example_and_for_each_note() -> None:
    results = [
        ExampleResult(example="a", split="train", seconds=0.0, feedback=Feedback(score=-0.0, text="Level.")),
        ExampleResult(
            example="b", split="train", seconds=0.0, feedback=Feedback(score=0.0, status="timeout", text="Too slow.")
        ),
        ExampleResult(example="c", split="train", seconds=0.0, feedback=Feedback(score=1 / 3)),
    ]
    evaluation = Evaluation(candidate=Candidate(id="c0", values={}), results=tuple(results), score=None)
    assert batched(evaluation, ["again", "no"]) == (
        "ID [0]: Score: 0. Level.\nID [1]: No score (timeout). Too slow.\nID [2]: Score: 0.333333.\nNote: again\nNote: no"
    )
    assert batched(None) == "No feedback yet."
    assert batched(None, ["first"]) == "No feedback yet.\nNote: first"


class Asking:
    """As much of a problem as a model needs."""

    def __init__(self, *texts: str, error: ModelError | None = None) -> None:
        self.texts, self.error, self.asked = texts, error, []

    def complete(self, messages: Any, **options: Any) -> list[Completion]:
        self.asked.append((messages, options))
        if self.error:
            raise self.error
        usage = Usage(llm_calls=1, prompt_tokens=3, completion_tokens=4, usd=0.5)
        return [Completion(text=t, model="m", usage=usage if not i else Usage()) for i, t in enumerate(self.texts)]


def test_a_model_is_asked_with_a_temperature_alone_and_answers_in_the_usual_form() -> None:
    problem: Any = Asking("one TERMINATE", "two")
    answer = TraceModel(problem, role="judge", max_tokens=9)(
        [{"role": "user", "content": "q"}], n=2, temperature=0.0, top_p=1
    )
    assert problem.asked == [
        ([{"role": "user", "content": "q"}], {"role": "judge", "n": 2, "temperature": 0.0, "max_tokens": 9})
    ]
    assert [c.message.content for c in answer.choices] == [f"one {ESCAPED}", "two"]
    assert [(c.index, c.message.role) for c in answer.choices] == [(0, "assistant"), (1, "assistant")]
    assert answer["content"] == answer.content == f"one {ESCAPED}"
    assert answer["choices"][1]["message"]["content"] == "two"


def test_a_model_that_is_told_nothing_more_is_asked_once_with_nothing_more() -> None:
    problem: Any = Asking("one")
    CreatingModel(problem).create(messages=[{"role": "user", "content": "q"}], n=None, temperature=None)
    assert problem.asked == [([{"role": "user", "content": "q"}], {"role": "optimizer", "n": 1})]
    assert TraceModel(Asking())().content == ""  # type: ignore[arg-type]  # as much of one as is needed


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("a <m.f.<locals>.C object at 0x7f29573fa6d0> b at 0x12", "a <m.f.<locals>.C object> b at 0x12"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": f"b {ESCAPED}"}], "a\nb TERMINATE"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], [{"type": "text", "text": "a"}, {"type": "image"}]),
        (None, None),
    ],
)
def test_a_message_is_sent_in_one_piece_as_the_model_wrote_it_and_without_addresses(content: Any, sent: Any) -> None:
    problem: Any = Asking("")
    TraceModel(problem)([{"role": "user", "content": content}])
    assert problem.asked[0][0] == [{"role": "user", "content": sent}]


def test_a_model_asked_for_a_proposal_is_the_chosen_one_and_is_paid_for_it_alone() -> None:
    problem: Any = Asking("a", "b")
    model = TraceModel(problem)
    asked = Asked(model="big")
    model.asking(asked)([], n=2)
    assert problem.asked[0][1] == {"role": "optimizer", "n": 2, "model": "big"}
    assert (asked.tokens, asked.usd) == (7, 0.5)
    assert (model.asked.model, model.asked.tokens) == (None, 0)
    assert model.__deepcopy__({}) is model


def test_a_completion_that_is_none_is_empty_and_a_model_that_cannot_be_asked_fails_loudly() -> None:
    malformed: Any = Asking(error=ModelError("odd", kind="malformed"))
    assert [c.message.content for c in TraceModel(malformed)([], n=2).choices] == ["", ""]
    away: Any = Asking(error=ModelError("gone", kind="server"))
    with pytest.raises(ModelFailure, match="gone") as failed:
        TraceModel(away)([])
    assert failed.value.error is away.error


def test_words_are_restored_wherever_they_are() -> None:
    assert restored({ESCAPED: [ESCAPED, (f"a {ESCAPED}", 1)], "n": None}) == {
        "TERMINATE": ["TERMINATE", ["a TERMINATE", 1]],
        "n": None,
    }


# -- turns, hardness and stages


def budget(caps: Budget, used: BudgetState) -> Any:
    return SimpleNamespace(caps=caps, used=lambda: used)


@pytest.mark.parametrize(
    ("caps", "used", "share"),
    [
        (Budget(), BudgetState(llm_calls=9), 0.0),
        (Budget(llm_calls=10), BudgetState(llm_calls=4, evaluations=99), 0.4),
        (Budget(llm_calls=10, evaluations=20), BudgetState(llm_calls=4, evaluations=12), 0.6),
        (Budget(usd=2.0, llm_calls=10), BudgetState(llm_calls=1, usd=None), 0.1),
        (Budget(llm_calls=0, evaluations=4), BudgetState(llm_calls=0, evaluations=1), 0.25),
    ],
)
def test_what_is_spent_is_told_by_the_nearest_cap(caps: Budget, used: BudgetState, share: float) -> None:
    assert spent_share(SimpleNamespace(budget=budget(caps, used))) == pytest.approx(share)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("share", "patience", "bests", "over"),
    [
        (None, None, "aaaa", [False] * 4),
        (0.2, None, "aaaa", [False, True, True, True]),
        (None, 1, "aaba", [False, True, False, False]),
        (None, 2, "aaaa", [False, False, True, True]),
        (None, 0, "abba", [True, False, True, False]),
        (0.3, 1, "bbcc", [False, False, True, True]),
    ],
)
def test_a_turn_ends_after_a_share_or_after_steps_without_a_new_best(
    share: float | None, patience: int | None, bests: str, over: list[bool]
) -> None:
    spent = [0.5, 0.625, 0.75, 0.8125, 0.875]
    problem: Any = SimpleNamespace(best=SimpleNamespace(id="a"))
    problem.budget = SimpleNamespace(
        caps=Budget(evaluations=16), used=lambda: BudgetState(evaluations=round(16 * spent[0]))
    )
    test = until(problem, share=share, patience=patience)
    said = []
    for best in bests:
        spent.pop(0)
        problem.best = SimpleNamespace(id=best)
        said.append(test())
    assert said == over


def test_examples_are_ordered_by_what_all_candidates_scored_on_them() -> None:
    difficulty = Difficulty()
    difficulty.note(measured(0, {}, {"a": 0.0, "b": 1.0, "c": None}))
    difficulty.note(measured(1, {}, {"a": 0.5, "d": 0.75}))
    examples = [Example(id=i) for i in "abcde"]
    assert [e.id for e in difficulty.order(examples)] == ["b", "d", "c", "e", "a"]


class Whole:
    """As much of a problem as a stage needs."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.best = SimpleNamespace(values={"x": 1.0})
        self.parameters = self.objectives = self.validation = ()
        self.objective, self.seed, self.rng, self.workers, self.budget = "o", 3, random.Random(0), 2, None

    def step(self) -> Any:
        self.calls.append(("step", None))
        return "a step"

    def evaluate_many(self, candidates: Any, batch: Any, **options: Any) -> list[Evaluation]:
        self.calls.append(("evaluate", [e.id for e in batch]))
        return [measured(i, {}, {e.id: float(i) for e in batch}) for i, _ in enumerate(candidates)]

    def submit(self, values: Any, batch: Any, **options: Any) -> str:
        self.calls.append(("submit", [e.id for e in batch]))
        return "ticket"

    def collect(self, n: int, *, any_order: bool) -> list[Evaluation]:
        self.calls.append(("collect", (n, any_order)))
        return [measured(0, {}, {"b": 9.0})]


def staged(**options: Any) -> tuple[Whole, Difficulty, Stage]:
    problem, difficulty = Whole(), Difficulty()
    return problem, difficulty, Stage(problem, [Example(id="a"), Example(id="b")], difficulty=difficulty, **options)  # type: ignore[arg-type]


def test_a_stage_has_its_steps_and_starts_from_the_best() -> None:
    problem, _, stage = staged(steps=2)
    assert stage.initial == stage.starts[0] == {"x": 1.0}
    assert [stage.step(), stage.step()] == ["a step", "a step"]  # type: ignore[comparison-overlap]  # a stand-in
    with pytest.raises(StageOver):
        stage.step()
    assert problem.calls == [("step", None)] * 2


def test_a_stage_is_asked_whether_it_is_over_at_each_step_but_the_first() -> None:
    asked: list[int] = []
    problem, _, stage = staged(over=lambda: asked.append(1) or len(asked) == 2)
    stage.step()
    assert asked == []
    stage.step()
    with pytest.raises(StageOver):
        stage.step()
    assert len(problem.calls) == 2


def test_a_stage_pays_its_evaluations_and_notes_how_hard_examples_are() -> None:
    problem, difficulty, stage = staged(evaluations=5)
    stage.evaluate_many([{}, {}])
    assert stage.submit({}, [Example(id="b")]) == "ticket"  # type: ignore[comparison-overlap]  # a stand-in
    with pytest.raises(StageOver):
        stage.evaluate({})
    stage.collect(3, any_order=True)
    assert problem.calls == [("evaluate", ["a", "b"]), ("submit", ["b"]), ("collect", (3, True))]
    assert [e.id for e in difficulty.order(stage.train)] == ["b", "a"]
    assert difficulty._scores == {"a": [0.0, 1.0], "b": [0.0, 1.0, 9.0]}


def test_a_stage_that_still_has_an_evaluation_may_take_more_than_one() -> None:
    _, _, stage = staged(evaluations=1)
    assert stage.evaluate({}).results[1].example == "b"
    with pytest.raises(StageOver):
        stage.submit({})


# -- what candidates are worth


@pytest.mark.parametrize(
    ("parent", "child", "words"),
    [
        ({"a": 1.0, "b": 0.0}, {"a": 1.5, "b": 0.0}, "better by 0.25"),
        ({"a": 1.0, "b": 0.0}, {"a": 0.0, "c": 9.0}, "worse by 1"),
        ({"a": 1.0}, {"a": 1.0}, "no change"),
        ({"a": 1.0}, {"b": 1.0}, "not measured"),
        ({"a": 1.0, "b": None}, {"a": 2.0, "b": 7.0}, "better by 1"),
        ({"a": None}, {"a": 2.0}, "not measured"),
    ],
)
def test_a_child_is_worth_what_it_gains_on_examples_that_both_met(
    parent: dict[str, float | None], child: dict[str, float | None], words: str
) -> None:
    archive = Archive()
    old = filed(archive, 0, parent)
    assert worth(filed(archive, 1, child, parent=old), old) == words


def test_the_confidence_bound_is_the_mean_and_a_part_of_the_scale_that_shrinks_with_what_was_measured() -> None:
    archive = Archive()
    seldom, often = filed(archive, 0, {"a": 1.0}), filed(archive, 1, {"a": 3.0, "b": 3.0, "c": 3.0})
    never = filed(archive, 2, {"a": None})
    assert ucb(seldom, archive, exploration=0.5) == pytest.approx(1.0 + 0.5 * 2.0 * math.sqrt(math.log(4)))
    assert ucb(often, archive, exploration=0.5) == pytest.approx(3.0 + 0.5 * 2.0 * math.sqrt(math.log(4) / 3))
    assert ucb(never, archive, exploration=0.5) == -math.inf
    order: Callable[..., list[int]] = lambda **k: [e.index for e in by_priority([never, seldom, often], archive, **k)]  # noqa: E731
    assert order(score_function="mean") == [1, 0, 2]
    assert order(score_function="time") == [2, 1, 0]
    assert order(score_function="ucb", exploration=0.1) == [1, 0, 2]
    assert order(score_function="ucb", exploration=3.0) == [0, 1, 2]
    twin = filed(archive, 3, {"a": 1.0})
    assert [e.index for e in by_priority([twin, seldom], archive, score_function="ucb")] == [0, 3]


def test_lineages_that_changed_different_parameters_are_merged() -> None:
    archive = Archive()
    root = filed(archive, 0, {"a": 1.0}, x=0, y=0, z=0)
    left = filed(archive, 1, {"a": 2.0}, parent=root, x=1, y=0, z=5)
    right = filed(archive, 2, {"a": 3.0}, parent=root, x=0, y=1, z=6)
    same = filed(archive, 3, {"a": 2.0}, parent=root, x=2, y=0, z=0)
    worse = filed(archive, 4, {"a": 0.5}, parent=root, x=0, y=7, z=0)
    below = filed(archive, 5, {"a": 4.0}, parent=left, x=1, y=0, z=9)
    unknown = filed(archive, 6, {"a": None}, parent=root, x=0, y=8, z=0)
    pairs = mergeable_pairs([root, left, right, same, worse, below, unknown])
    assert [(p.one.index, p.other.index, p.ancestor.index) for p in pairs] == [(1, 2, 0), (2, 3, 0), (2, 5, 0)]
    assert merge(pairs[0], rng=random.Random(0)) == {"x": 1, "y": 1, "z": 6}
    assert merge(pairs[2], rng=random.Random(0)) == {"x": 1, "y": 1, "z": 9}
    level = filed(archive, 7, {"a": 3.0}, parent=root, x=4, y=0, z=8)
    (pair,) = mergeable_pairs([right, level])
    drawn = {merge(pair, rng=random.Random(seed))["z"] for seed in range(8)}
    assert drawn == {6, 8}


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"a": 1.0}, {"a": 1.0}, 0.0),
        ({"a": 1.0}, {"a": 3.0}, 0.5),
        ({"a": 1.0}, {"a": -1.0}, 1.0),
        ({"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}, 1.5),
        ({"a": "one two three"}, {"a": "one 2 three"}, 2 / 6),
        ({"a": "one two"}, {"a": "one two three"}, 1 / 5),
        ({"a": "one  two"}, {"a": "one two"}, 1 / 4),
        ({"a": True}, {"a": 1}, 1.0),
        ({"a": [1, 2]}, {"a": [1, 3]}, 2 / 10),
        ({"a": "b a b"}, {"a": "a b"}, 1 / 5),
    ],
)
def test_candidates_are_as_far_apart_as_is_edited(one: Values, other: Values, apart: float) -> None:
    assert edit_distance(one, other) == pytest.approx(apart)
    assert edit_distance(other, one) == pytest.approx(apart)


def test_a_net_takes_the_farthest_first_and_no_copies() -> None:
    def apart(a: Values, b: Values) -> float:
        return abs(a["x"] - b["x"])  # type: ignore[operator]  # numbers

    def xs(values: list[Values]) -> list[Any]:
        return [v["x"] for v in values]

    known, proposals = [{"x": 0}, {"x": 10}], [{"x": 1}, {"x": 5}, {"x": 6}, {"x": 14}]
    assert xs(Net(apart, epsilon=0.0).admit(known, proposals)) == [1, 5, 6, 14]
    assert xs(Net(apart, epsilon=0.5).admit(known, proposals)) == [5, 14]
    assert xs(Net(apart, epsilon=0.2).admit(known, proposals)) == [5, 14, 1, 6]
    net = Net(apart, epsilon=0.5)
    assert xs(net.admit([], [{"x": 3}, {"x": 3}])) == [3]
    assert xs(net.admit(known, [{"x": 0}, {"x": 10}])) == [0]
    assert net.admit(known, []) == []


# -- shares of a budget, races and grids


@pytest.mark.parametrize(
    ("caps", "variant", "size"),
    [
        (Budget(llm_calls=10, evaluations=400), "paper", 3),
        (Budget(llm_calls=10, evaluations=400, seconds=9.0), "budget", 3),
        (Budget(evaluations=400), "budget", 3),
        (Budget(usd=1.0), "budget", 33),
        (Budget(tokens=100), "budget", 33),
        (Budget(llm_calls=10), "budget", 33),
        (Budget(llm_calls=10, evaluations=400), "budget", 20),
        (Budget(llm_calls=10, evaluations=4000), "budget", 33),
        (Budget(llm_calls=10, evaluations=40), "budget", 3),
        (Budget(llm_calls=0, evaluations=20), "budget", 10),
    ],
)
def test_a_first_child_is_tested_on_half_of_what_it_affords(caps: Budget, variant: Any, size: int) -> None:
    assert first_tested(caps, variant, batch=3, most=30) == size


@pytest.mark.parametrize(
    ("examples", "runners", "racing", "taken"),
    [(16, 4, False, 64), (16, 4, True, 32), (8, 1, True, 8), (15.5, 4, True, 32), (2, 5, True, 10)],
)
def test_a_race_takes_each_rung_of_whoever_is_left(examples: float, runners: int, racing: bool, taken: float) -> None:
    assert raced(RacingSettings(racing=racing), examples=examples, runners=runners) == taken


def test_steps_cost_what_their_proposals_do() -> None:
    cost = estimate_steps(4, proposals=2, evaluations=10, idle_evaluations=3, start=5, extra=7, saved=1)
    assert (cost.evaluations.low, cost.evaluations.likely, cost.evaluations.high) == (17, 48, 52)
    assert cost.llm_calls is not None
    assert (cost.llm_calls.low, cost.llm_calls.likely, cost.llm_calls.high) == (0, 8, 16)
    assert (cost.steps, cost.start, cost.to_cap) == (4.0, 5, False)
    assert cost.proposals is not None
    assert (cost.proposals.low, cost.proposals.likely, cost.proposals.high) == (0, 8, 8)


def described(**values: Any) -> Any:
    return describe(filed(Archive(), 0, {"a": 0.0}, **values), ["length", "branches", "depth"])


def test_code_is_described_by_its_length_its_branches_and_its_depth() -> None:
    assert described(a="x = 1", b="no code (") == (pytest.approx(math.log(15)), 0.0, 4.0)
    assert described(a=[1]) == (pytest.approx(math.log(4)), 0.0, 4.0)
    every = "try:\n    y = [a for a in b if a and c or d]\nexcept OSError:\n    y = 1 if z else 2\nwhile y:\n    pass\n"
    assert described(a=every)[1] == 6.0


def test_cells_are_equal_parts_of_what_the_points_span() -> None:
    points = [(0.0, -1.0), (0.999, 1.0), (1.0, 0.0), (3.0, 0.49), (4.0, -0.5)]
    assert cells(points, 4) == [(0.0, 0.0), (0.0, 3.0), (1.0, 2.0), (3.0, 2.0), (3.0, 1.0)]
    assert cells([(5.0,)], 3) == [(0.0,)]
