"""Which trainer cannot serve which task, in words: asked before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.specs import Parameter

Rule = Callable[[Problem], str]
"""A reason; an empty text when the trainer can serve the task."""
DEMONSTRATIONS = frozenset({"demos", "demonstrations", "examples", "few_shot", "shots"})
"""Names under which a list of worked examples is known."""


def needs_text(problem: Problem) -> str:
    """Refuse a task without a parameter whose value is a text: these optimizers rewrite words, not numbers."""
    if any(p.kind in {"text", "code"} for p in problem.parameters):
        return ""
    return "it rewrites texts, and this task has no parameter of kind `text` or `code`"


def needs_instructions(problem: Problem) -> str:
    """Refuse a task without a parameter that is prose: these optimizers append sentences to it."""
    if any(p.kind == "text" for p in problem.parameters):
        return ""
    return "it appends rules to instructions, and this task has no parameter of kind `text`"


def needs_one_code(problem: Problem) -> str:
    """Refuse all but a single piece of code: these libraries evolve one program file."""
    if [p.kind for p in problem.parameters] == ["code"]:
        return ""
    return "it evolves one program, and this task is not a single parameter of kind `code`"


def needs_numbers(problem: Problem) -> str:
    """Refuse a task whose parameters hold no number and no choice to search over."""
    if any(has_leaf(p) for p in problem.parameters):
        return ""
    return "it searches numbers and choices, and this task's parameters hold none"


def needs_demonstrations(problem: Problem) -> str:
    """Refuse a task that takes no worked examples."""
    if any(is_demonstrations(p) for p in problem.parameters):
        return ""
    names = ", ".join(sorted(DEMONSTRATIONS))
    return f"it collects worked examples, and this task has no parameter of kind `json` that holds a list of them (named {names})"


def is_demonstrations(parameter: Parameter) -> bool:
    """Tell whether a parameter holds worked examples."""
    return (
        parameter.kind == "json"
        and isinstance(parameter.initial, list)
        and parameter.name.rpartition(".")[2].casefold() in DEMONSTRATIONS
    )


def has_leaf(parameter: Parameter) -> bool:
    """Tell whether a parameter is, or holds, a number or a choice."""
    return parameter.kind in {"number", "choice"} or (parameter.kind == "json" and _holds_number(parameter.initial))


def _holds_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_number(v) for v in value.values())
    if isinstance(value, list):
        return any(_holds_number(v) for v in value)
    return isinstance(value, int | float) and not isinstance(value, bool)
