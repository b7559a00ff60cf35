"""What a search has found out, in words for its proposer: what was tried from a candidate, and another approach where nothing helps."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.proposing.answer_format import describe
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_core.specs import Values
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.search import Search

LONGEST = 240
"""Characters of a change, and of a value, that are told."""
TACTICIAN = """\
You advise somebody who improves the parameters of a program step by step and has come to a halt. You see the objective, the best values
and what was tried from them. Name one approach that differs in kind from all that was tried, in two sentences at most. Write no values."""


def findings(archive: Archive, parent: Entry, *, most: int) -> list[str]:
    """Return a sentence for each of the latest children of a candidate, oldest first: what each changed, and what that was worth."""
    children = [e for e in archive if e.parent is parent][-most:] if most else []
    told = [(changes(parent.candidate.values, e.candidate.values), worth(e, parent)) for e in children]
    return [f"Tried from the current values: {what}: {how}" for what, how in told if what]


def changes(before: Values, after: Values) -> str:
    """Return in words what differs between two assignments: words that were added and dropped, numbers before and after."""
    parts = [
        f"{name} {_change(before.get(name), after[name])}" for name in sorted(after) if after[name] != before.get(name)
    ]
    return cut("; ".join(parts), LONGEST)


def worth(child: Entry, parent: Entry) -> str:
    """Return in words by how much a child is better than its parent, on the examples that both were measured on."""
    shared = [e for e in child.latest if e in parent.latest]
    pairs = [(child.latest[e][1], parent.latest[e][1]) for e in shared]
    gains = [one - other for one, other in pairs if one is not None and other is not None]
    if not gains:
        return "not measured"
    gain = sum(gains) / len(gains)
    verdict = "no change" if gain == 0 else "better" if gain > 0 else "worse"
    return verdict if gain == 0 else f"{verdict} by {score_text(abs(gain))}"


class Tactics:
    """Another approach, asked of the model where the search has come to a halt, and told to the proposer until something helps."""

    def __init__(self, problem: Problem, *, share: float) -> None:
        self._problem = problem
        self._share = share
        self._asked = 0
        self.notes: list[str] = []

    def ask(self, search: Search, best: Entry, *, most: int) -> None:
        """Ask, where calls are to spare; a call that fails leaves everything as it is."""
        calls = self._problem.budget.caps.llm_calls
        if calls is None or (self._asked + 1) > self._share * calls:
            return
        self._asked += 1
        values = best.candidate.values
        shown = "\n".join(f"- {name}: {cut(as_text(value), 4 * LONGEST)}" for name, value in sorted(values.items()))
        told = "\n".join(findings(search.archive, best, most=most)) or "Nothing yet."
        content = (
            f"# Objective\n{self._problem.objective}\n\n# Parameters\n{describe(self._problem.parameters)}\n\n"
            f"# Best values\n{shown}\n\n# Tried\n{told}"
        )
        reply = search.ask([[{"role": "system", "content": TACTICIAN}, {"role": "user", "content": content}]])[0]
        if reply and reply.strip():
            self.notes = [f"Nothing has helped for a while. Another approach: {cut(reply.strip(), 4 * LONGEST)}"]

    def forget(self) -> None:
        """Drop the approach: something better was found."""
        self.notes = []


def _change(before: Any, after: Any) -> str:
    if not isinstance(before, str) or not isinstance(after, str):
        return f"from {cut(as_text(before), LONGEST)} to {cut(as_text(after), LONGEST)}"
    old, new = before.split(), after.split()
    added, dropped = [], []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            dropped.append(" ".join(old[i:j]))
            added.append(" ".join(new[k:m]))
    said = [f"{verb} {_quoted(parts)}" for verb, parts in (("without", dropped), ("with", added)) if any(parts)]
    return ", ".join(said) or "with other blanks"


def _quoted(parts: Sequence[str]) -> str:
    return ", ".join(f"\u201c{part}\u201d" for part in parts if part)
