"""One proposer for all of Trace's optimizers: build the graph, give feedback, ask, and take in what was suggested."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tracebench_core.contracts import SIDE_BY_SIDE, Problem
from tracebench_core.errors import ModelError
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.asking import Asked, ModelBandit
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.patches import PATCH_FORMAT
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
        self._intake = Intake(problem, patches=settings.patches)
        self._bandit = ModelBandit(problem, settings)
        self._cls = getattr(library.load("opto.optimizers"), recipe.name)
        model = CreatingModel if _only_creates(self._cls) else TraceModel
        self._model = model(problem, max_tokens=settings.max_tokens)

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        """Return up to `n` improvements on the last of `evaluations`, from `n` independent steps of the optimizer.

        Raises:
            BudgetExhausted: when the budget ends.
            ModelError: when the model cannot be asked.
        """
        return self.propose_many([evaluations], n=n)[0]

    def propose_many(
        self,
        lineages: Sequence[Sequence[Evaluation]],
        *,
        n: int = 1,
        most: int = SIDE_BY_SIDE,
        only: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> list[list[Values]]:
        """Return what `propose` would for each lineage: a graph and an optimizer for every proposal, their calls side by side.

        Graphs are built and answers taken in one after another; with `only`, these parameters alone are trainable.

        Raises:
            BudgetExhausted: when the budget ends.
            ModelError: when no proposal could be asked for.
        """
        notes = [*notes, *self._intake.notes()]
        asked = iter(self._bandit.choose(n * len(lineages)))
        steps = [self._prepare(line, notes, only, next(asked)) for line in lineages for _ in range(n)]
        self._problem.side_by_side([partial(_ask, step) for step in steps], most=most)
        if steps and (failed := [s.failure for s in steps if s.failure is not None]) and len(failed) == len(steps):
            raise failed[0]
        return [
            [values for step in steps[i * n : (i + 1) * n] if (values := self._taken(step)) is not None]
            for i in range(len(lineages))
        ]

    def _prepare(
        self, evaluations: Sequence[Evaluation], notes: Sequence[str], only: Sequence[str] | None, asked: Asked
    ) -> Step:
        current = evaluations[-1] if evaluations else None
        base = current.candidate.values if current else self._problem.initial
        seen = self._graph(base, current)
        free = {name: node for name, node in seen.nodes.items() if only is None or name in only}
        optimizer = self.opto([*free.values()], wrap=guarded, asked=asked)
        optimizer.zero_feedback()
        optimizer.backward(seen.output, feedback.batched(current, notes))
        if self._recipe.as_text:
            for node in free.values():
                node._set(_as_text(node.data))  # noqa: SLF001 - opto's own way to set data untraced
        self._remember(optimizer, free, evaluations[:-1])
        return Step(optimizer, free, base, asked)

    def _graph(self, base: Values, current: Evaluation | None) -> graph.Graph:
        traced = graph.traced(self._problem, base, current)
        if traced is not None:
            return traced
        recipe = self._recipe
        purpose = EVALUATES if recipe.instructed else f"{EVALUATES}, with this objective: {self._instruction()}"
        return graph.flat(
            self._problem, base, current, code_names=recipe.code_names, inputs=recipe.inputs, purpose=purpose
        )

    def opto(self, nodes: Sequence[Any], *, wrap: Callable[[Any], Any], asked: Asked | None = None) -> Any:
        """Return the optimizer of opto itself over parameter nodes; `wrap` makes its class fit for use."""
        optimizer = wrap(self._cls)(
            [*nodes],
            llm=self._model.asking(asked or Asked()),
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
        told += [PATCH_FORMAT] if self._settings.patches else []
        return "\n".join([self._problem.objective, *told])

    def _remember(self, optimizer: Any, nodes: Mapping[str, Any], past: Sequence[Evaluation]) -> None:
        size = getattr(self._settings, "memory_size", 0)
        entries = [(_variables(nodes, e.candidate.values), feedback.batched(e)) for e in (past[-size:] if size else ())]
        if hasattr(optimizer, "memory"):
            optimizer.memory = type(optimizer.memory)(size)
            for entry in entries:
                optimizer.memory.add(entry)
        if hasattr(optimizer, "buffer"):
            optimizer.buffer = entries

    def _taken(self, step: Step) -> Values | None:
        values = self._read(step)
        self._bandit.proposed(step.asked, step.base, values)
        return values

    def _read(self, step: Step) -> Values | None:
        if step.failure is not None:
            return None
        written = {name: step.update[node] for name, node in step.nodes.items() if node in step.update}
        if step.optimizer.unreadable and not written:
            self._intake.malformed("; ".join(dict.fromkeys(step.optimizer.unreadable)))
            return None
        return self._intake.take(step.base, written)


@dataclass
class Step:
    """One step of one optimizer, from its preparation to its answer."""

    optimizer: Any
    nodes: Mapping[str, Any]
    base: Values
    asked: Asked
    update: Mapping[Any, Any] = field(default_factory=dict)
    failure: ModelError | None = None


def _ask(step: Step) -> None:
    """Have the optimizer ask its model: all of a step that may run beside others."""
    name = type(step.optimizer).__name__
    try:
        step.update = step.optimizer.propose()
    except ModelFailure as failure:
        step.failure = failure.error
    except Exception as err:
        log.info("%s failed on a reply", name, exc_info=True)
        step.optimizer.unreadable.append(f"it made {name} fail ({type(err).__name__})")


def _variables(nodes: Mapping[str, Any], values: Values) -> dict[str, tuple[Any, Any]]:
    """Return values in the form in which opto remembers them: by node name, each with its constraint."""
    return {
        node.py_name: (graph.canonical(values[name]), getattr(node, "_constraint", None) or node.description)
        for name, node in nodes.items()
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _only_creates(cls: Any) -> bool:
    """Tell whether a class calls `llm.create` without asking whether there is one, by the names that its methods use."""
    names = {name for method in vars(cls).values() if inspect.isfunction(method) for name in method.__code__.co_names}
    return "create" in names and "hasattr" not in names
