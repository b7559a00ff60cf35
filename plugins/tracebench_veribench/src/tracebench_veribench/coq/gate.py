"""What a Coq file may not hold.

The kernel and `Print Assumptions` judge proofs; the gate refuses what reaches past them: files, plugins, switched-off checks. Notations are
allowed: the required statements are elaborated in a file of ours that never imports the candidate's.
"""

from __future__ import annotations

from tracebench_veribench.text.gate import Finding, inspect, rule
from tracebench_veribench.text.lexing import COQ

_RULES = (
    rule(r"\b(Admitted|admit|give_up)\b", "a proof must be finished"),
    rule(r"\b(Axioms?|Parameters?|Conjectures?)\b", "nothing may be assumed"),
    rule(r"\bbypass_check\b", "the checks of the kernel stay on"),
    rule(r"\b(Set|Unset)\s+(Guard|Positivity|Universe)\s+Checking\b", "the checks of the kernel stay on"),
    rule(r"\b(Global|Export)\s+(Set|Unset)\b", "options may not outlive the file"),
    rule(r"#\[[^\]]*\b(global|export)\b[^\]]*\]\s*(Set|Unset)\b", "options may not outlive the file"),
    rule(
        r"\b(Declare\s+ML\s+Module|Add\s+(Rec\s+)?(LoadPath|ML\s+Path)|Remove\s+LoadPath)\b",
        "no plugins, no other folders",
    ),
    rule(
        r"\b(Load|Cd|Pwd|Redirect|Drop|Quit|BackTo|Reset|Primitive)\b",
        "a file defines and proves, and does nothing else",
    ),
    rule(r"\b(Extraction|Extract)\b", "a file defines and proves, and does nothing else"),
)


def find_violations(text: str) -> list[Finding]:
    """Return what the static gate refuses; see `text.gate.inspect`."""
    return inspect(text, COQ, _RULES)
