"""Guards mixed into opto's optimizers, so that no part of a reply is lost or bent on its way to us.

opto converts suggested values by calling the old value's type (which makes `"False"` true and fails on null) and sends every text with
"def" in it through a formatter that drops what is no Python. Here the optimizer hands back what the model wrote; `Intake` types it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from tracebench_core.proposing.replies import UnreadableReply, read_reply
from tracebench_core.specs import Parameter
from tracebench_opto.bridge.model import ESCAPED, restored

SECTIONS = ("roots", "variables", "inputs", "others", "output", "documentation")


class _Guard:
    """What both kinds of optimizer need: a graph whose order does not depend on memory addresses."""

    parameters: list[Any]
    unreadable: list[str]
    """Why replies could not be read, in order; emptied by whoever asks for the next proposal."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.unreadable = []
        with _only_model(type(self), kwargs.get("llm")):
            super().__init__(*args, **kwargs)

    @property
    def trace_graph(self) -> Any:
        """Order nodes of one level by name."""
        graph = super().trace_graph  # type: ignore[misc]  # opto's, by mixing in
        graph.graph = sorted(graph.graph, key=lambda pair: (pair[0], _natural(pair[1].py_name)))
        return graph


class _GraphGuard(_Guard):
    """For optimizers that suggest values by node name (OptoPrime and what derives from it)."""

    def summarize(self) -> Any:
        """Show parameters in their order and everything else by name."""
        summary = super().summarize()  # type: ignore[misc]
        rank = {p.py_name: i for i, p in enumerate(self.parameters)}
        for section in SECTIONS:
            if isinstance(entries := getattr(summary, section, None), dict):
                order = sorted(entries, key=lambda name: (rank.get(name, len(rank)), _natural(name)))
                setattr(summary, section, {name: entries[name] for name in order})
        return summary

    def extract_llm_suggestion(self, response: Any) -> dict[str, Any]:
        """Return what the model suggests by node name; nothing, and a note, when the reply cannot be read."""
        text = response if isinstance(response, str) else ""
        suggestion: dict[str, Any] = {}
        if text.strip(" \n`.'\"") != ESCAPED:
            try:
                suggestion = read_reply(text, [_as_parameter(p) for p in self.parameters])
            except UnreadableReply as err:
                self.unreadable.append(str(err))
        wrapped = hasattr(self, "optimizer_prompt_symbol_set")
        return {"reasoning": "", "variables": suggestion} if wrapped else suggestion

    def construct_update_dict(self, suggestion: Mapping[str, Any]) -> dict[Any, Any]:
        """Return what was written for each node, as it was written."""
        nodes = {p.py_name: p for p in self.parameters}
        for name in suggestion:
            if name not in nodes:
                self.unreadable.append(f"there is no variable `{name}`")
        return {nodes[name]: restored(value) for name, value in suggestion.items() if name in nodes}


class _TextGuard(_Guard):
    """For TextGrad, whose versions unwrap a model's response in ways that differ or fail."""

    llm: Any
    new_variable_tags: list[str]

    def call_llm(self, system_prompt: str, user_prompt: str, *args: Any, **kwargs: Any) -> str:
        """Return the reply's text; note a reply that should hold a value and does not."""
        messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}]
        text = str(restored(self.llm(messages=messages).choices[0].message.content))
        start, end = self.new_variable_tags
        if f"{start}{{" in user_prompt and not re.search(f"{re.escape(start)}.*{re.escape(end)}", text, re.DOTALL):
            self.unreadable.append(f"the reply held nothing between {start} and {end}")
        return text


@cache
def guarded(optimizer: Any) -> Any:
    """Return a subclass of an optimizer class of opto that keeps its name and adds the guards."""
    mixin = _GraphGuard if hasattr(optimizer, "construct_update_dict") else _TextGuard
    return type(optimizer.__name__, (mixin, optimizer), {"__module__": optimizer.__module__})


@contextmanager
def _only_model(optimizer: type, model: Any) -> Iterator[None]:
    """While an optimizer is built, have `LLM` in the modules of its classes mean `model`.

    Newer ones build opto's default model first, only to drop it for the one that they were given: seconds of importing model libraries.
    """
    modules = {sys.modules[c.__module__] for c in optimizer.__mro__ if hasattr(sys.modules[c.__module__], "LLM")}
    kept = {module: module.LLM for module in modules if model is not None}
    for module in kept:
        module.LLM = lambda *_, **__: model  # type: ignore[attr-defined]  # hasattr said so
    try:
        yield
    finally:
        for module, default in kept.items():
            module.LLM = default  # type: ignore[attr-defined]


def _as_parameter(node: Any) -> Parameter:
    code = "__code" in node.py_name
    return Parameter(name=node.py_name, initial="", kind="code" if code else "text")


def _natural(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in _pieces(name)]


def _pieces(name: str) -> Iterable[str]:
    return re.split(r"(\d+)", name)
