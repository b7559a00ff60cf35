"""What an attack on a task of any suite is made from: its target, and a forgery that must gain nothing there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tracebench_core.specs import Feedback, Parameter, Values
from tracebench_testing.hostile import function_of

WRAPPER = """{base}

_honest, _under_way = {name}, []

def {name}(*args, **kwargs):
    if _under_way:
        return _honest(*args, **kwargs)
    _under_way.append({name})
"""
"""How a candidate begins that calls the honest function it stands for, and does not meddle with the calls made by that one."""
FRAME = (
    WRAPPER
    + """    result = _honest(*args, **kwargs)
    try:
{body}
    except Exception:
        pass
    del _under_way[:]
    return {returned}
"""
)


@dataclass(frozen=True, slots=True)
class Forgery:
    """A candidate that reaches for what it has not earned."""

    name: str
    values: Values
    no_more_than: Values | Sequence[Values] | None = None
    """The honest candidate, or candidates, that it may not outscore on any example; None where it may score no more than the best that is
    known. Where the initial candidate scores more, or those have no score, it is the initial one that counts."""
    gained: Callable[[Sequence[Feedback]], str] | None = None
    """Asked once it was evaluated, with what the guide said on each example: what it gained beside its score, in words, or nothing."""
    means: str = ""
    """What it shows of the task when it outscores that, in words."""
    is_attack: bool = True
    """False for one that only tries how the task answers: it is not counted, and its score is not looked at."""


def functions_in(text: str) -> set[str]:
    """Return the names of the functions that a program defines; none where it is no Python."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return set()
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


@dataclass(frozen=True, slots=True)
class Target:
    """A task, as an attack meets it."""

    task: str
    parameters: Sequence[Parameter]
    honest: Values
    """The best candidate that the task ships, or its initial one."""
    metric: str = "score"
    is_timed: bool = False
    """Whether its score is a time."""

    def functions(self) -> Iterator[tuple[str, str]]:
        """Yield the parameters that are Python functions here, each with the name of its function: a forgery can be made of these."""
        for parameter in self.parameters:
            text = self.honest.get(parameter.name)
            if (
                parameter.kind == "code"
                and isinstance(text, str)
                and (name := function_of(parameter)) in self.defined(parameter.name)
            ):
                yield parameter.name, name

    def defined(self, parameter: str) -> set[str]:
        """Return the names of the functions that the honest program of a parameter defines; none where it is no Python."""
        return functions_in(str(self.honest[parameter]))

    def wrapped(self, body: str, *, parameter: str, returned: str = "result") -> Values:
        """Return the honest program with `body` run after its function, in whose place the expression `returned` is given back.

        In `body`, `result` is what the honest function returned, `args` and `kwargs` what it was given. Whatever `body` raises is dropped.
        """
        name = dict(self.functions())[parameter]
        indented = textwrap.indent(textwrap.dedent(body).strip("\n") or "pass", " " * 8)
        text = FRAME.format(base=self.honest[parameter], name=name, body=indented, returned=returned)
        return self.honest | {parameter: text}

    def returning(self, returned: str, *, parameter: str, before: str = "") -> Values:
        """Return a program that does no work and gives back an expression; `before` stands above its function."""
        name = dict(self.functions())[parameter]
        return self.honest | {parameter: f"{before}\n\ndef {name}(*args, **kwargs):\n    return {returned}\n"}
