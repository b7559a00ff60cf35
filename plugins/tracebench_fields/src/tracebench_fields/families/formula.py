"""`formula`: an expression of x, y and z whose text breaks easily, graded by how near it comes to the right results."""

from __future__ import annotations

import ast
import random
import re
from functools import lru_cache
from statistics import fmean
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.expressions import BadExpressionError, meaning, tree, value
from tracebench_fields.families.steps import better, worse
from tracebench_fields.field import Case, Family, Field, Size

NAMES = ("x", "y", "z")
HIGHEST = 12
"""Inputs are whole numbers from 0 to this."""
TERMS = (
    "x", "y", "z", "x * y", "y * z", "abs(x - y)", "abs(y - z)", "max(x, z)", "min(y, z)", "min(x, y)", "x % 3", "y % 4", "z // 2",
    "x // 3", "max(y, 5)", "min(z, 6)",
)  # fmt: skip
CORNERS = ("max(0, x - 6)", "max(0, y - 6)", "max(0, z - 6)")
"""One of them is in each formula: nothing on half of the inputs."""
ONE = "1"
"""The term of the constant."""
COUNTS: dict[Size, int] = {"small": 2, "medium": 4, "large": 6}
"""Terms besides the constant, the corner among them."""
BREAKS = 0.3
"""Share of the harms that break the text."""
UNIT = 0.2
"""The error that halves a grade, as a share of the initial formula's mean error."""
PROBES = 80
"""Inputs on which a step is tried."""
LONGEST = 400

Sum = dict[str, int]
"""The factor of each term."""
Given = dict[str, int]


class Formula(Field):
    """One text, a sum of terms. A grade is 1 where the result is right, and a half where it is off by the field's unit."""

    objective = (
        f"Write the expression of x, y and z (whole numbers from 0 to {HIGHEST}) that comes nearest to the right results. It may use whole "
        "numbers, + - * / // %, brackets, abs, min and max."
    )

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._corner = rng.choice(CORNERS)
        terms = [*rng.sample(TERMS, COUNTS[size] - 1), self._corner]
        self._best: Sum = {t: rng.choice((-1, 1)) * rng.randint(2, 4 if "*" in t else 9) for t in terms}
        self._best |= {self._corner: rng.choice((-1, 1)) * rng.randint(6, 9), ONE: rng.randint(1, 20)}
        self._narrow = deception
        self._probes = [_inputs(rng) for _ in range(PROBES)]
        self.optimum = {"formula": write(self._best)}
        self._right = [self._result(given) for given in self._probes]
        kept = rng.choice(terms[:-1])
        start = {kept: -self._best[kept], ONE: rng.randint(1, 20)}
        self._unit = UNIT * fmean(self._errors(start))
        self.parameters = (Parameter(name="formula", initial=write(start), kind="code", max_length=LONGEST),)

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw numbers; in train and validation, a share of them where the field deceives leaves the corner out of sight."""
        given = _inputs(rng)
        if split != "test" and rng.random() < self._narrow:
            while self._sees_corner(given):
                given = _inputs(rng)
        return Case(given, self._result(given))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Compute the formula; it is read here, and nothing of it is executed.

        Raises:
            EvaluationFailed: it is none, or has no value.
        """
        meant = meaning(str(values["formula"]), NAMES)
        try:
            if isinstance(meant, BadExpressionError):
                raise meant
            return value(meant, given)
        except BadExpressionError as err:
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=f"`formula` fails: {err}.")) from err

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Grade how near the result is."""
        given = ", ".join(f"{name} = {number}" for name, number in case.input.items())
        text = f"At {given} it gives {output:.6g}; {case.reference} is right."
        return Feedback(score=self._grade(output - case.reference), text=text)

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Mend the form of a broken text; else mend a factor, add a term that lacks, or drop one that does not belong."""
        text = str(values["formula"])
        here = read(text)
        if here is None:
            return {"formula": write(self._mended(text))}
        nearer = []
        for term in {**self._best, **here}:
            is_, wanted = here.get(term, 0), self._best.get(term, 0)
            factors = {wanted, is_ + (wanted - is_) // 2} - {is_}
            nearer += [{**here, term: factor} for factor in sorted(factors)]
        return {"formula": write(better(here, nearer, self._quality, rng))}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Break the text, change a factor, drop a term or add one."""
        text = str(values["formula"])
        here = read(text)
        if here is None or rng.random() < BREAKS:
            return {"formula": _broken(text, rng)}
        others = [{**here, term: factor + by} for term, factor in here.items() for by in (-3, -1, 1, 3)]
        others += [{**here, term: 0} for term in here]
        others += [{**here, term: rng.choice((-1, 1)) * rng.randint(1, 4)} for term in TERMS if term not in here]
        return {"formula": write(worse(here, others, self._quality, rng))}

    def _sees_corner(self, given: Given) -> bool:
        return bool(self.output({"formula": self._corner}, given, None) > 0)  # type: ignore[arg-type]  # no context is read

    def _result(self, given: Given) -> int:
        return int(self.output(self.optimum, given, None))  # type: ignore[arg-type]  # no context is read

    def _errors(self, here: Sum) -> list[float]:
        """Return how far a sum is off on the probes.

        Raises:
            BadExpressionError: it has no value on one of them.
        """
        meant = meaning(write(here), NAMES)
        if isinstance(meant, BadExpressionError):
            raise meant
        return [abs(value(meant, given) - right) for given, right in zip(self._probes, self._right, strict=True)]

    def _quality(self, here: Sum) -> float:
        try:
            return fmean(map(self._grade, self._errors(here)))
        except BadExpressionError:
            return 0.0

    def _grade(self, error: float) -> float:
        return 1.0 / (1.0 + abs(error) / self._unit)

    def _mended(self, text: str) -> Sum:
        """Return what can still be made out of a broken text: terms of the pool, with their factors."""
        found: Sum = {}
        for term in (*TERMS, *CORNERS):
            inner = re.escape(term).replace(r"\)", r"\)?")
            for sign, factor in re.findall(rf"(-?)\s*(\d{{1,6}}) ?\*? ?\(?{inner}(?![\w(])(?! [*/%])", text):
                found[term] = int(f"{sign}{factor}")
        for sign, constant in re.findall(r"([+-]) (\d{1,6})$", text):
            found[ONE] = int(f"{sign}{constant}")
        return found or {ONE: 1}


@lru_cache(maxsize=512)
def _terms(text: str) -> tuple[tuple[str, int], ...] | None:
    if isinstance(meaning(text, NAMES), BadExpressionError):
        return None
    found: Sum = {}
    _collect(tree(text), 1, found)
    return tuple(found.items())


def read(text: str) -> Sum | None:
    """Return the terms of a sum with their factors; None where the text is no expression."""
    found = _terms(text)
    return None if found is None else dict(found)


def write(terms: Sum) -> str:
    """Return the text of a sum."""
    text = ""
    for term, factor in terms.items():
        if factor:
            sign = ("- " if text else "-") if factor < 0 else "+ " if text else ""
            times = "" if term == ONE else f" * {_bracketed(term)}"
            text += f"{' ' if text else ''}{sign}{abs(factor)}{times}"
    return text or "0"


@lru_cache(maxsize=512)
def _bracketed(term: str) -> str:
    return term if isinstance(tree(term), ast.Name | ast.Call) else f"({term})"


def _collect(node: ast.expr, sign: int, found: Sum) -> None:
    """Add up the terms below a node; a factor that is no whole number stays with its term."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            _collect(left, sign, found)
            _collect(right, sign if isinstance(op, ast.Add) else -sign, found)
            return
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            _collect(inner, -sign, found)
            return
        case ast.Constant(value=int() as number):
            term, factor = ONE, number
        case ast.BinOp(left=ast.Constant(value=int() as number), op=ast.Mult(), right=right):
            term, factor = ast.unparse(right), number
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int() as number)):
            term, factor = ast.unparse(left), number
        case _:
            term, factor = ast.unparse(node), 1
    found[term] = found.get(term, 0) + sign * factor


def _inputs(rng: random.Random) -> Given:
    return {name: rng.randint(0, HIGHEST) for name in NAMES}


def _broken(text: str, rng: random.Random) -> str:
    """Return the text without a bracket or sign, or with one sign too many."""
    marks = [i for i, mark in enumerate(text) if mark in "()*+"]
    if not marks:
        return f"{text} *"[:LONGEST]
    at = rng.choice(marks)
    return f"{text[:at]}{text[at + 1 :]}" if rng.random() < 0.7 else f"{text[:at]}* {text[at:]}"[:LONGEST]  # noqa: PLR2004 - a share


FORMULA = Family(
    "formula", "reserve", "An expression whose text breaks easily, graded by how near it comes",
    "the share of inputs in train and validation on which one of its terms is nothing", Formula, graded=True,
)  # fmt: skip
