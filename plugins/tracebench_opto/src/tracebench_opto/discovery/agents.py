"""Our problem as what opto optimises: a module whose parameters are the problem's."""

from __future__ import annotations

from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.proposing.rendering import as_text
from tracebench_opto.bridge import graph, library
from tracebench_opto.discovery.bench import Bench, Submission
from tracebench_opto.discovery.hashable import hashable


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
        parents = graph.parents_of(nodes, {"example": shown})
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
            node._set(hashable(node.data))  # noqa: SLF001 - opto's own way to set data untraced
            setattr(agent, f"parameter_{i:04d}", node)
        agent.bench = Bench(problem, [p.name for p in problem.parameters])
        return agent
    agent = type("TracedProgram", (_Traced, trace.Module), {})()
    agent.inner = inner
    for node in inner.parameters():
        node._set(hashable(node.data))  # noqa: SLF001 - as above
    by_node = {id(node): name for name, node in graph.module_nodes(inner, problem.parameters).items()}
    agent.bench = Bench(problem, [by_node.get(id(node)) for node in agent.parameters()])
    return agent
