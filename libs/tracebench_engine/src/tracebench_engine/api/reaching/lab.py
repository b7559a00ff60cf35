"""A task whose guide looks about itself, and a trainer that does: what code of suites and in-process trainers reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, ConfigDict

from tracebench_core.contracts import Context, Problem
from tracebench_core.specs import Example, Feedback, Message, Parameter, Split, TaskSpec, Values
from tracebench_engine.api.reaching import looking


class Settings(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(extra="forbid")
    targets: list[Any] = []


class Looking:
    """Say a number."""

    objective = "Say a number."
    parameters = (Parameter(name="number", initial=0.0, kind="number"),)
    splits: Mapping[Split, Sequence[Example]] = {
        split: (Example(id=split, input=0),) for split in ("train", "validation", "test")
    }

    def __init__(self, targets: Sequence[Any]) -> None:
        self._targets = targets

    def run(self, values: Values, example: Example, context: Context) -> float:
        """Return the number."""
        return float(str(values["number"]))

    def guide(self, example: Example, output: float, context: Context) -> Feedback:
        """Score it, after a look about where it is scored."""
        if example.id == "test" and self._targets:
            looking.tell(looking.look(self._targets))
        return Feedback(score=output)


def build(targets: Sequence[Any] = ()) -> Looking:
    """Return the task."""
    return Looking(targets)


task = TaskSpec(name="looking", loader=f"{__name__}:build", title="Look about", options=f"{__name__}:Settings")


class Looker:
    """Looks about, spends what it may, and finds nothing better."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Look, spend, tell."""
        found = looking.look(self.settings.targets)

        def told() -> Mapping[str, Any]:
            return {"caps": problem.budget.caps.model_dump(), "used": problem.budget.used().model_dump()}

        door = SimpleNamespace(budget=told)
        ask = [Message(role="user", content="?")]
        found["spend model calls"] = looking.spend_metered(door, "llm_calls", lambda: problem.complete(ask))
        found["spend evaluations"] = looking.spend_metered(
            door, "evaluations", lambda: problem.evaluate(problem.initial)
        )
        looking.tell(found)
