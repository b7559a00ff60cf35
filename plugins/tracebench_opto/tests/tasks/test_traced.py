"""Traced tasks: the module's own run is scored, and the graph's run hears what the scored one heard."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("opto", reason="opto is an extra of this plugin")

from tracebench_core.contracts import Context, Problem
from tracebench_core.plugins.refs import load_ref
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Example, Feedback
from tracebench_engine.builtin.hosting import open_host
from tracebench_opto.bridge.frames import quick_frames
from tracebench_opto.bridge.library import load
from tracebench_opto.proposers import builders
from tracebench_opto.tasks.traced import TracedTask, Voice
from tracebench_testing import Toy, run_trial
from tracebench_testing.teacher import Lesson

trace: Any = load("opto.trace")
STILL = Lesson(lambda v, _: v, lambda v, _: v)
SPANISH = 'def decide(self, instruction, said):\n    return "es" if "soy" in said else "en"'


with quick_frames():

    @trace.model
    class Asks:
        """Passes the input and an instruction to a model."""

        def __init__(self, voice: Voice) -> None:
            self.voice = voice
            self.instruction = trace.node("Answer.", name="instruction", trainable=True)

        def forward(self, said: str) -> Any:
            return self.reply(self.instruction, said)

        @trace.bundle()
        def reply(self, instruction, said):  # type: ignore[no-untyped-def]
            """Ask."""
            return self.voice([{"role": "user", "content": f"AGENT {instruction} {said}"}])


class Proposes:
    def __init__(self, rounds: int = 1) -> None:
        self.rounds = rounds
        self.found: list[Any] = []

    def train(self, problem: Problem) -> None:
        proposer = problem.optimizer()
        lineage = [problem.evaluate(problem.initial)]
        self.found = [proposer.propose(lineage) for _ in range(self.rounds)]


def asking_task() -> TracedTask:
    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=0.0, text=f"you said {output}")

    return TracedTask(Asks, objective="Say it.", guide=guide, splits={"train": (Example(id="a", input="Ada"),)})


def test_a_sampling_model_is_asked_in_the_scored_run_alone() -> None:
    prompts: list[str] = []
    sampled = iter(range(100))

    def answer(prompt: str, _call: int) -> str:
        prompts.append(prompt)
        return f"sample {next(sampled)}" if prompt.startswith("AGENT") else '{"suggestion": {}}'

    trial = run_trial(
        Proposes(3), Toy("asks", asking_task(), STILL, target=1), answer=answer, optimizer=builders.optoprime
    )  # type: ignore[arg-type]
    assert trial.error is None
    asked, shown = [p for p in prompts if p.startswith("AGENT")], [p for p in prompts if not p.startswith("AGENT")]
    assert asked[0] == "AGENT Answer. Ada"
    assert len(shown) == 3
    assert trial.used.llm_calls == 4
    for prompt in shown:
        assert "ID [0]: sample 0" in prompt
        assert "you said sample 0" in prompt
        assert "sample 1" not in prompt


def test_an_unscored_run_that_asks_more_has_no_model() -> None:
    module = asking_task().trace_agent()
    with pytest.raises(Exception, match="no model"):
        module("Ada")


def test_the_greeting_has_names_that_users_know_and_can_be_learnt() -> None:
    host = open_host()
    [known] = resolve_task_ids(host, "trace_examples:opentrace_greeting")
    assert known == "opto:opentrace_greeting"
    task = load_ref(host.task(known).loader, owner=known)()
    names = [p.name for p in task.parameters]
    assert sorted(names) == ["decide", "find", "greet", "which_language", "which_name"]

    def answer(prompt: str, _call: int) -> str:
        code = re.findall(r"(__code\d+):\s*def decide", prompt)[0]
        return json.dumps({"suggestion": {code: SPANISH}})

    trainer = Proposes()
    trial = run_trial(trainer, Toy("greets", task, STILL, target=1), answer=answer, optimizer=builders.optoprime)
    assert trial.error is None, trial.error
    [[proposal]] = trainer.found
    assert "soy" in proposal["decide"]


def test_the_single_node_is_a_traced_task() -> None:
    host = open_host()
    [known] = resolve_task_ids(host, "trace_examples:opentrace_train_single_node")
    task = load_ref(host.task(known).loader, owner=known)()
    assert [(p.name, p.initial, p.kind) for p in task.parameters] == [("value", 0, "number")]
