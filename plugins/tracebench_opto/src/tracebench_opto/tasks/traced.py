"""A task whose program is a module of opto: what is scored and what a proposer's graph shows are one and the same run.

A model that the module asks is asked in the scored run alone. When the graph is built, by another forward pass on the same candidate and
example, the module hears the replies of the scored run again, in order, so that outputs and feedback belong together and nothing is
paid twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context, Guide
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Example, Message, Parameter, Split, Values
from tracebench_opto.bridge import graph, library

Key = tuple[bytes, str]
"""Candidate values and example id."""


class Voice:
    """How a traced module asks a model: `self.model(messages)`, a text for a list of messages."""

    def __init__(self) -> None:
        self._ask: Callable[[Sequence[Message]], str] | None = None

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the model's reply.

        Raises:
            LookupError: when the graph's run asks more than the scored run did.
        """
        if self._ask is None:
            raise LookupError("this run of the module has no model: the scored run asked less")
        return self._ask(messages)

    def speak(self, ask: Callable[[Sequence[Message]], str] | None) -> None:
        """Have `ask` answer from now on; None for nobody."""
        self._ask = ask


class TracedTask:
    """A `Task` from a module class of opto. The module is built anew for every run; its trainable nodes are the parameters.

    Args:
        build: returns the module; where it takes a `Voice`, that is how it asks a model.
        objective: what a proposer is told.
        guide: scores the output's data.
        splits: the examples; `input` is what the module is called with.
    """

    def __init__(
        self, build: Callable[[Voice], Any], *, objective: str, guide: Guide, splits: Mapping[Split, Sequence[Example]]
    ) -> None:
        self._build = build
        self._heard: dict[Key, list[str]] = {}
        self.objective = objective
        self.guide = guide
        self.splits = splits
        self.parameters: Sequence[Parameter] = [
            _parameter(name, node) for name, node in graph.trainable_nodes(build(Voice())).items()
        ]

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Run the module forward and return its output's data; what a traced operator raises passes through."""
        voice, heard = Voice(), list[str]()

        def ask(messages: Sequence[Message]) -> str:
            heard.append(context.complete(messages)[0].text)
            return heard[-1]

        voice.speak(ask)
        module = self._build(voice)
        for name, node in graph.trainable_nodes(module).items():
            node._set(values[name])  # noqa: SLF001 - opto's own way to set data untraced
        out = module(example.input)
        if heard:
            self._heard[canonical_json(values), example.id] = heard
        return out.data if isinstance(out, library.load("opto.trace").Node) else out

    def trace_agent(self) -> Any:
        """Return a fresh module; its `recall(values, example)` comes before each forward pass that nobody scores."""
        voice = Voice()
        module = self._build(voice)

        def recall(values: Values, example: Example) -> None:
            replies = iter(self._heard.get((canonical_json(values), example.id), ()))
            voice.speak(lambda _messages: next(replies, None) or _unheard())

        module.recall = recall
        return module


def _unheard() -> str:
    raise LookupError("this run of the module asks more than the scored run did")


def _parameter(name: str, node: Any) -> Parameter:
    value = node.data
    code = "__code" in node.name
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind: Any = "code" if code else "number" if number else "text" if isinstance(value, str) else "json"
    return Parameter(name=name, initial=value, kind=kind, description="" if code else str(node.description or ""))
