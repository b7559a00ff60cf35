"""One proposer for all of Trace's optimizers: build the graph, give feedback, ask, and take in what was suggested."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.builtin.intake import Intake
from tracebench_core.contracts import Problem
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Evaluation, Values
from tracebench_opto.bridge import feedback, graph, library
from tracebench_opto.bridge.guard import guarded
from tracebench_opto.bridge.model import CreatingModel, ModelFailure, TraceModel
from tracebench_opto.proposers.settings import TraceSettings, constructor_arguments

log = logging.getLogger(__name__)

EVALUATES = "evaluates the program on a batch of examples"


@dataclass(frozen=True)
class Recipe:
    """How one class of opto wants to be used."""

    name: str
    """In `opto.optimizers`."""
    code_names: bool = False
    """It knows code by the node's name, and then shows it as code."""
    inputs: bool = True
    """The batch's inputs are shown as a node of their own."""
    as_text: bool = False
    """It handles every value as text."""
    instructed: bool = True
    """It shows an instruction; where it does not, the graph says what the program is for."""
    describes: bool = True
    """Its prompt shows what the parameters mean; where it does not, the instruction says it."""


class TraceProposer:
    """Builds a fresh optimizer over a fresh graph for every proposal, so that nothing of one leaks into the next.

    Memory is the lineage itself: the last `memory_size` evaluations before the current one are put into the optimizer's own memory.
    """

    def __init__(self, problem: Problem, recipe: Recipe, settings: TraceSettings) -> None:
        self._problem = problem
        self._recipe = recipe
        self._settings = settings
        self._intake = Intake(problem)
        self._cls = getattr(library.load("opto.optimizers"), recipe.name)
        model = CreatingModel if _only_creates(self._cls) else TraceModel
        self._model = model(problem, max_tokens=settings.max_tokens)

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        """Return up to `n` improvements on the last of `evaluations`, from `n` independent steps of the optimizer.

        Raises:
            BudgetExhausted: when the budget ends.
            ModelError: when the model cannot be asked.
        """
        current = evaluations[-1] if evaluations else None
        base = current.candidate.values if current else self._problem.initial
        seen = self._graph(base, current)
        optimizer = self.opto([*seen.nodes.values()], wrap=guarded)
        optimizer.zero_feedback()
        optimizer.backward(seen.output, feedback.batched(current, self._intake.notes()))
        if self._recipe.as_text:
            for node in seen.nodes.values():
                node._set(_as_text(node.data))  # noqa: SLF001 - opto's own way to set data untraced
        proposals = []
        for _ in range(n):
            self._remember(optimizer, seen, evaluations[:-1])
            values = self._step(optimizer, seen, base)
            proposals += [values] if values is not None else []
        return proposals

    def _graph(self, base: Values, current: Evaluation | None) -> graph.Graph:
        traced = graph.traced(self._problem, base, current)
        if traced is not None:
            return traced
        recipe = self._recipe
        purpose = EVALUATES if recipe.instructed else f"{EVALUATES}, with this objective: {self._problem.objective}"
        return graph.flat(
            self._problem, base, current, code_names=recipe.code_names, inputs=recipe.inputs, purpose=purpose
        )

    def opto(self, nodes: Sequence[Any], *, wrap: Callable[[Any], Any]) -> Any:
        """Return the optimizer of opto itself over parameter nodes; `wrap` makes its class fit for use."""
        optimizer = wrap(self._cls)(
            [*nodes],
            llm=self._model,
            log=False,
            **constructor_arguments(self._settings),
        )
        if (span := getattr(self._settings, "temperature_range", None)) is not None:
            optimizer.temperature_range = [*span]
        if hasattr(optimizer, "objective"):
            optimizer.objective = self._settings.objective or f"{optimizer.objective}\n\n{self._instruction()}"
        return optimizer

    def _instruction(self) -> str:
        """Return the objective, and what the optimizer's own prompt leaves out of the parameters."""
        told = [f"- {p.name}: {p.description}" for p in self._problem.parameters if p.signature and p.description]
        if not self._recipe.describes:
            told = [f"- {p.name}: {graph.constraint(p)}" for p in self._problem.parameters] + told
        return "\n".join([self._problem.objective, *told])

    def _remember(self, optimizer: Any, seen: graph.Graph, past: Sequence[Evaluation]) -> None:
        size = getattr(self._settings, "memory_size", 0)
        entries = [(_variables(seen, e.candidate.values), feedback.batched(e)) for e in (past[-size:] if size else ())]
        if hasattr(optimizer, "memory"):
            optimizer.memory = type(optimizer.memory)(size)
            for entry in entries:
                optimizer.memory.add(entry)
        if hasattr(optimizer, "buffer"):
            optimizer.buffer = entries

    def _step(self, optimizer: Any, seen: graph.Graph, base: Values) -> Values | None:
        optimizer.unreadable.clear()
        try:
            update = optimizer.propose()
        except ModelFailure as failure:
            raise failure.error from failure
        except Exception as err:
            log.info("%s failed on a reply", self._recipe.name, exc_info=True)
            optimizer.unreadable.append(f"it made {self._recipe.name} fail ({type(err).__name__})")
            update = {}
        written = {name: update[node] for name, node in seen.nodes.items() if node in update}
        if optimizer.unreadable and not written:
            self._intake.malformed("; ".join(dict.fromkeys(optimizer.unreadable)))
            return None
        return self._intake.take(base, written)


def _variables(seen: graph.Graph, values: Values) -> dict[str, tuple[Any, Any]]:
    """Return values in the form in which opto remembers them: by node name, each with its constraint."""
    return {
        node.py_name: (graph.canonical(values[name]), getattr(node, "_constraint", None) or node.description)
        for name, node in seen.nodes.items()
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _only_creates(cls: Any) -> bool:
    """Tell whether a class calls `llm.create` without asking whether there is one, by the names that its methods use."""
    names = {name for method in vars(cls).values() if inspect.isfunction(method) for name in method.__code__.co_names}
    return "create" in names and "hasattr" not in names
