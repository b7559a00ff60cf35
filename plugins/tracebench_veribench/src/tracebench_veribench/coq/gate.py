"""What a Coq file may hold: the commands that define and prove, and options that end with the file.

The kernel and the audit judge proofs; the gate refuses what reaches past them: files, plugins, switched-off checks, and every command that
is not known to be harmless. Notations are allowed: no name of a candidate's is ever resolved in a text of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracebench_veribench.coq.sentences import Sentence, split
from tracebench_veribench.text.gate import Finding, Place, inspect, rule
from tracebench_veribench.text.lexing import COQ

_RULES = (
    rule(r"\b(Admitted|admit|give_up)\b", "a proof must be finished"),
    rule(r"\b(Axioms?|Parameters?|Conjectures?)\b", "nothing may be assumed"),
    rule(r"\bbypass_check\b", "the checks of the kernel stay on"),
    rule(r"\b(Set|Unset)\s+(Guard|Positivity|Universe)\s+Checking\b", "the checks of the kernel stay on"),
    rule(
        r"\b(Declare\s+ML\s+Module|Add\s+(Rec\s+)?(LoadPath|ML\s+Path)|Remove\s+LoadPath)\b",
        "no plugins, no other folders",
    ),
    rule(
        r"\b(Load|Cd|Pwd|Redirect|Drop|Quit|BackTo|Reset|Primitive|Extraction|Extract)\b",
        "a file defines and proves, and does nothing else",
    ),
    rule(r"\bnative_\w+|\bNativeCompute\b|<<:", "the kernel computes by itself, and asks no compiler"),
    rule(r"\b(Print|Dump)\s+(Sorted\s+)?Universes\b", "a file defines and proves, and writes no files"),
    rule(r"\b(Module\s+Type|Declare\s+Module)\b", "nothing may be assumed, and a module type does nothing else"),
)
_NOTHING_ELSE = "a file defines and proves, and does nothing else"
_COMMANDS = frozenset(
    """
    Abort About Add Arguments Bind Canonical Check Class Close Coercion CoFixpoint CoInductive Collection Combined Comments Compute
    Constraint Context Corollary Create Declare Defined Definition Delimit Derive End Eval Example Existing Export Fact Fixpoint Focus From
    Function Functional Generalizable Goal Guarded Hint Hypotheses Hypothesis Identity Implicit Import Include Inductive Infix Instance
    Lemma Let Locate Ltac Module Next Notation Number Obligation Obligations Opaque Open Print Proof Property Proposition Qed Record Remark
    Remove Require Reserved Restart Save Scheme Search SearchPattern SearchRewrite Section Set Show Solve Strategy Structure Tactic Theorem
    Transparent Typeclasses Undelimit Undo Unfocus Unfocused Universe Universes Unset Unshelve Variable Variables Variant
    """.split()  # noqa: SIM905 - a list of words
)
"""Whatever else begins with a capital is refused: this is the language of Coq 8.16 without its ways to the world outside."""
_OPTIONS = re.compile(
    r"""(?:Set|Unset)[ ](?:
        Implicit[ ]Arguments | (?:Strongly[ ])?Strict[ ]Implicit | Contextual[ ]Implicit | Reversible[ ]Pattern[ ]Implicit
        | Maximal[ ]Implicit[ ]Insertion | Asymmetric[ ]Patterns | Printing(?:[ ]\w+)++ | Bullet[ ]Behavior
        | Default[ ](?:Goal[ ]Selector|Proof[ ]Using) | Program[ ](?:Mode|Cases|Generalized[ ]Coercion)
        | Primitive[ ]Projections | Ltac[ ](?:Backtrace|Profiling) | Keep[ ]Proof[ ]Equalities
        | Intuition[ ]Negation[ ]Unfolding | Structural[ ]Injection | Regular[ ]Subst[ ]Tactic | Typeclasses(?:[ ]\w+)++
        | (?:Boolean[ ]Equality|Decidable[ ]Equality|(?:Nonrecursive[ ])?Elimination|Case[ ]Analysis|Rewriting)[ ]Schemes
        | Loose[ ]Hint[ ]Behavior | Firstorder[ ](?:Depth|Solver) | Congruence[ ]\w+ | (?:Hide|Transparent|Shrink)[ ]Obligations
        | Universe[ ]Minimization[ ]ToSet | Uniform[ ]Inductive[ ]Parameters | Nested[ ]Proofs[ ]Allowed | Warnings
    )(?:[ ]?\d+)*+[ ]?\.?""",
    re.VERBOSE,
)
"""Of a sentence with single blanks between its words."""


def find_violations(text: str) -> list[Finding]:
    """Return what the static gate refuses; see `text.gate.inspect`."""
    return inspect(text, COQ, _RULES, _judge_sentences)


def _judge_sentences(code: str) -> Iterator[Place]:
    for sentence in split(code):
        if why := _objection(sentence):
            yield Place(sentence.start, " ".join(sentence.text.split())[:80], why)


def _objection(sentence: Sentence) -> str | None:
    if not sentence.command:
        return None
    if sentence.command not in _COMMANDS:
        return _NOTHING_ELSE
    if sentence.command in {"Set", "Unset"}:
        return _objection_to_option(sentence)
    if sentence.command in {"Notation", "Infix", "Reserved", "Number"} and re.search(r"\bltac2?\s*:", sentence.text):
        return "an abbreviation names a term, and runs nothing"
    return None


def _objection_to_option(sentence: Sentence) -> str | None:
    if re.search(r"#\[|\b(Global|Export)\b", sentence.prefix):
        return "options may not outlive the file"
    if not _OPTIONS.fullmatch(" ".join(sentence.text[len(sentence.prefix) :].split())):
        return "only options of notation, printing and proof steps may be set"
    return None
