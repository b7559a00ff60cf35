"""Our problem in opto's clothes: an agent to optimise, a guide that scores, a logger, and an optimizer that keeps types.

Every score goes through `problem.evaluate`, so foreign trainers are metered and archived like any other. All of these return
themselves when they are copied: opto copies them for each example and each candidate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tracebench_core.builtin.intake import Intake
from tracebench_core.builtin.rendering import as_text
from tracebench_core.errors import UsageError
from tracebench_core.protocols import Problem
from tracebench_core.specs import Example, Values
from tracebench_opto.bridge import graph, library
from tracebench_opto.bridge.guard import guarded


class Shared:
    """What does not multiply when it is copied."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def copy(self) -> Self:
        """Return itself."""
        return self


class Bench(Shared):
    """What all adapters of one job share: the problem, the names of the agent's parameters in order, and the current step."""

    def __init__(self, problem: Problem, names: Sequence[str | None]) -> None:
        self.problem = problem
        self.names = tuple(names)
        self.means: dict[str, tuple[Values, list[float]]] = {}
        """By candidate: its values and its scores."""
        self.worst = 0.0
        self._intake = Intake(problem)
        self._examples = {e.id: e for e in (*problem.validation, *problem.train)}
        self._step = contextlib.ExitStack()

    def example(self, id_: str) -> Example:
        """Return an example by id."""
        return self._examples[id_]

    def values(self, nodes: Sequence[Any]) -> Values:
        """Return the values that the agent's parameters hold."""
        held = {name: node._data for name, node in zip(self.names, nodes, strict=True) if name}  # noqa: SLF001 - untraced
        return {p.name: held[p.name] for p in self.problem.parameters}

    def typed(self, nodes: Sequence[Any], written: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the suggested values that may be used, typed, by node."""
        base = self.values(nodes)
        named = [(name, node) for name, node in zip(self.names, nodes, strict=True) if name and node in written]
        values = self._intake.take(base, {name: written[node] for name, node in named}) or base
        return {node: values[name] for name, node in named if values[name] != base[name]}

    def report(self, complaints: Sequence[str]) -> None:
        """Record replies that could not be read."""
        if complaints:
            self._intake.malformed("; ".join(dict.fromkeys(complaints)))

    def next_step(self) -> None:
        """End the current step and begin another: one for each proposal."""
        self.end_step()
        self._step.enter_context(self.problem.step())

    def end_step(self) -> None:
        """End the current step, if there is one."""
        self._step.close()

    def score(self, submission: Submission) -> tuple[float, str, dict[str, float]]:
        """Evaluate a candidate on an example; where it has no score, the worst that was given yet stands in."""
        evaluation = self.problem.evaluate(submission.values, [self.example(submission.example)], origin="discovered")
        if evaluation.score is None:
            return self.worst, evaluation.results[0].feedback.text, {}
        _, scores = self.means.setdefault(evaluation.candidate.id, (evaluation.candidate.values, []))
        scores.append(evaluation.score)
        self.worst = min(self.worst, evaluation.score)
        return evaluation.score, evaluation.results[0].feedback.text, evaluation.metrics


class Submission(Shared):
    """An agent's output: which values are to be evaluated on which example. As text it is what the optimizer may see."""

    def __init__(self, values: Values, example: str, text: str) -> None:
        self.values = values
        self.example = example
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _Program:
    """The agent of an ordinary task: its forward only says what is to be evaluated."""

    bench: Bench

    def forward(self, example_id: str) -> Any:
        """Return a node over all parameters and the example."""
        trace = library.load("opto.trace")
        nodes = self.parameters()  # type: ignore[attr-defined]  # opto's, by mixing in
        example = self.bench.example(example_id)
        shown = trace.node(as_text(example.input), name="example")
        submission = Submission(self.bench.values(nodes), example_id, f"the result on example {example_id}")
        parents = {**{n.name.partition(":")[0]: n for n in nodes}, "example": shown}
        return graph.message(submission, parents, "evaluate", "evaluates the program on an example")

    def __repr__(self) -> str:
        return "the program"


class _Traced:
    """The agent of a traced task: its forward is the module's own, with what is to be evaluated hung on the output."""

    bench: Bench
    inner: Any

    def forward(self, example_id: str) -> Any:
        """Return a node over the module's output; an error inside an operator is such an output."""
        trace = library.load("opto.trace")
        values = self.bench.values(self.parameters())  # type: ignore[attr-defined]
        try:
            out = self.inner(self.bench.example(example_id).input)
        except trace.ExecutionError as err:
            out = err.exception_node
        out = out if isinstance(out, trace.Node) else trace.node(out)
        submission = Submission(values, example_id, as_text(out.data))
        return graph.message(submission, {"output": out}, "answer", "is the program's output")

    def __repr__(self) -> str:
        return "the program"


def build_agent(problem: Problem) -> Any:
    """Return a module of opto whose parameters are the problem's."""
    trace = library.load("opto.trace")
    trace.GRAPH.clear()
    inner = problem.trace_agent()
    if inner is None:
        agent = type("Program", (_Program, trace.Module), {})()
        for i, parameter in enumerate(problem.parameters):
            node = graph.parameter_node(parameter, parameter.initial, code_names=False)
            setattr(agent, f"parameter_{i:04d}", node)
        agent.bench = Bench(problem, [p.name for p in problem.parameters])
        return agent
    agent = type("TracedProgram", (_Traced, trace.Module), {})()
    agent.inner = inner
    by_node = {id(node): name for name, node in graph.module_nodes(inner, problem.parameters).items()}
    agent.bench = Bench(problem, [by_node.get(id(node)) for node in agent.parameters()])
    return agent


class _Typed:
    """Mixed into a guarded optimizer that updates parameters itself: only values of the right type get there."""

    bench: Bench
    parameters: Sequence[Any]
    unreadable: list[str]

    def propose(self, *args: Any, **kwargs: Any) -> Any:
        """Propose, as one step of the job."""
        self.bench.next_step()
        self.unreadable.clear()
        update = super().propose(*args, **kwargs)  # type: ignore[misc]  # opto's, by mixing in
        if not update:
            self.bench.report(self.unreadable)
        return update

    def construct_update_dict(self, suggestion: Mapping[str, Any]) -> dict[Any, Any]:
        """Return typed values by node."""
        written = super().construct_update_dict(suggestion)  # type: ignore[misc]
        return self.bench.typed(self.parameters, written) if written else {}


def typed(optimizer: Any, bench: Bench) -> Any:
    """Return a class like `optimizer`, guarded, whose updates are typed.

    Raises:
        UsageError: for an optimizer that does not suggest values by name.
    """
    if not hasattr(optimizer, "construct_update_dict"):
        raise UsageError(
            f"Discovered trainers update parameters themselves, and `{optimizer.__name__}` treats them all as text.",
            hint="optimizer: OptoPrime",
        )
    return type(optimizer.__name__, (_Typed, guarded(optimizer)), {"__module__": optimizer.__module__, "bench": bench})


class _Scorer(Shared):
    """The guide: whatever a trainer asks it goes through the problem."""

    bench: Bench

    def get_feedback(self, query: Any, response: Any, reference: Any = None, **_: Any) -> tuple[float, str]:
        """Return score and feedback."""
        submission = getattr(response, "data", response)
        if not isinstance(submission, Submission):
            return self.bench.worst, str(submission)
        score, text, _metrics = self.bench.score(submission)
        return score, text

    def get_score_dict(self, query: Any, response: Any, reference: Any = None, **_: Any) -> dict[str, float]:
        """Return the score and all metrics."""
        submission = getattr(response, "data", response)
        if not isinstance(submission, Submission):
            return {"score": self.bench.worst}
        score, _text, metrics = self.bench.score(submission)
        return {"score": score, **metrics}


def build_guide(bench: Bench) -> Any:
    """Return a guide of whatever kind this build of opto knows."""
    module = library.load("opto.trainer.guide")
    base = getattr(module, "Guide", None) or module.AutoGuide
    guide = type("Scorer", (_Scorer, base), {})()
    guide.bench = bench
    return guide


class _Log(Shared):
    """The logger: numbers go into the job's record."""

    bench: Bench

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what loggers are given, and need none of it."""

    def log(self, name: str, data: Any, *_: Any, **__: Any) -> None:
        """Keep a number; opto logs texts too."""
        if isinstance(data, int | float) and not isinstance(data, bool):
            self.bench.problem.log(name, float(data))


def build_logger(bench: Bench) -> Any:
    """Return a logger of whatever kind this build of opto knows."""
    try:
        base = getattr(library.load("opto.trainer.loggers"), "BaseLogger", object)
    except Exception:  # noqa: BLE001 - older builds have no such module
        base = object
    logger = type("Log", (_Log,) if base is object else (_Log, base), {})()
    logger.bench = bench
    return logger
