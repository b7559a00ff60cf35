"""The summariser of POLCA: a model turns what a search remembers into a few sentences for its proposer."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.proposing.answer_format import describe
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.search import Search

SHOWN = 5
"""Candidates that a summary is made of, as in OpenTrace: the best, and others drawn from the memory."""
FEWEST = 3
"""Candidates before there is anything to tell apart."""
LONGEST = 600
"""Characters of a value and of a feedback that it is shown."""
SUMMARISER = """\
You help somebody who improves the parameters of a program. You see candidates that were tried, each with its score and with what was said
of an example on which it did well and of one on which it did badly. Say in five sentences at most what the good ones have that the bad ones
lack, which changes have been of no use, and what to try next. Write no values."""


class Summariser:
    """Summarises the memory every so many steps, and tells the last summary until the next."""

    def __init__(self, *, every: int) -> None:
        """`every`: steps between two summaries; 0 for none."""
        self._every = every
        self._steps = 0
        self._notes: list[str] = []

    def told(self, search: Search) -> Sequence[str]:
        """Return what the proposer is told in this step, after a new summary where one is due; a call that fails leaves the last one."""
        known = [e for e in search.archive if e.mean() is not None]
        if self._every and len(known) >= FEWEST:
            if self._steps % self._every == 0:
                self._summarise(search, known)
            self._steps += 1
        return self._notes

    def _summarise(self, search: Search, known: Sequence[Entry]) -> None:
        best = search.archive.ranked(known)[0]
        others = [e for e in known if e is not best]
        drawn = search.problem.rng.sample(others, min(SHOWN - 1, len(others)))
        shown = search.archive.ranked([best, *drawn])
        problem = search.problem
        content = f"# Objective\n{problem.objective}\n\n# Parameters\n{describe(problem.parameters)}\n\n" + "\n\n".join(
            _candidate(place, entry) for place, entry in enumerate(shown, 1)
        )
        reply = search.ask([[{"role": "system", "content": SUMMARISER}, {"role": "user", "content": content}]])[0]
        if reply and reply.strip():
            self._notes = [f"What was tried so far teaches: {cut(reply.strip(), 4 * LONGEST)}"]


def _candidate(place: int, entry: Entry) -> str:
    values = "\n".join(f"- {n}: {cut(as_text(v), LONGEST)}" for n, v in sorted(entry.candidate.values.items()))
    measured = [(score, result) for result, score in entry.latest.values() if score is not None]
    measured.sort(key=lambda pair: pair[0])
    ends = [("Badly", measured[0]), ("Well", measured[-1])] if measured else []
    said = [f"{word}, {score_text(score)}: {cut(result.feedback.text, LONGEST)}" for word, (score, result) in ends]
    return "\n".join([f"# Candidate {place}, score {score_text(entry.mean())}", values, *said])
