"""Coq files judged by the real kernel: gold proofs, and everything that only looks proven."""

# ruff: noqa: ISC004 - files of several lines

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from plugins.tracebench_veribench.tests.proving import Held, one_in, requires_coq, write_tool

from tracebench_sandbox import LocalSandbox
from tracebench_veribench.attacks.corpus import Attack, coq_attacks
from tracebench_veribench.coq import verifying
from tracebench_veribench.coq.audit import assumes_nothing, confirms
from tracebench_veribench.coq.calibrations import families
from tracebench_veribench.coq.catalog import ENTRIES, TEST, TRAIN, VALIDATION, Entry
from tracebench_veribench.coq.environment import CoqEnvironment
from tracebench_veribench.coq.gate import find_violations
from tracebench_veribench.coq.library import recheck, required
from tracebench_veribench.coq.problem import load_problem
from tracebench_veribench.coq.sentences import split
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
    "prose": ("I am sorry, I cannot prove this.\n", "gate"),
    "unicode names": (f"{HEAD}Definition Σ (xs : list nat) : nat := 0.\n", "tests"),
    "true": (f"{HEAD}{FUNCTION}Theorem foo : True. Proof. exact I. Qed.\n", "statements"),
}


@requires_coq
@pytest.mark.parametrize("name", one_in(6, [e.name for e in ENTRIES]))
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


HONEST = {
    "tactics and a notation of its own": f"""{HEAD}{FUNCTION}Notation "xs !!" := (sum xs) (at level 9).
Ltac go xs := induction xs; simpl; intros.
Tactic Notation "by_cases" "on" ident(xs) := induction xs; simpl; intros.
{NIL}Theorem sum_app : {APP}. Proof. go xs; [reflexivity | rewrite IHxs; lia]. Qed.
Theorem sum_rev : {REV}. Proof. by_cases on xs; [reflexivity | rewrite sum_app, IHxs; simpl; lia]. Qed.
""",
    "options, scopes, sections and modules": f"""{HEAD}Set Implicit Arguments.
Local Unset Printing Notations. Local Set Warnings "-deprecated". Open Scope nat_scope.
Module Helper. Section Any. Context (f : list nat -> nat) (g : forall x xs, f (x :: xs) = x + f xs) (e : f nil = 0).
Lemma app xs ys : f (xs ++ ys) = f xs + f ys.
Proof. induction xs as [| x xs IH]; cbn [app]. - rewrite e. reflexivity. - cbn. rewrite !g, IH. lia. Qed. End Any. End Helper.
{FUNCTION}{NIL}Theorem sum_app : {APP}. Proof. apply Helper.app; reflexivity. Qed.
Theorem sum_rev : {REV}. Proof. induction xs; cbn [rev]; [easy |]. rewrite sum_app, IHxs. simpl. lia. Qed.
""",
    "terms for proofs, under the names by inclusion": f"""{HEAD}Module Program. {FUNCTION}Definition sum_nil := eq_refl (sum nil).
Definition sum_app : {APP} := fun xs ys => list_ind (fun xs => sum (xs ++ ys) = sum xs + sum ys) eq_refl
  (fun x xs IH => eq_trans (f_equal (Nat.add x) IH) (Nat.add_assoc x (sum xs) (sum ys))) xs.
Theorem sum_rev : {REV}. Proof. induction xs; cbn [rev]; [easy |]. rewrite sum_app, IHxs. simpl. lia. Qed.
End Program. Include Program.
""",
    "a program by its measure": f"""{HEAD}From Coq Require Import Program.Wf Recdef. Open Scope list_scope.
Function sum (xs : list nat) {{measure length xs}} : nat := match xs with nil => 0 | x :: rest => x + sum rest end.
Proof. intros. simpl. lia. Defined.
{NIL}Theorem sum_app : {APP}. Proof. induction xs; intros; cbn [app]; [easy |]. rewrite sum_equation, IHxs.
rewrite (sum_equation (a :: xs)). lia. Qed.
Theorem sum_rev : {REV}. Proof. induction xs; cbn [rev]; [easy |]. rewrite sum_app, IHxs, !sum_equation. cbn. lia. Qed.
""",
}

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


@pytest.mark.parametrize(("said", "ok"), [(CLEAN, True), ("", False), ("Fatal Error: Candidate.vo", False)])
def test_a_second_kernel_that_does_not_come_to_its_end_confirms_nothing(said: str, *, ok: bool) -> None:
    assert confirms(said) is ok


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
    assert [v.shares["rechecked"] for v in audited] == [1.0, 1.0]
    assert [{k: s for k, s in v.recorded().items() if k != "rechecked"} for v in audited] == [
        v.recorded() for v in traced
    ]


def _second_kernel(folder: Path, coqchk: str, says: str) -> str:
    """Write a second kernel that puts another file in the place of the answers, or refuses them all."""
    return str(write_tool(folder, "other-coqchk", f'#!/bin/sh\n{says}\nexec {coqchk} "$@"\n'))


@requires_coq
@pytest.mark.parametrize(
    ("says", "confirmed"),
    [
        ("true", 1.0),
        ("echo 'Fatal Error: the type of Answered.m is wrong' >&2; exit 129", 0.0),
        ("kill -9 $$", 0.0),
        ("head -c 3000 Answered.vo >half; mv half Answered.vo", 0.0),
        ("echo 'Definition sum := 0.' >Candidate.v; coqc -q -R . '' Candidate.v", 0.0),
        ("echo 'CONTEXT SUMMARY'; exit 1", 0.0),
    ],
)
def test_what_the_second_kernel_does_not_confirm_earns_nothing(
    says: str, confirmed: float, sandbox: LocalSandbox
) -> None:
    handle = CoqEnvironment().open(None)  # type: ignore[arg-type]
    tool = _second_kernel(sandbox.tools, handle["coqchk"], says)  # type: ignore[attr-defined]

    verdict = verify(SUM, SUM.gold, Held(sandbox, {"coq": handle | {"coqchk": tool}}))

    assert (verdict.shares["rechecked"], verdict.score) == (confirmed, confirmed), verdict
    assert confirmed or verdict.feedback().text.startswith("Stage `rechecked`")


def test_the_library_that_is_rechecked_is_what_the_proofs_load() -> None:
    names = required()

    assert {"Lia", "List", "Sorted", "Permutation", "ZArith"} <= set(names)
    assert all(re.fullmatch(r"[A-Z][\w.]*", name) for name in names)


@pytest.mark.heavy("coq_soak")
@requires_coq
def test_the_second_kernel_accepts_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck() == 0
    assert "accepts them and all that they load" in capsys.readouterr().out


@requires_coq
def test_credit_is_told_stage_by_stage(coq: Held) -> None:
    verdict = verify(SUM, f"{HEAD}{FUNCTION}{NIL}", coq)

    assert verdict.score == pytest.approx(1 / 3)
    assert verdict.feedback().text.endswith(
        "Credit by stage: gate 1, compiles 1, tests 1, statements 0.333, assumptions 1, rechecked 1; "
        "their product is the score, 0.333."
    )


@requires_coq
@pytest.mark.parametrize("way", HONEST)
def test_an_honest_file_of_another_make_passes(way: str, coq: Held) -> None:
    verdict = verify(SUM, HONEST[way], coq)

    assert verdict.score == 1.0, verdict


@requires_coq
@pytest.mark.parametrize("attack", one_in(3, coq_attacks()), ids=lambda attack: attack.name)
def test_an_attack_earns_no_more_than_its_honest_part(attack: Attack, coq: Held) -> None:
    verdict = verify(SUM, attack.file, coq)

    assert verdict.score <= attack.worth + 1e-3, verdict


def test_the_corpus_of_attacks_is_large_and_says_each_thing_once() -> None:
    texts = {attack.file for attack in coq_attacks()}

    assert len(texts) == len(coq_attacks()) >= 60
    assert all(attack.worth < 1.0 for attack in coq_attacks())


@requires_coq
def test_a_judge_that_was_silenced_speaks_up_again(coq: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the gate, on purpose: what a file sets for good is undone before anything is marked."""
    monkeypatch.setattr(verifying, "find_violations", lambda text: [])

    assert verify(SUM, "#[global] Set Silent.\n" + SUM.gold, coq).score == 1.0


@requires_coq
@pytest.mark.parametrize("planted", ["I", "ltac:(abstract exact I using asked_0)", "ltac:(exact Candidate.lie)"])
def test_an_abbreviation_is_no_theorem_even_past_the_gate(
    planted: str, coq: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "find_violations", lambda text: [])
    names = "".join(f"Notation {name} := {planted} (only parsing).\n" for name in SUM.theorems)

    verdict = verify(SUM, f"{HEAD}{FUNCTION}Definition lie := I.\n{names}", coq)

    assert (verdict.shares["tests"], verdict.shares["statements"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("code", "commands"),
    [
        ("Theorem a : b.\nProof. auto... Qed.", ["Theorem", "Proof", "", "Qed"]),
        ("- { Time #[local, x(y)] Redirect f Show. } 2: Z.order.", ["Redirect", ""]),
        ("Notation \"'a' x .. y\" := z. Export Set A. Export M.", ["Notation", "Set", "Export"]),
        ("[g]: Print. Nat.add_comm. all: Abort", ["Print", "", "Abort"]),
    ],
)
def test_sentences_are_told_by_their_commands(code: str, commands: list[str]) -> None:
    assert [sentence.command for sentence in split(code)] == commands


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
    assert Counter(e.grade for e in ENTRIES) == {1: 20, 2: 20, 3: 20}
    folder = Path(__file__).parents[1] / "src/tracebench_veribench/coq/problems"
    assert sorted((p.parent.name, p.stem) for p in folder.glob("*/*.yaml")) == sorted(
        (f"grade{e.grade}", e.name) for e in ENTRIES
    )
    for entry in ENTRIES:
        problem = load_problem(entry.name)
        assert (problem.title, problem.category, problem.grade) == (entry.title, entry.category, entry.grade)
    for part, each in ((TRAIN, 8), (VALIDATION, 4), (TEST, 8)):
        assert Counter(load_problem(name).grade for name in part) == {1: each, 2: each, 3: each}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_problem_has_its_cases(entry: Entry) -> None:
    problem = load_problem(entry.name)

    cases = list(families(f"file/{entry.name}", None))  # type: ignore[arg-type]

    assert len(problem.theorems) > 1
    kinds = Counter(case.kind for case in cases if "file" in (case.values or {}))
    assert (kinds["gold"], kinds["order"]) == (1, 2)
    assert kinds["forged"] == 5 + len(coq_attacks()) * (entry.name == "list_sum")
    part = next(case for case in cases if case.name == "the last one open").values
    assert part is not None
    text = str(part["file"])
    stated = [name for name in problem.theorems if re.search(rf"^(?:Theorem|Lemma) {name}\b", text, re.MULTILINE)]
    assert len(stated) == len(problem.theorems) - 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the file is empty"),
        (" \n\n", 1, "the file is empty"),
        ("Check 1.\nCheck\0 2.", 2, "NUL"),
        ("x" * 10**7, 1, "characters, more than"),
    ],
)
def test_what_is_no_text_of_a_proof_is_refused_at_its_line(text: str, line: int, words: str) -> None:
    (found,) = find_violations(text)
    assert found.line == line
    assert words in found.why
