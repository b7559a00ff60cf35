"""Builds the trusted questions that are put to Coq after a candidate has compiled, and reads the answers.

`coqtop` takes the questions one by one and goes on after an error. The candidate is required but not imported: its notations, scopes and
coercions change nothing here, so each statement means what the problem says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracebench_veribench.coq.audit import assumes_nothing
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


def write_opening(problem: CoqProblem) -> str:
    """Return what `coqtop` can do while the candidate compiles: it holds nothing of the questions."""
    return _HEAD + ("Require Import Given.\n" if problem.given else "")


def write_questions(problem: CoqProblem, nonce: str, *, audited: bool) -> str:
    """Return the script for `coqtop`; each answer stands behind a mark that holds the nonce.

    Where the context is audited, a theorem's mark says that it is proven, else its assumptions follow.
    """
    parts = ["Require Candidate.\n"]
    parts += [f"Definition {name} : {kind} := Candidate.{name}.\n" for name, kind in problem.functions.items()]
    for i, test in enumerate(problem.tests):
        parts.append(_mark(nonce, f"test_{i}"))
        parts.append(f"Timeout {_SECONDS_PER_TEST} Eval vm_compute in ({test}).\n")
    for i, (name, statement) in enumerate(problem.theorems.items()):
        parts.append(f"Theorem asked_{i} : {statement}.\nProof.\nexact Candidate.{name}.\nQed.\nAbort.\n")
        parts.append(_mark(nonce, name, f"asked_{i}"))
        parts += [] if audited else [f"Print Assumptions asked_{i}.\n"]
    parts.append(_mark(nonce, _END))
    return "".join(parts)


def read_answers(output: str, problem: CoqProblem, nonce: str, *, audited: bool) -> Answers | None:
    """Return the answers in the standard output; None when `coqtop` did not get to the end."""
    output = _NOISE.sub("", output)
    pieces = re.split(rf"^m{nonce}_(\w+) is defined\n", output, flags=re.MULTILINE)
    said = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if _END not in said:
        return None
    tests = tuple(bool(re.match(r"\s*= true\s*: bool\n", said.get(f"test_{i}", ""))) for i in range(len(problem.tests)))
    if not audited:
        return Answers(tests, {name: _axioms(said.get(name, "")) for name in problem.theorems})
    if not assumes_nothing(said[_END]):
        return Answers(tests, None)
    return Answers(tests, {name: () if name in said else None for name in problem.theorems})


def _mark(nonce: str, name: str, term: str = "tt") -> str:
    return f"Definition m{nonce}_{name} := {term}.\n"


def _axioms(said: str) -> tuple[str, ...] | None:
    if re.match(r"\s*Closed under the global context", said):
        return ()
    if re.match(r"\s*Axioms:\n", said):
        return tuple(re.findall(r"^([\w.']+)\s*:", said, re.MULTILINE)) or ("unknown",)
    return None
