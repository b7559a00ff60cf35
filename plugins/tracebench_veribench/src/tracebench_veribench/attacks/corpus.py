"""Reads the attacks that ship, as texts and what each may earn at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

import yaml

_COQ_PARTS = {
    "head": "From Coq Require Import List Arith Lia.\nImport ListNotations.\n",
    "sum": "Definition sum (xs : list nat) : nat := fold_right Nat.add 0 xs.\n",
    "nil": "Theorem sum_nil : sum nil = 0.\nProof. reflexivity. Qed.\n",
    "APP": "forall xs ys : list nat, sum (xs ++ ys) = sum xs + sum ys",
    "REV": "forall xs : list nat, sum (rev xs) = sum xs",
    "app": "Theorem sum_app : forall xs ys : list nat, sum (xs ++ ys) = sum xs + sum ys.\n"
    "Proof. induction xs; intros; simpl; [reflexivity | rewrite IHxs; lia]. Qed.\n",
    "rev": "Theorem sum_rev : forall xs : list nat, sum (rev xs) = sum xs.\n"
    "Proof. assert (app : forall xs ys, sum (xs ++ ys) = sum xs + sum ys) by (induction xs; intros; simpl; "
    "[reflexivity | rewrite IHxs; lia]).\ninduction xs; simpl; [reflexivity | rewrite app, IHxs; simpl; lia]. Qed.\n",
}


_LEAN_PARTS = {
    "given": "def sorted : List Nat → Prop\n  | [] => True\n  | [_] => True\n  | a :: b :: rest => a ≤ b ∧ sorted (b :: rest)\n\n"
    "def isPerm (xs ys : List Nat) : Bool :=\n  xs.all (fun x => xs.count x == ys.count x)\n\n",
    "program": "def insertOne (x : Nat) : List Nat → List Nat\n  | [] => [x]\n"
    "  | y :: ys => if x ≤ y then x :: y :: ys else y :: insertOne x ys\n\n"
    "def insertionSort (xs : List Nat) : List Nat := xs.foldr insertOne []\n\n",
    "proven": "theorem sort_sorted (xs : List Nat) : sorted (insertionSort xs) := by\n  trivial\n\n"
    "theorem sort_perm (xs : List Nat) : isPerm xs (insertionSort xs) = true := by\n  trivial\n\n"
    "theorem sort_length (xs : List Nat) : (insertionSort xs).length = xs.length := by\n  trivial\n",
}
LEAN_PROGRAM = "def insertion_sort(xs):\n    return sorted(xs)\n"
LEAN_REFERENCE = "".join(_LEAN_PARTS.values())
"""What the attacks on Lean are to be told from. Its proofs are none: nothing here is ever compiled."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One file that aims at a full score."""

    name: str
    file: str
    worth: float
    """What its honest part earns: the most that it may score."""


def coq_part(name: str) -> str:
    """Return a part that the attacks on Coq are made of: `head`, `sum`, `nil`, `app`, `rev`."""
    return _COQ_PARTS[name]


@cache
def coq_attacks() -> tuple[Attack, ...]:
    """Return the attacks on `veribench_coq:file/list_sum`."""
    return _read("coq.yaml", _COQ_PARTS)


@cache
def lean_attacks() -> tuple[Attack, ...]:
    """Return the attacks on the problem of `LEAN_PROGRAM` and `LEAN_REFERENCE`."""
    return _read("lean.yaml", _LEAN_PARTS | {"all": LEAN_REFERENCE})


def _read(name: str, parts: Mapping[str, str]) -> tuple[Attack, ...]:
    text = files("tracebench_veribench.attacks").joinpath(name).read_text(encoding="utf-8")
    return tuple(
        Attack(one["name"], Template(one["file"]).substitute(parts), float(one.get("worth", 0.0)))
        for one in yaml.safe_load(text)
    )
