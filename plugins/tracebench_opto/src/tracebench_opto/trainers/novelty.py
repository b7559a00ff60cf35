"""Novelty: parents are chosen by how unlike all others they are as much as by score, and what is no new program is not evaluated.

Source: novelty search with local competition (Lehman and Stanley, Evolutionary Computation 19, 2011) and the novelty
rejection of ShinkaEvolve (arXiv 2509.19349). What differs, and why: distance is the share of a candidate that was
edited, so that it needs no embedding service and no descriptors; a proposal is refused when its code has the syntax
tree of a known candidate (comments and blanks aside) or lies nearer than `least_distance` to
one. What is refused is counted: `proposal_not_novel` in the job's record.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Budget, CostEstimate, TaskShape, Values
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_selected
from tracebench_opto.parts.novelty import edit_distance
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.search import Search, SearchSettings


class Settings(SearchSettings):
    """Settings of Novelty. One step is one parent."""

    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Children of a step. When None: 2, and fewer where calls are so scarce that they would buy fewer than 20 steps (`variant`)."""
    neighbours: int = Field(default=3, ge=1)
    """Nearest candidates whose mean distance is a candidate's novelty."""
    novelty_weight: float = Field(default=0.5, ge=0, le=1)
    """Part that the rank by novelty has in the choice of a parent; the rest is the rank by score."""
    least_distance: float = Field(default=0.0, ge=0)
    """Proposals nearer than this to a known candidate are refused; 0 refuses only equal syntax trees."""

    def broad(self, budget: Budget) -> int:
        """Return how many children a step makes."""
        return breadth(budget, self.variant, (self.num_proposals, 2))[0]


@dataclass(frozen=True, slots=True)
class Novelty:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        search = Search(problem, self.settings)
        used: dict[int, int] = {}
        apart = _Apart()
        for _ in search.schedule():
            with problem.step():
                if len(search.archive) == 0:
                    search.seed()
                parent = self._parent(search, used, apart)
                used[parent.index] = used.get(parent.index, 0) + 1
                feedback = search.measure(parent, search.batches.draw())
                proposals = search.propose(parent, feedback, n=self.settings.broad(problem.budget.caps))
                novel = self._novel(search, proposals)
                if len(novel) < len(proposals):
                    problem.log("proposal_not_novel", len(proposals) - len(novel))
                search.evaluate(novel, search.selection, parent=parent, origin="novel")

    def _parent(self, search: Search, used: dict[int, int], apart: _Apart) -> Entry:
        """Return the first by the weighted sum of both ranks; among equals whoever bred least, then the older."""
        measured = [e for e in search.archive.ranked() if e.mean() is not None] or list(search.archive)
        by_novelty = sorted(measured, key=lambda e: (-self._novelty(e, measured, apart), e.index))
        score_rank = {e.index: i for i, e in enumerate(measured)}
        novelty_rank = {e.index: i for i, e in enumerate(by_novelty)}
        weight = self.settings.novelty_weight
        return min(
            measured,
            key=lambda e: (
                weight * novelty_rank[e.index] + (1 - weight) * score_rank[e.index] + used.get(e.index, 0),
                e.index,
            ),
        )

    def _novelty(self, entry: Entry, others: Sequence[Entry], apart: _Apart) -> float:
        nearest = sorted(apart(entry, e) for e in others if e is not entry)
        return fmean(nearest[: self.settings.neighbours]) if nearest else 0.0

    def _novel(self, search: Search, proposals: Sequence[Values]) -> list[Values]:
        known = [e.candidate.values for e in search.archive]
        shapes = {shape(values) for values in known}
        novel: list[Values] = []
        for values in proposals:
            near = self.settings.least_distance and any(
                edit_distance(values, k) < self.settings.least_distance for k in (*known, *novel)
            )
            if shape(values) not in shapes and not near:
                novel.append(values)
                shapes.add(shape(values))
        return novel


class _Apart:
    """How far apart the candidates of an archive are: each pair is compared once, for every step asks for all of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, a: Entry, b: Entry) -> float:
        pair = a.index, b.index
        if pair not in self._known:
            self._known[pair] = edit_distance(a.candidate.values, b.candidate.values)
        return self._known[pair]


def shape(values: Values) -> str:
    """Return what two candidates share that differ in nothing a program does: of code its syntax tree, of anything else its JSON."""
    return "\n".join(f"{name}={_shape(values[name])}" for name in sorted(values))


def _shape(value: object) -> str:
    if isinstance(value, str):
        try:
            return ast.dump(ast.parse(value))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return repr(value)
    return canonical_json(value).decode()


def build(settings: Settings) -> Novelty:
    """Return the trainer."""
    return Novelty(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use when every proposal is novel."""
    return estimate_selected(settings, shape, proposals=settings.broad(shape.budget))
