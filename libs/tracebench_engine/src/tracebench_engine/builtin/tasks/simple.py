"""A task made of its parts, for programs that are one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.contracts import Context, Guide
from tracebench_core.specs import Example, Parameter, Split, Values

Program = Callable[[Values, Example, Context], Any]


@dataclass(frozen=True)
class SimpleTask:
    """A `Task` from parameters, a program, examples and a guide."""

    parameters: Sequence[Parameter]
    objective: str
    program: Program
    guide: Guide
    splits: Mapping[Split, Sequence[Example]] = field(default_factory=lambda: {"train": (Example(id="train-0"),)})

    @property
    def run(self) -> Program:
        """The program."""
        return self.program
