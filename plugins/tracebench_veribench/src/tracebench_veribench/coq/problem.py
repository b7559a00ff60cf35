"""One Coq problem, as its YAML file says it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from tracebench_veribench.coq.catalog import ENTRIES, Grade

Category = Literal["lists", "arithmetic", "sorting", "search", "trees", "languages", "security"]
_GRADES: Mapping[str, Grade] = {entry.name: entry.grade for entry in ENTRIES}


class CoqProblem(BaseModel):
    """A Python program, the theorems that its translation must prove, and what stays hidden: tests and gold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    category: Category
    grade: Grade
    description: str
    program: str
    given: str = ""
    """Trusted definitions that the file imports by `Require Import Given.`"""
    functions: dict[str, str] = Field(min_length=1)
    """Name to Coq type."""
    theorems: dict[str, str] = Field(min_length=1)
    """Name to statement, in terms of the functions, `Given` and the standard library."""
    tests: tuple[str, ...] = Field(min_length=1)
    """Hidden: Boolean Coq terms that must compute to `true`."""
    gold: str
    """Hidden: a file that passes every stage."""

    def prompt(self) -> str:
        """Return what the model is told of the problem; nothing hidden is in it."""
        functions = "\n".join(f"  {name} : {kind}" for name, kind in self.functions.items())
        theorems = "\n".join(f"  Theorem {name} : {statement}." for name, statement in self.theorems.items())
        given = (
            f"These definitions are given; start with `Require Import Given.`:\n```coq\n{self.given}```\n"
            if self.given
            else ""
        )
        return (
            f"# {self.title}\n\n{self.description}\n\nPython program:\n```python\n{self.program}```\n{given}"
            f"Define these functions:\n{functions}\n\nState and prove these theorems, word for word:\n{theorems}\n"
        )

    def skeleton(self) -> str:
        """Return a file to start from: it names what is wanted and proves nothing."""
        head = "From Coq Require Import List Arith Lia.\nImport ListNotations.\n" + (
            "Require Import Given.\n" if self.given else ""
        )
        wanted = [f"(* Define {name} : {kind} *)" for name, kind in self.functions.items()]
        wanted += [f"(* Prove {name} : {statement} *)" for name, statement in self.theorems.items()]
        return head + "\n" + "\n".join(wanted) + "\n"


@cache
def load_problem(name: str) -> CoqProblem:
    """Read a problem that ships with the package.

    Raises:
        KeyError: when there is none of that name.
    """
    grade = _GRADES[name]
    place = files("tracebench_veribench.coq").joinpath("problems", f"grade{grade}", f"{name}.yaml")
    return CoqProblem(name=name, grade=grade, **yaml.safe_load(place.read_text(encoding="utf-8")))
