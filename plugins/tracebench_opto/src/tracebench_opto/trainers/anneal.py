"""Anneal: one candidate that also moves on to worse ones, less and less, and returns to the best when it has strayed for long.

Source: simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) with the Metropolis rule: a child that is worse by d is
taken with probability exp(-d / T). The temperature T falls linearly to 0 with the steps or the budget, and its unit is the spread of
the scores seen, since scores have no fixed range. OpenTrace has no such trainer: all of its searches climb, and end on the first hill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_selected
from tracebench_opto.parts.search import Search, SearchSettings


class Settings(SearchSettings):
    """Settings of Anneal."""

    temperature: float = Field(default=0.5, gt=0)
    """In the first step, in units of the spread of the scores seen."""
    patience: int = Field(default=20, ge=1)
    """Steps without a new best candidate after which the search goes on from the best."""


@dataclass(frozen=True, slots=True)
class Anneal:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        search = Search(problem, self.settings)
        planned = self.settings.planned_steps(len(problem.train))
        current = best = None
        waited = 0
        for index in search.schedule():
            with problem.step():
                current = current or search.seed()
                best = best or current
                if waited >= self.settings.patience:
                    current, waited = best, 0
                heat = self.settings.temperature * (1 - search.progress(index, planned))
                child = self._child(search, current)
                waited += 1
                if child is None:
                    continue
                if search.archive.ranked([best, child])[0] is child:
                    best, waited = child, 0
                if self._moves(search, child, current, heat=heat):
                    current = child

    def _child(self, search: Search, current: Entry) -> Entry | None:
        children = search.expand(current, search.batches.draw(), n=1, on=search.selection, known=[current])
        return children[0] if children else None

    def _moves(self, search: Search, child: Entry, current: Entry, *, heat: float) -> bool:
        """Apply the Metropolis rule, and put the verdict on record."""
        problem = search.problem
        after, before = child.mean(), current.mean()
        draw = problem.rng.random()
        if after is None or before is None:
            problem.decide(child.candidate, "rejected", "not measured")
            return before is None and after is not None
        chance = (
            1.0 if after >= before else math.exp((after - before) / (heat * search.archive.spread())) if heat else 0.0
        )
        problem.decide(
            child.candidate,
            "accepted" if draw < chance else "rejected",
            f"{after:.6g} against {before:.6g}, taken with probability {chance:.3g}",
        )
        return draw < chance


def build(settings: Settings) -> Anneal:
    """Return the trainer."""
    return Anneal(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_selected(settings, shape, proposals=1, idle_feedback=True)
