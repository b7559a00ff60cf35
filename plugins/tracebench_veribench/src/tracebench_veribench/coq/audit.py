"""Reads the independent checker's summary of a compiled file: whether anything in its whole context is assumed rather than proven.

`coqchk -o -norec Candidate` checks the candidate's own definitions and proofs a second time, takes the library as it is installed, and
lists every axiom and every switched-off check of all that is loaded. A context without any leaves no proof anything to rest on.
"""

from __future__ import annotations

import re

_TITLE = "CONTEXT SUMMARY"
_SECTION = re.compile(r"^\* (.+?):((?:.*)(?:\n(?!\*).*)*)", re.MULTILINE)
_NONE = {
    "Constants/Inductives relying on type-in-type",
    "Constants/Inductives relying on unsafe (co)fixpoints",
    "Inductives whose positivity is assumed",
}
_SEALED = "Coq.ssr.ssrunder.Under_rel."
"""Names that a module of Coq's library defines and seals behind a signature: the summary counts what it cannot see through."""


def assumes_nothing(summary: str) -> bool:
    """Tell whether a summary was printed to its end and names no assumption of any kind."""
    _, _, told = summary.partition(_TITLE)
    sections = {title: body.split() for title, body in _SECTION.findall(told)}
    return (
        sections.keys() == _NONE | {"Theory", "Axioms"}
        and sections["Theory"] == ["Set", "is", "predicative"]
        and all(sections[title] == ["<none>"] for title in _NONE)
        and all(axiom == "<none>" or axiom.startswith(_SEALED) for axiom in sections["Axioms"])
    )
