"""Coq files judged by the real kernel: gold proofs, and everything that only looks proven."""

# ruff: noqa: ISC004 - files of several lines

from __future__ import annotations

from pathlib import Path

import pytest
from plugins.tracebench_veribench.tests.proving import Held, requires_coq

from tracebench_core.sandbox import LocalSandbox
from tracebench_veribench.coq.audit import assumes_nothing
from tracebench_veribench.coq.catalog import ENTRIES, TEST, TRAIN, VALIDATION
from tracebench_veribench.coq.environment import CoqEnvironment
from tracebench_veribench.coq.problem import load_problem
from tracebench_veribench.coq.verifying import verify

SUM = load_problem("list_sum")
HEAD = "From Coq Require Import List Arith Lia.\nImport ListNotations.\n"
FUNCTION = "Definition sum (xs : list nat) : nat := fold_right Nat.add 0 xs.\n"
NIL = "Theorem sum_nil : sum nil = 0.\nProof. reflexivity. Qed.\n"
APP = "forall xs ys : list nat, sum (xs ++ ys) = sum xs + sum ys"
REV = "forall xs : list nat, sum (rev xs) = sum xs"

CHEATS = {
    "admitted": (f"{HEAD}{FUNCTION}{NIL}Theorem sum_app : {APP}. Admitted.\n", "gate"),
    "axiom": (f"{HEAD}{FUNCTION}{NIL}Axiom sum_app : {APP}.\n", "gate"),
    "parameter": (f"{HEAD}{FUNCTION}Parameter sum_nil : sum nil = 0.\n", "gate"),
    "variable outside of a section": (
        f"{HEAD}{FUNCTION}{NIL}Variable cheat : forall P : Prop, P.\n"
        f"Theorem sum_app : {APP}. Proof. apply cheat. Qed.\nTheorem sum_rev : {REV}. Proof. apply cheat. Qed.\n",
        "assumptions",
    ),
    "a library's axiom": (
        f"From Coq Require Import Classical.\n{HEAD}{FUNCTION}{NIL}"
        f"Theorem sum_app : {APP}. Proof. intros xs ys. apply NNPP. intro H. apply H. "
        "induction xs; simpl; [reflexivity | rewrite IHxs; [lia | intro G; apply H; simpl; lia]]. Qed.\n",
        "statements",
    ),
    "proofs that rest on a library's axiom": (
        f"From Coq Require Import Classical_Prop.\n{HEAD}{FUNCTION}Lemma leans (P : Prop) : P -> P.\n"
        "Proof. intro p. destruct (classic P); [assumption | contradiction]. Qed.\n"
        f"Theorem sum_nil : sum nil = 0. Proof. apply leans. reflexivity. Qed.\nTheorem sum_app : {APP}.\n"
        "Proof. induction xs; intros; simpl; [reflexivity | rewrite IHxs; lia]. Qed.\n"
        f"Theorem sum_rev : {REV}.\nProof. induction xs; simpl; [reflexivity | rewrite sum_app, IHxs; simpl; lia]. Qed.\n",
        "assumptions",
    ),
    "an axiom hidden in a module with a library's name": (
        f"{HEAD}{FUNCTION}{NIL}Module Coq. Module ssr. Module ssrunder. Module Under_rel.\n"
        "Context (lie : False).\nEnd Under_rel. End ssrunder. End ssr. End Coq.\n"
        f"Theorem sum_app : {APP}. Proof. destruct Coq.ssr.ssrunder.Under_rel.lie. Qed.\n"
        f"Theorem sum_rev : {REV}. Proof. destruct Coq.ssr.ssrunder.Under_rel.lie. Qed.\n",
        "assumptions",
    ),
    "weakened statement": (
        f"{HEAD}{FUNCTION}{NIL}Theorem sum_app : forall xs ys : list nat, sum (xs ++ ys) = sum (xs ++ ys). Proof. reflexivity. Qed.\n"
        "Theorem sum_rev : forall n : nat, n = n. Proof. reflexivity. Qed.\n",
        "statements",
    ),
    "redefined nat": (
        "Inductive nat : Set := O.\nInductive list (A : Set) : Set := nil.\nArguments nil {A}.\n"
        "Definition sum (xs : list nat) : nat := O.\nTheorem sum_nil : sum nil = O. Proof. reflexivity. Qed.\n",
        "tests",
    ),
    "notation for equality": (
        f'{HEAD}{FUNCTION}Notation "a = b" := True (at level 70) : type_scope.\n'
        f"Theorem sum_nil : sum nil = 0. Proof. exact I. Qed.\nTheorem sum_app : {APP}. Proof. intros; exact I. Qed.\n"
        f"Theorem sum_rev : {REV}. Proof. intros; exact I. Qed.\n",
        "statements",
    ),
    "redefined plus": (
        f'{HEAD}{FUNCTION}{NIL}Definition add (a b : nat) : nat := 0.\nInfix "+" := add : nat_scope.\n'
        "Theorem sum_rev : forall xs : list nat, sum (rev xs) + 0 = sum xs + 0. Proof. reflexivity. Qed.\n",
        "statements",
    ),
    "constant function": (f"{HEAD}Definition sum (xs : list nat) : nat := 0.\n{NIL}", "tests"),
    "wrong type": (f"{HEAD}Definition sum (xs : list bool) : nat := 0.\n{NIL}", "tests"),
    "guard switched off": (f"{HEAD}Unset Guard Checking.\nFixpoint sum (xs : list nat) : nat := sum xs.\n", "gate"),
    "bypass attribute": ("#[bypass_check(guard)]\nFixpoint sum (xs : list nat) : nat := sum xs.\n", "gate"),
    "plugin": ('Declare ML Module "ltac_plugin".\n' + HEAD, "gate"),
    "reads the questions": ('Load "/proc/1/fd/0".\n', "gate"),
    "writes files": (f'{HEAD}{FUNCTION}Redirect "Candidate" Print sum.\n', "gate"),
    "keywords in comments": ("(* Theorem Lemma Proof Qed Definition Inductive Fixpoint *)\n", "tests"),
    "keywords in a string": ('Definition words := "Theorem sum_app sum_rev Qed".\n', "compiles"),
    "unclosed comment": (f"{HEAD}{FUNCTION}{NIL}(* and so on", "gate"),
    "empty": ("", "gate"),
    "blank": (" \n\n", "gate"),
    "ten megabytes": ("(* x *)\n" * 1_300_000, "gate"),
    "binary": ("\0\1\2", "gate"),
    "prose": ("I am sorry, I cannot prove this.\n", "compiles"),
    "unicode names": (f"{HEAD}Definition Σ (xs : list nat) : nat := 0.\n", "tests"),
    "true": (f"{HEAD}{FUNCTION}Theorem foo : True. Proof. exact I. Qed.\n", "statements"),
}


@requires_coq
@pytest.mark.parametrize("name", [e.name for e in ENTRIES])
def test_a_gold_file_passes_every_stage_and_the_skeleton_earns_nothing(name: str, coq: Held) -> None:
    problem = load_problem(name)

    assert verify(problem, problem.gold, coq).feedback().score == 1.0
    assert verify(problem, problem.skeleton(), coq).score == 0.0


@requires_coq
@pytest.mark.parametrize("cheat", CHEATS)
def test_what_only_looks_proven_stops_at_its_stage(cheat: str, coq: Held) -> None:
    text, stage = CHEATS[cheat]

    verdict = verify(SUM, text, coq)

    assert verdict.score < 1.0
    assert verdict.feedback().text.startswith(f"Stage `{stage}`"), verdict
    if stage in {"gate", "compiles"}:
        assert verdict.score == 0.0


CLEAN = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms: <none>

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>

"""


def test_an_audit_clears_only_a_context_without_any_assumption() -> None:
    sealed = "* Axioms:\n    Coq.ssr.ssrunder.Under_rel.Over_rel\n    Coq.ssr.ssrunder.Under_rel.Under_rel"

    assert assumes_nothing(CLEAN)
    assert assumes_nothing(CLEAN.replace("* Axioms: <none>", sealed))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("* Axioms: <none>", "* Axioms:\n    Coq.Logic.Classical_Prop.classic"),
        ("* Axioms: <none>", "* Axioms:\n    Candidate.Coq.ssr.ssrunder.Under_rel.lie"),
        ("* Axioms: <none>", ""),
        ("predicative", "impredicative"),
        ("type-in-type: <none>", "type-in-type:\n    Candidate.liar"),
        ("(co)fixpoints: <none>", "(co)fixpoints:\n    Candidate.loop"),
        ("assumed: <none>", "assumed:\n    Candidate.bad"),
        ("* Inductives whose positivity is assumed: <none>", ""),
        ("CONTEXT SUMMARY", "Error: Candidate.vo is corrupted"),
    ],
)
def test_an_audit_that_names_an_assumption_or_says_less_clears_nothing(old: str, new: str) -> None:
    assert not assumes_nothing(CLEAN.replace(old, new))


@requires_coq
def test_the_independent_checker_and_the_trace_of_each_proof_agree(sandbox: LocalSandbox) -> None:
    handle = CoqEnvironment().open(None)  # type: ignore[arg-type]
    texts = (SUM.gold, CHEATS["proofs that rest on a library's axiom"][0])

    audited, traced = (
        [verify(SUM, text, Held(sandbox, {"coq": handle | {"coqchk": coqchk}})) for text in texts]
        for coqchk in (handle["coqchk"], "")
    )

    assert handle["coqchk"]
    assert [v.recorded() for v in audited] == [v.recorded() for v in traced]


@requires_coq
def test_notation_of_the_candidates_own_is_no_offence(coq: Held) -> None:
    text = SUM.gold.replace("Theorem sum_nil", 'Notation "xs !!" := (sum xs) (at level 9).\n\nTheorem sum_nil')

    assert verify(SUM, text, coq).score == 1.0


@requires_coq
def test_an_endless_tactic_ends_at_the_limit_with_words(coq: Held) -> None:
    verdict = verify(SUM, "Goal True. Proof. repeat pose proof I. Qed.\n", coq, seconds=1.0)

    assert (verdict.status, verdict.score) == ("timeout", 0.0)
    assert "did not finish" in verdict.feedback().text


@requires_coq
def test_feedback_shows_the_first_error_in_its_source_lines(coq: Held) -> None:
    text = SUM.gold.replace("Proof. reflexivity. Qed.", "Proof. discriminate. Qed.", 1)

    said = verify(SUM, text, coq).feedback().text

    assert "> " in said
    assert "discriminate" in said
    assert "line" in said


@requires_coq
def test_nothing_hidden_is_told(coq: Held) -> None:
    told = SUM.prompt() + SUM.skeleton()
    for text, _ in list(CHEATS.values())[:14]:
        told += verify(SUM, text, coq).feedback().text

    assert not any(test in told for test in SUM.tests)
    assert "induction xs" not in told
    assert all(test not in str(coq.records) for test in SUM.tests)


def test_the_splits_hold_every_problem_once() -> None:
    names = [e.name for e in ENTRIES]

    assert sorted((*TRAIN, *VALIDATION, *TEST)) == sorted(names)
    assert len(names) >= 16
    folder = Path(__file__).parents[1] / "src/tracebench_veribench/coq/problems"
    assert sorted(p.stem for p in folder.glob("*.yaml")) == sorted(names)
    for entry in ENTRIES:
        problem = load_problem(entry.name)
        assert (problem.title, problem.category) == (entry.title, entry.category)
