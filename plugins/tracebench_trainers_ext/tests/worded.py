"""The conformance kit's trials for other libraries: its teacher answers in their forms, its toys are in words where they read words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from plugins.tracebench_trainers_ext.tests.forms import SECTION, in_form, shown

from tracebench_core.contracts import Context
from tracebench_core.proposing.answer_format import render_values
from tracebench_core.specs import Budget, Example, Parameter, Values
from tracebench_testing import Subject, Teacher, Toy, Trial, run_trial
from tracebench_testing.answering import Answer
from tracebench_testing.trainer_checks import AMPLE

Wording = Literal["", "each", "one"]
"""Numbers as they are, each as a text, or all of them as the lines of one program."""
LINE = re.compile(r"(\w+) = (-?\d+(?:\.\d+)?(?:e-?\d+)?)")
NAMED = re.compile(r"parameter `(\w+)`")


@dataclass(frozen=True, slots=True)
class Foreign(Subject):
    """A trainer of another library under test."""

    wording: Wording = ""

    def on(
        self, toy: Toy, *, answer: Answer | None = None, budget: Budget = AMPLE, seed: int = 0, workers: int = 1
    ) -> Trial:
        """Run one trial, with the toy's teacher behind the library's own forms."""
        initial = {p.name: p.initial for p in toy.task.parameters}
        told = Translated(answer or Teacher(toy.lesson, improves=0.7, harms=0.2, seed=seed), initial)
        worded = in_words(toy, initial, self.wording) if self.wording and not is_code(initial) else toy
        return run_trial(self.build(), worded, answer=told, budget=budget, seed=seed, workers=workers)


@dataclass(frozen=True, slots=True)
class Translated:
    """Shows an answerer the values that a library's prompt shows, and writes what it answers in the library's form."""

    answer: Answer
    initial: Values

    def __call__(self, prompt: str, call: int) -> str:
        """Return the reply; one that holds no values is passed on as it is."""
        text = shown(prompt) or prompt
        values = self._values(prompt, text)
        reply = self.answer(render_values(values), call)
        try:
            better = {n: v for n, v in json.loads(reply)["values"].items() if n in values}
        except (ValueError, TypeError, AttributeError, KeyError):
            return reply
        written = write(values | better, like=text)
        return in_form(prompt, written, written)

    def _values(self, prompt: str, text: str) -> Values:
        if is_code(self.initial):
            code = "".join(line for line in text.splitlines(True) if "EVOLVE-BLOCK-" not in line)
            return dict.fromkeys(self.initial, f"{code.rstrip()}\n")
        found = dict(SECTION.findall(text)) or dict(LINE.findall(text))
        named = [name for name in NAMED.findall(prompt) if name in self.initial] or list(self.initial)
        found = {n: t for n, t in found.items() if n in self.initial} or {named[0]: text}
        return {name: number(part, like=self.initial[name]) for name, part in found.items()}


def is_code(initial: Values) -> bool:
    """Tell whether a toy is a program already."""
    return any(isinstance(value, str) for value in initial.values())


def number(text: str, *, like: Any) -> Any:
    """Return the number that a text is, or `like`."""
    try:
        return float(text)
    except ValueError:
        return like


def write(values: Values, *, like: str) -> str:
    """Write values in the shape of the text that showed them."""
    if SECTION.search(like):
        return "".join(f"### PARAMETER {name}\n{value}\n" for name, value in values.items())
    if LINE.search(like):
        return "\n".join(f"{name} = {value}" for name, value in values.items())
    return str(next(iter(values.values())))


def in_words(toy: Toy, initial: Values, wording: Wording) -> Toy:
    """Return a toy whose numbers stand in texts; a number that its text no longer states is the initial one."""
    lines = {name: f"{name} = {value}" for name, value in initial.items()}
    texts: Mapping[str, str] = lines if wording == "each" else {"program": "\n".join(lines.values()) + "\n"}

    def program(values: Values, example: Example, context: Context) -> Any:
        stated = [pair for text in values.values() for pair in LINE.findall(str(text))]
        said = {name: float(value) for name, value in stated if name in initial}
        return toy.task.program({**initial, **said}, example, context)

    kind: Literal["text", "code"] = "text" if wording == "each" else "code"
    parameters = [Parameter(name=name, initial=text, kind=kind) for name, text in texts.items()]
    return replace(toy, task=replace(toy.task, parameters=parameters, program=program))
