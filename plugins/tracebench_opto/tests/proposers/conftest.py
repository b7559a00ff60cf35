"""A job's problem with scripted replies, for proposers; and one traced toy task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tracebench_core.contracts import Context, Optimizer, Problem
from tracebench_core.specs import Budget, Example, Feedback, Parameter, Values
from tracebench_core.specs.events import MetricLogged
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.teacher import Lesson

Build = Callable[[Problem], Optimizer]

PARAMETERS = (
    Parameter(name="heat.x", initial=0.5, kind="number", description="How warm.", minimum=0, maximum=1),
    Parameter(name="prompt", initial="Answer.", max_length=60),
    Parameter(
        name="f", initial="def f(x):\n    return x", kind="code", signature="def f(x):", description="Maps x to y."
    ),
    Parameter(name="strict", initial=True, kind="choice", choices=(True, False)),
    Parameter(name="layout", initial={"b": 1, "a": [1, 2]}, kind="json"),
)


@dataclass
class Run:
    """What a proposer did in one job."""

    proposals: list[list[Values]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    trial: Trial | None = None

    @property
    def metrics(self) -> dict[str, float]:
        assert self.trial is not None
        return {e.name: e.value for e in self.trial.events if isinstance(e, MetricLogged)}

    @property
    def calls(self) -> int:
        assert self.trial is not None
        return self.trial.used.llm_calls

    @property
    def error(self) -> BaseException | None:
        assert self.trial is not None
        return self.trial.error


class _Plays:
    def __init__(self, play: Callable[[Problem], None]) -> None:
        self.train = play


def simple_task(parameters: Sequence[Parameter] = PARAMETERS) -> SimpleTask:
    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=-float(example.input), text=f"feedback on {example.id}")

    examples = tuple(Example(id=f"train-{i}", input=i) for i in range(2))
    return SimpleTask(tuple(parameters), "Make it good.", lambda *_: None, guide, {"train": examples})


def propose(
    build: Build,
    *replies: str | BaseException,
    task: Any = None,
    rounds: int = 1,
    n: int = 1,
    budget: Budget | None = None,
) -> Run:
    """Propose `rounds` times on one lineage; the last reply is given again and again."""
    run = Run()

    def answer(prompt: str, call: int) -> str:
        run.prompts.append(prompt)
        reply = replies[min(call, len(replies) - 1)]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def play(problem: Problem) -> None:
        optimizer = build(problem)
        lineage = [problem.evaluate(problem.initial)]
        for _ in range(rounds):
            run.proposals.append(optimizer.propose(lineage, n=n))
            if run.proposals[-1]:
                lineage.append(problem.evaluate(run.proposals[-1][0]))

    toy = Toy("toy", task or simple_task(), Lesson(lambda v, _: v, lambda v, _: v), target=0)
    run.trial = run_trial(_Plays(play), toy, answer=answer, budget=budget)
    return run


@pytest.fixture(name="propose")
def propose_fixture() -> Callable[..., Run]:
    return propose


@pytest.fixture(name="simple_task")
def simple_task_fixture() -> Callable[..., SimpleTask]:
    return simple_task
