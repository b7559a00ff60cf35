"""Trace's optimizers lose nothing of what a model suggests, cost one call when it suggests nothing, and never raise."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("opto", reason="opto is an extra of this plugin")

from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget, Parameter
from tracebench_engine.job.circuit_breaker import HOPELESS_CALLS
from tracebench_opto.proposers import builders
from tracebench_opto.proposers.specs import RELEASED, optimizer_specs
from tracebench_testing import Toy, run_trial
from tracebench_testing.teacher import Lesson

JSON_SPEAKERS = [builders.optoprime, builders.opro]
INITIAL = {
    "heat.x": 0.5,
    "prompt": "Answer.",
    "f": "def f(x):\n    return x",
    "strict": True,
    "layout": {"a": [1, 2], "b": 1},
}


def suggestion(reasoning: str = "r", **values: Any) -> str:
    return json.dumps({"reasoning": reasoning, "answer": "", "suggestion": values})


def improved(value: str) -> str:
    return f"<IMPROVED_VARIABLE>{value}</IMPROVED_VARIABLE>"


@pytest.mark.parametrize("build", JSON_SPEAKERS)
def test_every_type_survives_the_way_back(build: Callable[..., Any], propose: Callable[..., Any]) -> None:
    reply = suggestion(heat_x0="0.25", prompt0="Hi.", f__code0="def f(x): return 2", strict0="False", layout0='{"a":1}')
    run = propose(build, reply)
    assert run.proposals == [
        [{"heat.x": 0.25, "prompt": "Hi.", "f": "def f(x): return 2", "strict": False, "layout": {"a": 1}}]
    ]
    assert run.calls == 1


@pytest.mark.parametrize("build", JSON_SPEAKERS)
@pytest.mark.parametrize("text", ["Be kind by default.", "Define each term.", "Say TERMINATE at the end.", "False"])
def test_texts_with_words_that_opto_trips_over_arrive_whole(
    build: Callable[..., Any], text: str, propose: Callable[..., Any]
) -> None:
    run = propose(build, suggestion(prompt0=text))
    assert run.proposals == [[{**INITIAL, "prompt": text}]]


@pytest.mark.parametrize("build", JSON_SPEAKERS)
def test_code_is_not_reformatted(build: Callable[..., Any], propose: Callable[..., Any]) -> None:
    code = "def f( x ):\n        return {'a':x} ['a']"
    assert propose(build, suggestion(f__code0=code)).proposals == [[{**INITIAL, "f": code}]]


@pytest.mark.parametrize("build", JSON_SPEAKERS)
def test_terminate_in_the_reasoning_does_not_cancel(build: Callable[..., Any], propose: Callable[..., Any]) -> None:
    run = propose(build, suggestion("I could TERMINATE here, but:", heat_x0=0.75))
    assert run.proposals == [[{**INITIAL, "heat.x": 0.75}]]


def test_terminate_alone_means_no_change(propose: Callable[..., Any]) -> None:
    run = propose(builders.optoprime, "TERMINATE")
    assert run.proposals == [[]]
    assert run.metrics == {"proposal_unchanged": 1.0}


@pytest.mark.parametrize("build", JSON_SPEAKERS)
@pytest.mark.parametrize("value", [None, [1], {"a": 1}, 5, True, "four"])
def test_values_of_the_wrong_type_are_refused_one_by_one(
    build: Callable[..., Any], value: Any, propose: Callable[..., Any]
) -> None:
    run = propose(build, suggestion(heat_x0=value, f__code0=5, strict0=False))
    assert run.error is None
    assert run.proposals == [[{**INITIAL, "strict": False}]]
    assert run.metrics == {"proposal_refused": 2.0}


@pytest.mark.parametrize("build", JSON_SPEAKERS)
@pytest.mark.parametrize(
    "reply", ["", "No idea.", "[1]", '{"suggestion": 3}', '{"suggestion": {"nobody": 1}}', "{" * 99]
)
def test_a_malformed_reply_costs_one_call_and_is_recorded(
    build: Callable[..., Any], reply: str, propose: Callable[..., Any]
) -> None:
    run = propose(build, reply)
    assert run.error is None
    assert run.proposals == [[]]
    assert run.calls == 1
    assert run.metrics == {"proposal_malformed": 1.0}


def test_a_completion_that_is_none_costs_its_own_proposal(propose: Callable[..., Any]) -> None:
    nothing = ModelError("no completion", kind="malformed")
    once = propose(builders.optoprime, nothing, suggestion(heat_x0=0.1), nothing, suggestion(heat_x0=0.2), rounds=4)
    assert once.error is None
    assert [len(found) for found in once.proposals] == [0, 1, 0, 1]
    never = propose(builders.optoprime, nothing, rounds=30)
    assert len(never.prompts) == HOPELESS_CALLS


@pytest.mark.parametrize("build", [builders.optoprime, builders.opro, builders.textgrad])
def test_optimizers_ask_side_by_side_and_keep_their_answers_apart(
    build: Callable[..., Any], simple_task: Callable[..., Any]
) -> None:
    """Four siblings meet at their first question, and each takes in what it was itself answered, in order."""
    toy = Toy("one", simple_task([Parameter(name="x", initial=0.0, kind="number")]), Lesson(None, None), target=0)
    met = threading.Barrier(4)
    first = threading.local()
    found: list[Any] = []

    def answer(_prompt: str, call: int) -> str:
        if not hasattr(first, "asked"):
            first.asked = True
            met.wait(timeout=60)
        return suggestion(x0=call) if build is not builders.textgrad else f"too small {improved(str(call))}"

    class Asks:
        def train(self, problem: Any) -> None:
            found.extend(build(problem).propose([problem.evaluate(problem.initial)], n=4))

    assert run_trial(Asks(), toy, answer=answer).error is None
    values = [one["x"] for one in found]
    assert len(set(values)) == len(values) >= 3
    assert values == sorted(values)


def test_a_model_that_cannot_be_asked_is_asked_once_and_the_error_gets_through(propose: Callable[..., Any]) -> None:
    run = propose(builders.optoprime, ModelError("gone", kind="refused"))
    assert isinstance(run.error, ModelError)
    assert len(run.prompts) == 1


@pytest.mark.parametrize("build", [builders.optoprime, builders.textgrad, builders.optoprime_multi])
def test_a_spent_budget_passes_through(build: Callable[..., Any], propose: Callable[..., Any]) -> None:
    run = propose(build, "criticism", n=2, budget=Budget(llm_calls=1))
    assert run.trial.spent == "llm_calls"
    assert run.calls == 1


def test_a_refused_value_is_said_in_the_next_feedback_once(propose: Callable[..., Any]) -> None:
    run = propose(builders.optoprime, suggestion(heat_x0=7), suggestion(heat_x0=1), suggestion(heat_x0=0), rounds=3)
    assert ["`heat.x` must be at most 1, not 7" in p for p in run.prompts] == [False, True, False]


@pytest.mark.parametrize("build", JSON_SPEAKERS)
def test_several_proposals_are_independent_calls_with_one_prompt(
    build: Callable[..., Any], propose: Callable[..., Any]
) -> None:
    run = propose(build, *(suggestion(heat_x0=v) for v in (0.1, 0.2, 0.3)), n=3)
    assert [p["heat.x"] for p in run.proposals[0]] == [0.1, 0.2, 0.3]
    assert len(set(run.prompts)) == 1
    assert run.calls == 3


def test_the_feedback_of_a_batch_is_one_text(propose: Callable[..., Any]) -> None:
    prompt = propose(builders.optoprime, suggestion(heat_x0=0.1)).prompts[0]
    assert "ID [0]: Score: 0. feedback on train-0\nID [1]: Score: -1. feedback on train-1" in prompt
    assert "(float) heat_x0: How warm; at least 0; at most 1" in prompt
    assert "Make it good." in prompt
    assert "Maps x to y." in prompt


def test_memory_holds_as_many_earlier_candidates_as_asked(propose: Callable[..., Any]) -> None:
    replies = [suggestion(heat_x0=v) for v in (0.1, 0.2, 0.3)]

    def shown(size: int) -> list[bool]:
        prompt = propose(lambda p: builders.optoprime(p, memory_size=size), *replies, rounds=3).prompts[2]
        past = prompt.partition("Below are some variables and their feedbacks")[2]
        return [f'"heat_x0": {v}' in past for v in (0.5, 0.1)]

    assert shown(0) == [False, False]
    assert shown(1) == [False, True]
    assert shown(2) == [True, True]


def test_opro_sees_the_whole_lineage_up_to_its_memory(propose: Callable[..., Any]) -> None:
    replies = [suggestion(heat_x0=v) for v in (0.1, 0.2, 0.3)]
    prompt = propose(builders.opro, *replies, rounds=3).prompts[2]
    assert [prompt.count(f'"heat_x0": {v}') for v in (0.5, 0.1, 0.2)] == [1, 1, 1]


def test_optoprime_multi_asks_at_falling_temperatures_and_takes_the_last(propose: Callable[..., Any]) -> None:
    replies = [suggestion(heat_x0=round(i / 10, 1)) for i in range(3)]
    run = propose(lambda p: builders.optoprime_multi(p, num_responses=3, temperature_range=(1.0, 0.5)), *replies)
    assert run.proposals == [[{**INITIAL, "heat.x": 0.2}]]
    assert run.calls == 3


def test_textgrad_types_what_it_handles_as_text(propose: Callable[..., Any]) -> None:
    texts = ["0.9", "Be kind by default; TERMINATE.", "def f(x): return 3", "False", '{"a": 2}']
    run = propose(builders.textgrad, *["criticism"] * 5, *map(improved, texts))
    assert run.error is None
    assert run.proposals == [[{"heat.x": 0.9, "prompt": texts[1], "f": texts[2], "strict": False, "layout": {"a": 2}}]]
    assert run.calls == 10
    assert "<FEEDBACK>criticism</FEEDBACK>" in run.prompts[5]
    assert "Make it good." in run.prompts[0]


def test_textgrad_survives_replies_without_a_value(propose: Callable[..., Any]) -> None:
    run = propose(builders.textgrad, "No idea.")
    assert run.error is None
    assert run.proposals == [[]]
    assert run.metrics == {"proposal_malformed": 1.0}


def test_prompts_are_the_same_whatever_happened_before_in_the_process(
    propose: Callable[..., Any], simple_task: Callable[..., Any]
) -> None:
    turned = [Parameter(name="layout", initial={"a": [1, 2], "b": 1}, kind="json")]
    sorted_first = [Parameter(name="layout", initial={"b": 1, "a": [1, 2]}, kind="json")]
    for build in (builders.optoprime, builders.opro, builders.textgrad):
        one = propose(build, improved("{}"), task=simple_task(turned)).prompts
        other = propose(build, improved("{}"), task=simple_task(sorted_first)).prompts
        assert one == other


def test_listing_imports_nothing_of_opto_and_importing_it_is_quiet_and_light() -> None:
    script = (
        "import sys\n"
        "import tracebench_opto.plugin as p\n"
        "list(p.tracebench_optimizers())\n"
        "assert 'opto' not in sys.modules\n"
        "import tracebench_opto.proposers.preload\n"
        "assert 'opto.optimizers' in sys.modules\n"
        "print([m for m in ('litellm', 'openai', 'black', 'numpy') if m in sys.modules])\n"
        "from opto.optimizers.optoprime import format_str, FileMode\n"
        "print(format_str('x=1', mode=FileMode()).strip(), 'black' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\nx = 1 True\n"


def test_released_optimizers_are_always_offered_and_newer_ones_where_found() -> None:
    assert [s.name for s in RELEASED] == ["OptoPrime", "OPRO", "OptoPrimeMulti", "TextGrad"]
    from tracebench_opto.bridge import features

    offered = [s.name for s in optimizer_specs()]
    assert offered[:4] == [s.name for s in RELEASED]
    assert set(offered[4:]) <= features.optimizers()
