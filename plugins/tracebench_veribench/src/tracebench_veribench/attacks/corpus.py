"""Reads the attacks that ship, as texts and what each may earn at most."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Attack:
    """One file that aims at a full score."""

    name: str
    file: str
    worth: float
    """What its honest part earns: the most that it may score."""


@cache
def coq_attacks() -> tuple[Attack, ...]:
    """Return the attacks on `veribench_coq:file/list_sum`."""
    text = files("tracebench_veribench.attacks").joinpath("coq.yaml").read_text(encoding="utf-8")
    return tuple(
        Attack(one["name"], Template(one["file"]).substitute(_COQ_PARTS), float(one.get("worth", 0.0)))
        for one in yaml.safe_load(text)
    )
