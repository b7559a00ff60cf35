"""The graph that an optimizer of opto sees: flat for ordinary tasks, the module's own for traced ones."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.errors import PluginError
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_core.specs import Evaluation, Example, Parameter, Values
from tracebench_opto.bridge import library

CODE_STARTS = "The code should start with:\n"
"""The words by which opto knows a code parameter's signature."""
SHOWN = 2000
"""Characters of one example's input or output that are shown."""


@dataclass(frozen=True)
class Graph:
    """Parameter nodes by parameter name, and the node that feedback goes to."""

    nodes: dict[str, Any]
    output: Any


def flat(
    problem: Problem, values: Values, evaluation: Evaluation | None, *, code_names: bool, inputs: bool, purpose: str
) -> Graph:
    """Return `output = evaluate(parameters…, examples)` with the batch's scores as the output.

    `code_names`: code is known to the optimizer by its node's name. `inputs`: the batch's inputs are a node too. `purpose`: what
    the operator is said to do.
    """
    trace = library.load("opto.trace")
    trace.GRAPH.clear()
    nodes = {p.name: parameter_node(p, values[p.name], code_names=code_names) for p in problem.parameters}
    further = {}
    if inputs and evaluation is not None:
        further["examples"] = trace.node(
            _batch([cut(as_text(e.input), SHOWN) for e in examples_of(problem, evaluation)]), name="examples"
        )
    return Graph(nodes, message(_scores(evaluation), parents_of(nodes.values(), further), "evaluate", purpose))


def parents_of(nodes: Iterable[Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters' nodes by their short names, and further nodes after them; none takes the place of another."""
    parents: dict[str, Any] = {}
    for short, node in [*((node.name.partition(":")[0], node) for node in nodes), *further.items()]:
        name = short
        while name in parents:
            name += "_"
        parents[name] = node
    return parents


def traced(problem: Problem, values: Values, evaluation: Evaluation | None) -> Graph | None:
    """Return the graph of the task's own module, run forward on the evaluated examples under `values`; None where there is none.

    Nothing is scored again, so no evaluation is charged. A module with `recall(values, example)` is told before each pass what it is
    about, to repeat what it heard in the scored run; models that any other module calls are asked again, and charged.
    None also when no example gets through a traced operator, so that no parameter would hear the feedback.
    """
    trace = library.load("opto.trace")
    trace.GRAPH.clear()
    module = problem.trace_agent()
    if module is None or evaluation is None:
        return None
    nodes = module_nodes(module, problem.parameters)
    for name, node in nodes.items():
        node._set(values[name])  # noqa: SLF001 - opto's own way to set data untraced
    outputs = [out for e in examples_of(problem, evaluation) if (out := _forward(trace, module, e, values)) is not None]
    heard = {id(p) for out in outputs for p in out.parameter_dependencies}
    if not any(id(node) in heard for node in nodes.values()):
        return None
    parents = {f"args_{i}": out for i, out in enumerate(outputs)}
    text = _batch([cut(as_text(out.data), SHOWN) for out in outputs])
    return Graph(nodes, message(text, parents, "batchify", "joins the outputs of a batch of examples"))


def module_nodes(module: Any, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the trainable node of each parameter, found by its attribute path.

    Raises:
        PluginError: when a parameter has no node; the task breaks its contract.
    """
    known = trainable_nodes(module)
    if missing := [p.name for p in parameters if p.name not in known]:
        raise PluginError(
            f"The traced module has no trainable node at `{missing[0]}`, only at {', '.join(f'`{k}`' for k in known)}."
        )
    return {p.name: known[p.name] for p in parameters}


def examples_of(problem: Problem, evaluation: Evaluation) -> list[Example]:
    """Return the examples that an evaluation is about, in its order."""
    known = {e.id: e for e in (*problem.validation, *problem.train)}
    return [known[r.example] for r in evaluation.results if r.example in known]


def canonical(value: Any) -> Any:
    """Return a JSON value with the keys of its objects in order."""
    return json.loads(canonical_json(value))


def constraint(parameter: Parameter) -> str:
    """Say in words what a value must be."""
    if parameter.signature:
        return CODE_STARTS + parameter.signature
    words = [parameter.description.rstrip(".")] if parameter.description else []
    words += [f"at least {parameter.minimum:g}"] if parameter.minimum is not None else []
    words += [f"at most {parameter.maximum:g}"] if parameter.maximum is not None else []
    words += [f"one of {json.dumps(parameter.choices)}"] if parameter.choices else []
    words += [f"at most {parameter.max_length} characters"] if parameter.max_length else []
    return "; ".join(words) or f"a value of kind {parameter.kind}"


def parameter_node(parameter: Parameter, value: Any, *, code_names: bool) -> Any:
    """Return a trainable node that says what its value must be; see `flat` for `code_names`."""
    trace = library.load("opto.trace")
    name = re.sub(r"\W", "_", parameter.name)
    if code_names and parameter.kind == "code":
        name += "__code"
    kwargs = {"description": _role(parameter), "constraint": constraint(parameter)}
    if "constraint" not in inspect.signature(trace.node).parameters:
        kwargs = {"description": constraint(parameter)}
    return trace.node(canonical(value), name=name, trainable=True, **kwargs)


def _role(parameter: Parameter) -> str:
    words = parameter.description or f"the {parameter.kind} `{parameter.name}`"
    return f"[{parameter.kind}] {words.translate(str.maketrans('[]', '()'))}"


def message(value: Any, parents: Mapping[str, Any], operator: str, does: str) -> Any:
    """Return the node of an operator's output; `does` completes the sentence "This operator …"."""
    nodes = library.load("opto.trace.nodes")
    return nodes.MessageNode(
        value,
        inputs=dict(parents),
        name=operator,
        description=f"[{operator}] This operator {does}.",
        info={"fun_name": operator},
    )


def _forward(trace: Any, module: Any, example: Example, values: Values) -> Any:
    """Return the output node, or the node of the error that a traced operator raised, or None."""
    if callable(recall := getattr(module, "recall", None)):
        recall(values, example)
    try:
        out = module(example.input)
    except trace.ExecutionError as err:
        return err.exception_node
    except Exception:  # noqa: BLE001 - candidate code may raise anything outside traced operators; the feedback tells of it
        return None
    return out if isinstance(out, trace.Node) else None


def trainable_nodes(container: Any, prefix: str = "") -> dict[str, Any]:
    """Return the trainable nodes of a module and of the modules in it, by attribute path."""
    found: dict[str, Any] = {}
    for name, part in container.parameters_dict().items():
        if hasattr(part, "parameters_dict") and not hasattr(part, "data"):
            found.update(trainable_nodes(part, f"{prefix}{name}."))
        elif part.trainable:
            found[f"{prefix}{name}"] = part
    return found


def _scores(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "not evaluated yet"
    verdicts = [
        f"score {score_text(r.feedback.score)}" if r.feedback.status == "ok" else r.feedback.status
        for r in evaluation.results
    ]
    return _batch(verdicts)


def _batch(items: Sequence[str]) -> str:
    return "\n".join(f"ID [{i}]: {item}" for i, item in enumerate(items))
