"""What a Lean file may not hold: whatever lets a file look proven that is not, or changes what later text means."""

from __future__ import annotations

from tracebench_veribench.text.gate import Finding, inspect, rule
from tracebench_veribench.text.lexing import LEAN

_RULES = (
    rule(r"\b(sorry|admit|sorryAx)\b", "a proof must be finished"),
    rule(r"\b(axiom|opaque|unsafe)\b", "nothing may be assumed"),
    rule(r"\b(native_decide|ofReduceBool|reduceBool|trustCompiler)\b", "the kernel checks the proof, not the compiler"),
    rule(r"\b(implemented_by|extern|export|csimp|init|builtin_init)\b(?=[^\n]*\])", "compiled code may not differ from the definition"),
    rule(r"\b(macro|macro_rules|syntax|elab|elab_rules|notation|notation3|infixl?|infixr|prefix|postfix|declare_syntax_cat)\b",
         "notation and macros may change what the required statements mean"),
    rule(r"\b(run_cmd|run_tac|run_elab|run_meta|initialize|builtin_initialize)\b", "a file defines and proves, and runs nothing"),
    rule(r"#(eval|exit|reduce|synth)\b", "a file defines and proves, and runs nothing"),
    rule(r"\bset_option\s+(?!(maxRecDepth|maxHeartbeats|autoImplicit|relaxedAutoImplicit|linter)\b)\S+",
         "only limits and linters may be set"),
    rule(r"\b(debug\.skipKernelTC|addDeclWithoutChecking|Environment\.addDecl|ofNat!)", "the checks of the kernel stay on"),
    rule(r"\binstance\b[^\n]*\b(Decidable|DecidableEq|BEq|LawfulBEq|OfNat|Coe\w*|ToString|Repr)\b[^\n]*\b(Nat|Int|Bool|String|Char|List|Array|Prop)\b",
         "instances of built-in types stay as they are"),
)  # fmt: skip


def find_violations(text: str) -> list[Finding]:
    """Return what the static gate refuses; see `text.gate.inspect`."""
    return inspect(text, LEAN, _RULES)
