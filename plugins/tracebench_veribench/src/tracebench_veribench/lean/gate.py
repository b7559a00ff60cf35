"""What a Lean file may not hold: whatever lets a file look proven that is not, or changes what later text means.

No parser of Lean is at hand, so what cannot be judged is refused. The words are Lean's own commands: none of them can be an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracebench_veribench.text.gate import Finding, inspect, rule
from tracebench_veribench.text.lexing import LEAN, line_of

_MEANING = "it may change what the required statements mean"
_ATTRIBUTE = r"(?:simp|ext|refl|symm|trans|inline|always_inline|noinline|specialize|reducible|irreducible|grind|aesop|norm_num)\b[^\],]*"
_RULES = (
    rule(r"\b(sorry|admit|sorryAx)\b", "a proof must be finished"),
    rule(r"\b(axiom|opaque|unsafe)\b", "nothing may be assumed"),
    rule(r"\b(native_decide|ofReduceBool|reduceBool|ofReduceNat|reduceNat|trustCompiler)\b",
         "the kernel checks the proof, not the compiler"),
    rule(rf"@\[(?!\s*{_ATTRIBUTE}(?:,\s*{_ATTRIBUTE})*\])[^\]]*\]?", "only attributes of simplification and compilation may be given"),
    rule(r"(?<![\w.])attribute\b", _MEANING),
    rule(r"(?<![\w.])(variables?|include|omit)\b", "a theorem says all of its premises itself"),
    rule(r"(?<![\w.])(instance|class)\b", f"instances stay as they are; {_MEANING}"),
    rule(r"\bderiving\b(?!\s+(?:(?:Repr|DecidableEq|BEq|Inhabited|Hashable|Ord|Nonempty|ReflBEq|LawfulBEq)\b[,\s]*)+(?:\n|\Z))",
         "only common instances of a type of one's own may be derived"),
    rule(r"(?<![\w.])(macro|macro_rules|syntax|elab|elab_rules|notation|notation3|infix[lr]?|prefix|postfix|declare_\w+|binder_predicate|unif_hint)\b",
         f"notation and macros: {_MEANING}"),
    rule(r"(?<![\w.])(hiding|renaming|export|alias|local|scoped|prelude|module|public|meta)\b", _MEANING),
    rule(r"\b_root_\b|[«»]", "names are written plainly"),
    rule(r"(?<![\w.])(run_\w+|by_elab|initialize|builtin_\w+|register_\w+|(d?simproc|simproc_decl)|include_str|suppress_compilation)\b|\beval%",
         "a file defines and proves, and runs nothing"),
    rule(r"(?<![\w.])[sfm]!|\bdbg_trace\b|\b(?:throw(?:Named)?Error|logNamed(?:Error|Warning))(?:At)?\b",
         "what stands inside of an interpolated string cannot be judged"),
    rule(r"#(?!check\b|print\b)[a-z]\w*", "a file defines and proves, and runs nothing"),
    rule(r"\bLean\b|\bQq\b", "a file defines and proves, and does not reach into Lean itself"),
    rule(r"(?<![\w.])import\s+(?:all\s+)?(?!(?:Init|Std|Batteries|Mathlib|Aesop)\b)\S+", "only the common libraries may be imported"),
    rule(r"\bset_option\s+(?!(?:maxRecDepth|maxHeartbeats|linter\b[\w.]*)\s+\w+|(?:autoImplicit|relaxedAutoImplicit)\s+false\b)\S+(?:\s+\S+)?",
         "only limits and linters may be set"),
    rule(r"\b(debug\.skipKernelTC|addDeclWithoutChecking|Environment\.addDecl|ofNat!)", "the checks of the kernel stay on"),
)  # fmt: skip


def find_violations(text: str, given: Iterable[str] = ()) -> list[Finding]:
    """Return what the static gate refuses in what an answer adds to the definitions that it was given; see `text.gate.inspect`."""
    for definition in given:
        pattern = r"\s+".join(map(re.escape, definition.split()))
        text = re.sub(pattern, lambda found: re.sub(r"\S", " ", found.group()), text, count=1)
    if "/--/" in text:
        return [Finding(line_of(text, text.index("/--/")), "/--/", "a comment has a beginning and an end")]
    return inspect(text, LEAN, _RULES)
