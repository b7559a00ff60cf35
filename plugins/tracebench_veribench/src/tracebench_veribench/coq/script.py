"""Builds the trusted questions that are put to Coq after a candidate has compiled, and reads the answers.

`coqtop` takes the questions one by one and goes on after an error. What is asked is elaborated before the candidate is loaded, as claims
about any functions of the right types. The candidate is then held against module types made of these claims: the kernel compares its
constants, and no name of its is ever resolved in text, so its notations, abbreviations, scopes and coercions change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracebench_veribench.coq.audit import assumes_nothing, confirms
from tracebench_veribench.coq.problem import CoqProblem

_HEAD = """From Coq Require Import List Arith Bool Sorted Permutation.
From Coq Require Lia.
Import ListNotations.
Open Scope nat_scope.
Open Scope list_scope.
Fixpoint same (xs ys : list nat) : bool :=
  match xs, ys with
  | nil, nil => true
  | cons x xs', cons y ys' => andb (Nat.eqb x y) (same xs' ys')
  | _, _ => false
  end.
Definition same_option (x y : option nat) : bool :=
  match x, y with
  | Some a, Some b => Nat.eqb a b
  | None, None => true
  | _, _ => false
  end.
"""
_END = "end"
_SECONDS_PER_TEST = 5
_NOISE = re.compile(r"^(Fetching opaque proofs from disk for |\[Loading ML file ).*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answers:
    """What Coq said to each question."""

    tests: tuple[bool, ...]
    axioms: Mapping[str, tuple[str, ...] | None] | None
    """Per theorem what its proof assumes; None when the candidate does not prove that statement. None for all: something in the file's
    context is assumed, and an audit does not say by which proof."""
    rechecked: bool | None = None
    """Whether the second kernel confirms the file, and each answer that the first one gave; None where it was not asked."""


def write_opening(problem: CoqProblem) -> str:
    """Return what `coqtop` can do while the candidate compiles: it holds nothing of the questions."""
    return _HEAD + ("Require Import Given.\n" if problem.given else "")


def write_questions(problem: CoqProblem, nonce: str, *, audited: bool) -> str:
    """Return the script for `coqtop`; an answer is a mark that holds the nonce, a constant whose type is what was asked.

    Where the context is audited, a theorem's mark says that it is proven, else its assumptions follow. A line `(*m… is defined*)` stands
    before all that belongs to a mark: what was answered so can be put together, as a file for the second kernel.
    """
    functions = "".join(f"Parameter {name} : {kind}.\n" for name, kind in problem.functions.items())
    binders = " ".join(f"({name} : {kind})" for name, kind in problem.functions.items())
    asked, put = [_module_type(f"T{nonce}", functions)], [_held(f"C{nonce}", f"T{nonce}")]
    applied = " ".join(f"C{nonce}.{name}" for name in problem.functions)
    for i, test in enumerate(problem.tests):
        asked.append(f"Definition t{nonce}_{i} {binders} : bool := {test}.\n")
        passed = f"t{nonce}_{i} {applied} = true"
        mark = _mark(nonce, f"test_{i}", passed, f"(eq_refl true <: {passed})")
        put.append(f"{_heading(nonce, f'test_{i}')}Timeout {_SECONDS_PER_TEST} {mark}")
    for i, (name, statement) in enumerate(problem.theorems.items()):
        claim = f"q{nonce}_{i}"
        asked.append(f"Definition {claim} {binders} : Prop := {statement}.\n")
        asked.append(
            _module_type(f"T{nonce}_{i}", f"{functions}Parameter {name} : {claim} {' '.join(problem.functions)}.\n")
        )
        put.append(_heading(nonce, name) + _held(f"C{nonce}_{i}", f"T{nonce}_{i}"))
        put.append(_mark(nonce, name, f"{claim} {applied}", f"C{nonce}_{i}.{name}"))
        put += [] if audited else [f"Print Assumptions m{nonce}_{name}.\n"]
    return "".join([*asked, "Require Candidate.\n", *put, _heading(nonce, _END), _mark(nonce, _END, "unit", "tt")])


def read_answers(output: str, problem: CoqProblem, nonce: str, *, audited: bool) -> Answers | None:
    """Return the answers in the standard output; None when `coqtop` did not get to the end."""
    output = _NOISE.sub("", output)
    pieces = re.split(rf"^m{nonce}_(\w+) is defined\n", output, flags=re.MULTILINE)
    said = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if _END not in said:
        return None
    tests = tuple(f"test_{i}" in said for i in range(len(problem.tests)))
    if not audited:
        return Answers(tests, {name: _axioms(said.get(name, "")) for name in problem.theorems})
    rechecked, proven = confirms(said[_END]), {name: () if name in said else None for name in problem.theorems}
    return Answers(tests, None if rechecked and not assumes_nothing(said[_END]) else proven, rechecked)


def _module_type(name: str, fields: str) -> str:
    return f"Module Type {name}.\n{fields}End {name}.\n"


def _held(name: str, kind: str) -> str:
    """Hold the candidate against a module type under a name that nobody has, and go on aloud whatever it set."""
    return f"Fail Print Module {name}.\nModule {name} <: {kind} := Candidate.\nUnset Silent.\n"


def _heading(nonce: str, name: str) -> str:
    return f"(*m{nonce}_{name} is defined*)\n"


def _mark(nonce: str, name: str, kind: str, term: str) -> str:
    return f"Definition m{nonce}_{name} : {kind} := {term}.\n"


def _axioms(said: str) -> tuple[str, ...] | None:
    if re.match(r"\s*Closed under the global context", said):
        return ()
    if header := re.match(r"\s*Axioms:\n", said):
        return tuple(re.findall(r"^([\w.']+)\s*:", said[header.end() :], re.MULTILINE)) or ("unknown",)
    return None
