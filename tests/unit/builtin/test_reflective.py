"""`Reflective` on the engine's own problem, with scripted replies."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tracebench_core.contracts import Context, Problem
from tracebench_core.errors import ModelError
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.proposing.conversion import RefusedValue, convert
from tracebench_core.proposing.rendering import as_text, score_text
from tracebench_core.proposing.replies import UnreadableReply, read_reply
from tracebench_core.specs import Budget, Example, Feedback, Parameter, Values
from tracebench_core.specs.events import MetricLogged
from tracebench_engine.builtin.reflective import build
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.job.circuit_breaker import HOPELESS_CALLS
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.teacher import Lesson

HEAT = Parameter(name="heat", initial=0.5, kind="number", description="How warm.", minimum=0, maximum=1)
PROMPT = Parameter(name="prompt", initial="Answer.", max_length=60)
CODE = Parameter(name="code", initial="def f(x):\n    return x\n", kind="code", signature="def f(x):")
STRICT = Parameter(name="strict", initial=True, kind="choice", choices=(True, False))
LAYOUT = Parameter(name="layout", initial={"b": 1, "a": [1, 2]}, kind="json")
ALL = (HEAT, PROMPT, CODE, STRICT, LAYOUT)


class Plays:
    """A trainer that hands its problem to a function and keeps what that returns."""

    def __init__(self, play: Callable[[Problem], Any]) -> None:
        self.play = play
        self.result: Any = None

    def train(self, problem: Problem) -> None:
        self.result = self.play(problem)


class Replies:
    """Answers with one reply after the other, the last one again and again; keeps the prompts."""

    def __init__(self, *replies: str) -> None:
        self.replies = replies
        self.prompts: list[str] = []

    def __call__(self, prompt: str, call: int) -> str:
        self.prompts.append(prompt)
        return self.replies[min(call, len(self.replies) - 1)]


def task(parameters: Sequence[Parameter] = ALL) -> SimpleTask:
    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=-float(example.input), text=f"feedback on {example.id}", metrics={"m": 1.0})

    examples = tuple(Example(id=f"train-{i}", input=i) for i in range(3))
    return SimpleTask(tuple(parameters), "Make it good.", lambda *_: None, guide, {"train": examples})


def propose(
    replies: Callable[[str, int], str],
    *,
    parameters: Sequence[Parameter] = ALL,
    rounds: int = 1,
    n: int = 1,
    budget: Budget | None = None,
    **settings: Any,
) -> tuple[list[list[Values]], Trial]:
    """Propose `rounds` times on one lineage; return the proposals of each round, and the trial."""
    found: list[list[Values]] = []

    def play(problem: Problem) -> None:
        optimizer = build(problem, **settings)
        lineage = [problem.evaluate(problem.initial)]
        for _ in range(rounds):
            found.append(optimizer.propose(lineage, n=n))
            if found[-1]:
                lineage.append(problem.evaluate(found[-1][0]))

    toy = Toy("toy", task(parameters), Lesson(lambda v, _: v, lambda v, _: v), target=0)
    return found, run_trial(Plays(play), toy, answer=replies, budget=budget)


def metrics(trial: Trial) -> dict[str, float]:
    return {e.name: e.value for e in trial.events if isinstance(e, MetricLogged)}


def values_reply(**values: Any) -> str:
    return json.dumps({"reasoning": "r", "values": values})


def test_a_proposal_is_a_full_typed_assignment() -> None:
    replies = Replies(values_reply(heat="0.25", strict="False", layout='{"a": [3], "b": 2}'))
    [[proposal]], trial = propose(replies)
    assert proposal == {
        "heat": 0.25,
        "prompt": "Answer.",
        "code": CODE.initial,
        "strict": False,
        "layout": {"a": [3], "b": 2},
    }
    assert trial.used.llm_calls == 1
    assert trial.error is None


@pytest.mark.parametrize(
    "reply",
    [
        '{"reasoning": "r", "values": {"prompt": "Think {twice}."}}',
        'Here you are:\n```json\n{"values": {"prompt": "Think {twice}."},}\n```\nGood luck!',
        "{'values': {'prompt': 'Think {twice}.'}}",
        'I thought {about} it. {"prompt": "Think {twice}."}',
        "<reasoning>r</reasoning><variable><name>prompt</name><value>\nThink {twice}.\n</value></variable>",
        '<variable name="prompt"><value>Think {twice}.</value></variable>',
        '{"suggestion": {"prompt": "Think {twice}."}}',
    ],
)
def test_a_reply_is_read_in_whatever_form_it_comes(reply: str) -> None:
    assert read_reply(reply, ALL) == {"prompt": "Think {twice}."}


def test_fenced_code_is_the_value_of_the_only_code_parameter() -> None:
    reply = "Use this:\n```python\ndef f(x):\n    return {'a': x}['a']\n```"
    [[proposal]], _ = propose(Replies(reply))
    assert proposal["code"] == "def f(x):\n    return {'a': x}['a']"


@pytest.mark.parametrize("reply", ["", "   ", "I cannot help with that.", "{}", "[1, 2]", "{" * 5000, '{"values": 3}'])
def test_what_names_no_value_is_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        read_reply(reply, ALL)


def test_an_unreadable_reply_is_repaired_by_one_more_call() -> None:
    replies = Replies("No idea.", values_reply(heat=0.75))
    [[proposal]], trial = propose(replies)
    assert proposal["heat"] == 0.75
    assert "This could not be used: the reply held no JSON object" in replies.prompts[1]
    assert trial.used.llm_calls == 2
    assert metrics(trial) == {}


def test_a_model_that_never_answers_in_form_costs_two_calls_and_is_recorded() -> None:
    replies = Replies("No idea.")
    found, trial = propose(replies, rounds=2)
    assert found == [[], []]
    assert trial.error is None
    assert trial.used.llm_calls == 4
    assert metrics(trial) == {"proposal_malformed": 1.0}
    assert "Your last reply could not be used" in replies.prompts[2]


def test_a_refused_value_is_said_next_time_and_the_others_count() -> None:
    replies = Replies(values_reply(heat=7, prompt="x" * 61, layuot=[], strict=False), values_reply(heat=1))
    found, trial = propose(replies, rounds=3)
    assert found[0][0]["strict"] is False
    assert found[0][0]["heat"] == 0.5
    assert metrics(trial)["proposal_refused"] == 3.0
    said = replies.prompts[1]
    assert "`heat` was refused: `heat` must be at most 1, not 7" in said
    assert "`prompt` was refused: `prompt` must have at most 60 characters, not 61" in said
    assert "Did you mean `layout`?" in said
    assert ["refused" in prompt for prompt in replies.prompts] == [False, True, False]


def test_a_suggestion_that_changes_nothing_is_no_proposal() -> None:
    found, trial = propose(Replies(values_reply(heat=0.5)), rounds=1)
    assert found == [[]]
    assert metrics(trial) == {"proposal_unchanged": 1.0}


def test_several_proposals_come_from_independent_calls_with_one_prompt() -> None:
    replies = Replies(values_reply(heat=0.1), values_reply(heat=0.2), values_reply(heat=0.3))
    [proposals], trial = propose(replies, n=3)
    assert [p["heat"] for p in proposals] == [0.1, 0.2, 0.3]
    assert len(set(replies.prompts)) == 1
    assert trial.used.llm_calls == 3


def test_a_spent_budget_passes_through() -> None:
    found, trial = propose(Replies(values_reply(heat=0.1)), n=3, budget=Budget(llm_calls=2))
    assert found == []
    assert trial.spent == "llm_calls"


@pytest.mark.parametrize("kind", ["refused", "malformed"])
def test_a_model_that_never_answers_costs_proposals_and_the_engine_ends_it(kind: str) -> None:
    def answer(prompt: str, call: int) -> str:
        raise ModelError("no", kind=kind)

    _, trial = propose(answer, rounds=20)

    assert trial.error is None
    assert trial.failed_calls == HOPELESS_CALLS


def test_an_answer_that_is_no_completion_costs_its_proposal_only() -> None:
    def answer(prompt: str, call: int) -> str:
        if call == 0:
            raise ModelError("no", kind="malformed")
        return values_reply(heat=0.1)

    found, trial = propose(answer, rounds=2)

    assert trial.error is None
    assert found[0] == []
    assert found[1][0]["heat"] == 0.1


def test_the_prompt_shows_values_feedback_worst_first_and_history() -> None:
    replies = Replies(values_reply(heat=0.1), values_reply(heat=0.2), values_reply(heat=0.3))
    propose(replies, rounds=3, memory_size=1, max_examples=2)
    last = replies.prompts[2]
    assert shown_values(last) == {**{p.name: p.initial for p in ALL}, "heat": 0.2}
    assert "Make it good." in last
    assert "How warm." in last
    assert last.index("feedback on train-2") < last.index("feedback on train-1")
    assert "feedback on train-0" not in last
    history = last.split("# Tried before, oldest first\n")[1]
    assert history.count("\n- score") + history.startswith("- score") == 1
    assert '"heat":0.1' in history


def test_prompts_do_not_depend_on_the_order_of_dictionaries() -> None:
    one, other = Replies(values_reply(heat=0.1)), Replies(values_reply(heat=0.1))
    turned = LAYOUT.model_copy(update={"initial": {"a": [1, 2], "b": 1}})
    propose(one, parameters=(HEAT, LAYOUT), rounds=2)
    propose(other, parameters=(HEAT, turned), rounds=2)
    assert one.prompts == other.prompts


def test_inputs_are_rendered_the_same_whatever_their_order_and_without_addresses() -> None:
    assert as_text({"b": 1, "a": object()}) == as_text({"a": object(), "b": 1}) == '{"a": "<object>", "b": 1}'
    assert as_text({1: "x", "a": 2}) == "<dict>"
    assert score_text(-0.0) == "0"


@pytest.mark.parametrize(
    ("parameter", "written", "value"),
    [
        (HEAT, 1, 1.0),
        (HEAT, " 0.5 ", 0.5),
        (Parameter(name="k", initial=3, kind="number"), 4.0, 4),
        (STRICT, "false", False),
        (STRICT, False, False),
        (Parameter(name="c", initial="low", kind="choice", choices=("low", "high")), "HIGH", "high"),
        (Parameter(name="j", initial=False, kind="json"), "False", False),
        (Parameter(name="j", initial=[1], kind="json"), "[3, 4]", [3, 4]),
        (Parameter(name="j", initial=None, kind="json"), {"a": None}, {"a": None}),
        (PROMPT, "be defined by default", "be defined by default"),
        (PROMPT, 3, "3"),
        (CODE, "```python\ndef f(x):\n    return 2\n```", "def f(x):\n    return 2"),
    ],
)
def test_values_get_the_type_of_the_initial_value(parameter: Parameter, written: Any, value: Any) -> None:
    converted = convert(parameter, written)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("parameter", "written"),
    [
        (HEAT, "warm"),
        (HEAT, None),
        (HEAT, [1]),
        (HEAT, True),
        (HEAT, float("nan")),
        (HEAT, 10**400),
        (Parameter(name="k", initial=3, kind="number"), 3.7),
        (STRICT, "maybe"),
        (PROMPT, None),
        (PROMPT, ["a"]),
        (CODE, 5),
        (CODE, " "),
        (CODE, "def f(x) return 1"),
        (CODE, "def f(x):\n    return '\x00'"),
        (LAYOUT, [1]),
        (LAYOUT, {"a": float("inf")}),
        (Parameter(name="j", initial=False, kind="json"), 1),
    ],
)
def test_what_cannot_be_converted_without_loss_is_refused(parameter: Parameter, written: Any) -> None:
    with pytest.raises(RefusedValue):
        convert(parameter, written)


def test_reading_survives_arbitrary_text() -> None:
    rng = random.Random(7)
    alphabet = '{}[]":,<>/valuesnamevariable`\n\\ 01'
    for _ in range(2000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(80)))
        try:
            assert isinstance(read_reply(text, ALL), dict)
        except UnreadableReply:
            continue
