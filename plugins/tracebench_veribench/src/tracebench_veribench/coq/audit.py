"""Reads the summary of the second kernel, `coqchk`: whether it accepts what it was given, and whether anything is assumed.

It checks the given definitions, the candidate's file, and a file of every answer that the first kernel gave, term by term and by code of
its own, takes the library as it is installed (`recheck` checks that, too), and lists every axiom and every switched-off check of all that
is loaded. A context without any leaves no proof anything to rest on.
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


def confirms(summary: str) -> bool:
    """Tell whether the second kernel came to its end: it says nothing of a context in which it refused a term."""
    return _TITLE in summary


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
