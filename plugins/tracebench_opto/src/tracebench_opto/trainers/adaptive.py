"""Adaptive: it climbs while that pays, wanders off when it has stopped to, and tries changes that ask no model with evaluations to spare.

Each step asks the model for one child, of a parent that a strategy names:

* `climb` takes the best candidate. Of candidates that measure alike the newer one leads: where one parameter's gain does not show while
  another one fails, only going on finds it;
* `wander` starts at the best candidate and goes on from each child, better or worse, for a number of steps that doubles each time they
  led nowhere: what a proposer knows of where to go counts, although the way leads downhill. It is offered once climbing has had no
  success for a while, and drawn by how often each of the two has found a better one (Thompson sampling).

A child is tested against the best candidate on as many examples as the budget affords, in rungs: one that has fallen behind by more than
chance explains is measured no further. What that saves, and what else of the evaluations the calls to come do not need, goes into what asks
no model: two lineages that improved different parameters are merged, and the best candidate is changed by chance, the more seldom the less
that has paid off. What leads is measured again where scores are noisy, as far as evaluations are to spare.

A proposer that takes notes is told what was tried from the candidate that it improves, by what each of it changed the score
(`parts.findings`). After a while without a new best one, where the budget has calls to spare, the model is asked for another approach,
which the proposer is told until something better is found.

Source: AdaEvolve (arXiv 2602.20133) for the choice by what has improved and for tactics that the model writes, successive halving (Karnin,
Koren and Somekh, ICML 2013), iterated local search (Lourenço, Martin and Stützle 2003), whose walks double as the restarts of Luby,
Sinclair and Zuckerman (1993) do, and GEPA's merge (arXiv 2507.19457). What differs, and why: nothing is explored before climbing has
stopped to pay, since at twenty calls no step is to spare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.mutation import change_one
from tracebench_core.specs import CostEstimate, Example, TaskShape, Values
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.findings import Tactics, findings
from tracebench_opto.parts.merge import merge, mergeable_pairs
from tracebench_opto.parts.search import Search, SearchSettings

Strategy = Literal["climb", "wander", "change"]
PRIORS: dict[Strategy, tuple[float, float]] = {"climb": (3.0, 1.0), "wander": (3.0, 1.5), "change": (1.0, 3.0)}
"""Successes and failures that each begins with."""
MEMORY = 0.9
"""What an older success still counts for after each further step: what paid off early need not pay off late."""
FIRST_RUNG = 4
"""Examples of a test's first rung; each further one has twice as many."""
BEHIND = 2.0
"""Standard errors that a child may be behind before it is measured no further."""
FEW = 3
"""Differences from which a standard error is believed."""
ANOTHER = 1 / 3
"""Chance that a change by chance is followed by another one before it is tried."""
LONGEST = 8
"""Times the first walk that a walk may be long."""


class Settings(SearchSettings):
    """Settings of Adaptive."""

    train_batch_size: int = Field(default=3, ge=1)
    patience: int = Field(default=8, ge=1)
    """Steps without a new best candidate from which the search wanders, too."""
    walk: int = Field(default=6, ge=0)
    """Steps of the first walk away from the best candidate; one that led nowhere makes the next twice as long. 0 for none."""
    changes: int = Field(default=4, ge=0)
    """Changes by chance that a step tries at most; 0 for none."""
    elite: int = Field(default=5, ge=2)
    """How many of the best candidates may be merged."""
    tactics: float = Field(default=0.05, ge=0, le=1)
    """Part of the calls that may be spent on asking for another approach; 0 for none. One call must be no more than this part of them."""
    show_findings: int = Field(default=8, ge=0)
    """Children of a candidate of which the proposer is told what they changed and what that was worth; 0 for none."""
    show_failed: int = Field(default=2, ge=0)
    """Children of a candidate that did no better than it and are shown to the proposer after the ancestors."""


@dataclass
class _Odds:
    """How often each strategy has led to a better candidate, older steps counting less."""

    counts: dict[Strategy, tuple[float, float]] = field(default_factory=lambda: dict(PRIORS))

    def draw(self, problem: Problem, offered: Sequence[Strategy]) -> Strategy:
        """Return the strategy whose drawn chance of success is the highest."""
        return max(offered, key=lambda name: problem.rng.betavariate(*self.counts[name]))

    def learn(self, name: Strategy, *, success: bool) -> None:
        """Count a step."""
        (won, lost), base = self.counts[name], PRIORS[name]
        won, lost = base[0] + MEMORY * (won - base[0]), base[1] + MEMORY * (lost - base[1])
        self.counts[name] = (won + 1, lost) if success else (won, lost + 1)


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        _Run(problem, self.settings).search_on()


class _Run:
    """One search: the best candidate, the walk away from it, and what the strategies are worth."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem = problem
        self.settings = settings
        self.search = Search(problem, settings)
        self.change = change_one(problem.parameters)
        self.order = tuple(problem.rng.sample(self.search.selection, len(self.search.selection)))
        """The examples of a test: its rungs are the first of them."""
        self.odds = _Odds()
        self.held: list[Entry] = []
        self.merged: set[tuple[int, int]] = set()
        self.waited = 0
        self.steps_left = 0
        """Of the walk that is under way."""
        self.length = settings.walk
        """Of the next walk."""
        self.tactics = Tactics(problem, share=settings.tactics)

    def search_on(self) -> None:
        """Take steps until the budget or the plan ends."""
        search = self.search
        for _ in search.schedule():
            with self.problem.step():
                if not self.held:
                    self.held = search.seeds()
                    self.best = self.walker = self.held[0]
                self._try_what_asks_no_model()
                if self.waited and self.waited % self.settings.patience == 0:
                    self.tactics.ask(search, self.best, most=self.settings.show_findings)
                self._step()
                if (spare := self._spare()) is None or spare >= len(self.order):
                    search.doubt([self.best], search.selection)

    def _step(self) -> None:
        """Ask for a child of the best candidate, or of the walker, and test it."""
        if not self.steps_left and self._strategy() == "wander":
            self.walker, self.steps_left = self.best, self.length
        if self.steps_left:
            self._wander()
        else:
            found = self._child("climb", self.best)
            self.odds.learn("climb", success=found is not None and found[1] > 0)

    def _strategy(self) -> Strategy:
        is_stuck = self.length and self.waited >= self.settings.patience
        return self.odds.draw(self.problem, ["climb", "wander"]) if is_stuck else "climb"

    def _wander(self) -> None:
        """Take one step of a walk: its child is where the next one starts, unless it could not be measured."""
        found = self._child("wander", self.walker)
        self.steps_left -= 1
        if found is not None:
            self.walker = found[0]
            self.search.tried += self._spare() is not None  # known ground is walked over as long as the calls last
        if found is not None and found[1] > 0:
            self.odds.learn("wander", success=True)
            self.steps_left, self.length = 0, self.settings.walk
        elif not self.steps_left:
            self.odds.learn("wander", success=False)
            self.length = min(2 * self.length, LONGEST * self.settings.walk)

    def _child(self, name: Strategy, parent: Entry) -> tuple[Entry, float] | None:
        """Return a new child and by how much it is better than the best candidate; None where there is none or it was not measured."""
        search = self.search
        notes = [*self.tactics.notes, *findings(search.archive, parent, most=self.settings.show_findings)]
        shown = search.measure(parent, search.batches.draw())
        known = [parent] if name == "wander" else None
        proposals = search.propose(parent, shown, n=1, known=known, notes=notes)
        self.waited += 1
        return self._tested(name, proposals[0], parent) if proposals else None

    def _tested(self, name: str, values: Values, parent: Entry) -> tuple[Entry, float] | None:
        """Measure a candidate beside the best one, rung by rung, and let it lead if it does no worse."""
        search, examples = self.search, self._affordable()
        done, gains = 0, list[float]()
        while done < len(examples) and not _is_behind(gains):
            done = min(len(examples), max(FIRST_RUNG, 2 * done))
            child = search.attempt([values], examples[:done], parent=parent, origin="adapt")[0]
            search.measure(self.best, examples[:done])
            gains = _paired(child, self.best, examples[:done])
            if len(gains) < done:
                self.problem.decide(child.candidate, "rejected", f"{name}: not measured")
                return None
        gain = fmean(gains)
        self.held.append(child)
        verdict: Literal["accepted", "rejected", "indecisive"]
        verdict = "accepted" if gain > 0 else "indecisive" if gain == 0 else "rejected"
        self.problem.decide(child.candidate, verdict, f"{name}: {gain:+.6g} against the best")
        if gain >= 0:
            self._crown(child)
        return child, gain

    def _crown(self, child: Entry) -> None:
        """Let a candidate lead if it is no worse on all that the best was measured on."""
        known = [e for e in self.search.selection if e.id in self.best.scores]
        self.search.measure(child, known)
        gains = _paired(child, self.best, known)
        if not gains or fmean(gains) < 0:
            return
        self.best = child
        if fmean(gains) > 0:
            self.waited = 0
            self.tactics.forget()

    def _try_what_asks_no_model(self) -> None:
        """Merge, or else change the best candidate by chance, as far as evaluations are to spare."""
        for _ in range(self.settings.changes):
            spare = self._spare()
            if spare is None or spare < len(self.order) or self._merge():
                return
            if self.problem.rng.random() > self.settings.changes * self._paid_off():
                return
            fresh = self.search.fresh([self._changed(self.best.candidate.values)])
            found = self._tested("change", fresh[0], self.best) if fresh else None
            self.odds.learn("change", success=found is not None and found[1] > 0)

    def _changed(self, values: Values) -> Values:
        """Return values with one parameter changed by chance, at times more: some hills are left by two changes at once alone."""
        changed = self.change(values, self.problem.rng)
        while self.problem.rng.random() < ANOTHER:
            changed = self.change(changed, self.problem.rng)
        return changed

    def _paid_off(self) -> float:
        won, lost = self.odds.counts["change"]
        return won / (won + lost)

    def _merge(self) -> bool:
        """Merge two of the best that improved different parameters, and tell whether there were such."""
        ranked = [e for e in self.search.archive.ranked(self.held) if e is not self.best]
        elite = [self.best, *ranked[: self.settings.elite - 1]]
        pairs = [p for p in mergeable_pairs(elite) if (p.one.index, p.other.index) not in self.merged]
        if not pairs:
            return False
        pair = pairs[0]
        self.merged.add((pair.one.index, pair.other.index))
        fresh = self.search.fresh([merge(pair, rng=self.problem.rng)])
        if fresh:
            self._tested("merge", fresh[0], self.search.archive.ranked([pair.one, pair.other])[0])
        return bool(fresh)

    def _affordable(self) -> tuple[Example, ...]:
        """Return the examples of a test: all, or as many as each proposal to come can be measured on."""
        most = int(self.search.affordable - self.settings.train_batch_size) if self.search.affordable < math.inf else 0
        return self.order[:most] if most > 0 else self.order

    def _spare(self) -> float | None:
        """Return how many evaluations are left beyond those that the calls to come need; None where calls are not what is scarce."""
        return self.search.spare(len(self.order) + self.settings.train_batch_size)


def _paired(one: Entry, other: Entry, examples: Sequence[Example]) -> list[float]:
    """Return by how much `one` is better on each example that both were measured on, of any split."""
    pairs = ((one.latest.get(e.id), other.latest.get(e.id)) for e in examples)
    return [a[1] - b[1] for a, b in pairs if a is not None and b is not None and a[1] is not None and b[1] is not None]


def _is_behind(gains: Sequence[float]) -> bool:
    """Tell whether differences lie below zero by more than chance explains."""
    if len(gains) < FEW:
        return False
    return fmean(gains) + BEHIND * stdev(gains) / math.sqrt(len(gains)) < 0 or max(gains) <= 0 > min(gains)


def build(settings: Settings) -> Adaptive:
    """Return the trainer."""
    return Adaptive(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    judged, feedback = judged_examples(settings, shape), feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=1,
        evaluations=feedback + (2 + settings.changes) * judged,
        saved=(1 + settings.changes) * judged,
        start=judged,
    )
