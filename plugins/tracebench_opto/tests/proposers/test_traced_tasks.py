"""For a traced task the optimizers see the module's own graph, and nothing is scored again for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("opto", reason="opto is an extra of this plugin")

from tracebench_core.contracts import Context
from tracebench_core.errors import PluginError
from tracebench_core.specs import Example, Feedback, Parameter
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_opto.bridge.frames import quick_frames
from tracebench_opto.bridge.library import load
from tracebench_opto.proposers import builders

with quick_frames():
    from tracebench_opto.tasks import greeting

trace: Any = load("opto.trace")
TEXT = "def shape(self, text):\n    return text.upper()"


with quick_frames():

    class Greeter(trace.Module):  # type: ignore[misc]
        """Greets: a style, an inner module and a trainable method. Its repr names an address."""

        def __init__(self) -> None:
            self.greeting = trace.node("Hello", name="greeting", trainable=True)
            self.tail = Tail()

        @trace.bundle(trainable=True)
        def shape(self, text):  # type: ignore[no-untyped-def]
            return text.upper()

        @trace.bundle()
        def join(self, greeting, name, mark):  # type: ignore[no-untyped-def]
            """Join them."""
            return f"{greeting} {name}{mark}"

        def forward(self, name: str) -> Any:
            return self.shape(self.join(self.greeting, name, self.tail.mark))


class Tail(trace.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        self.mark = trace.node("!", name="mark", trainable=True)


@dataclass(frozen=True)
class GreetingTask(SimpleTask):
    def trace_agent(self) -> Any:
        return Greeter()


def greeting_task(names: Sequence[str] = ("shape", "greeting", "tail.mark")) -> GreetingTask:
    initial = {"shape": Greeter.shape.parameter.data, "greeting": "Hello", "tail.mark": "!"}
    parameters = [Parameter(name=n, initial=initial.get(n, ""), kind="code" if n == "shape" else "text") for n in names]

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=0.0, text=f"greet {example.input} warmly")

    examples = (Example(id="a", input="Ada"), Example(id="b", input="Bob"))
    return GreetingTask(parameters, "Greet.", lambda *_: None, guide, {"train": examples})


def test_the_graph_is_what_the_optimizer_sees(propose: Callable[..., Any]) -> None:
    names = re.compile(r"\b(?:__code|greeting|mark)\d+\b")
    probe = propose(builders.optoprime, "{}", task=greeting_task())
    assert probe.error is None
    assert probe.trial.used.evaluations == 2
    prompt = probe.prompts[0]
    assert "join(self=" in prompt
    assert "Join them." in prompt
    assert "HELLO ADA!" in prompt
    assert "ID [1]: Score: 0. greet Bob warmly" in prompt
    shown = dict.fromkeys(names.findall(prompt.split("#Variables\n")[1].split("#Constraints")[0]))
    assert len(shown) == 3
    code, greeting, mark = shown
    reply = {"suggestion": {code: "def shape(self, text):\n    return text", greeting: "define Hi", mark: "."}}
    run = propose(builders.optoprime, json.dumps(reply), task=greeting_task())
    assert run.proposals == [
        [{"shape": "def shape(self, text):\n    return text", "greeting": "define Hi", "tail.mark": "."}]
    ]


def test_the_candidates_own_values_run_through_the_graph(propose: Callable[..., Any]) -> None:
    first = propose(builders.optoprime, "{}", task=greeting_task()).prompts[0]
    mark = re.search(r"\bmark\d+\b", first)
    assert mark
    run = propose(builders.optoprime, json.dumps({"suggestion": {mark[0]: "?"}}), "{}", task=greeting_task(), rounds=2)
    assert "HELLO ADA?" in run.prompts[1]


@pytest.mark.parametrize("task", [greeting_task, greeting.build])
@pytest.mark.parametrize("build", [builders.optoprime, builders.opro, builders.textgrad])
def test_prompts_hold_no_address_and_no_counter_of_the_process(
    build: Callable[..., Any], task: Callable[[], Any], propose: Callable[..., Any]
) -> None:
    one = propose(build, "criticism", task=task()).prompts
    other = propose(build, "criticism", task=task()).prompts
    assert one == other
    assert not any(re.search(r"0x[0-9a-f]{4,}", prompt) for prompt in one)


def test_an_error_in_a_traced_operator_is_part_of_the_graph(propose: Callable[..., Any]) -> None:
    first = propose(builders.optoprime, "{}", task=greeting_task()).prompts[0]
    code = re.search(r"\b__code\d+\b", first)
    assert code
    broken = {"suggestion": {code[0]: "def shape(self, text):\n    return text / 0"}}
    run = propose(builders.optoprime, json.dumps(broken), "{}", task=greeting_task(), rounds=2)
    assert run.error is None
    assert "TypeError" in run.prompts[1]


def test_code_that_breaks_the_graph_falls_back_to_the_flat_one(propose: Callable[..., Any]) -> None:
    first = propose(builders.optoprime, "{}", task=greeting_task()).prompts[0]
    code = re.search(r"\b__code\d+\b", first)
    assert code
    broken = {"suggestion": {code[0]: "def shape(self):\n    return 1"}}
    run = propose(builders.optoprime, json.dumps(broken), "{}", task=greeting_task(), rounds=2)
    assert run.error is None
    assert "evaluate0 = evaluate(" in run.prompts[1]


def test_textgrad_improves_traced_parameters(propose: Callable[..., Any]) -> None:
    count = propose(builders.textgrad, "criticism", task=greeting_task()).calls
    texts = ["def shape(self, text):\n    return text", "Hi", "."]
    replies = ["criticism"] * (count - 3) + [f"<IMPROVED_VARIABLE>{t}</IMPROVED_VARIABLE>" for t in texts]
    run = propose(builders.textgrad, *replies, task=greeting_task())
    assert run.proposals == [[{"shape": texts[0], "greeting": "Hi", "tail.mark": "."}]]


def test_a_parameter_without_a_node_is_the_tasks_error(propose: Callable[..., Any]) -> None:
    run = propose(builders.optoprime, "{}", task=greeting_task(("greeting", "missing")))
    assert isinstance(run.error, PluginError)
    assert "`missing`" in str(run.error)
