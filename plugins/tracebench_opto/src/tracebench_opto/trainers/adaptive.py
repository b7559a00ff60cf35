"""Adaptive: it is told what is scarce, and chooses by what has paid off here whom to improve next and on how many examples to test it.

Each step draws a strategy (Thompson sampling over how often each has led to a child that is better than its parent), and the strategy
draws the parent:

* `climb` takes the best candidate, or one nearly as good of which less is known (an upper confidence bound over the best few);
* `wander` takes a walker that also moves on to worse candidates, less and less (simulated annealing), and returns to the best after a
  while without a new one;
* `revive` takes another of the best few, the one with the highest upper confidence bound.

Where two lineages have improved different parameters, they are merged first: that asks no model. A child is tested against its parent on
as many examples as the budget affords (`parts.scarcity`), in rungs: where evaluations are scarce, a child that has fallen behind by more
than chance explains is measured no further. What leads is measured again where scores are noisy. Of candidates that measure alike the
newer one leads: where one parameter's gain does not show while another one fails, only going on finds it.

A proposer that takes notes is told what was tried from the candidate that it improves, by what each of it changed the score
(`parts.findings`). After a while without a new best one, where the budget has calls to spare, the model is asked for another approach,
which the proposer is told until something better is found.

Source: AdaEvolve (arXiv 2602.20133) for the choice by what has improved and for tactics that the model writes, UCB1 (Auer et al. 2002),
successive halving (Karnin, Koren and Somekh, ICML 2013), simulated annealing (Kirkpatrick et al. 1983) and GEPA's merge (arXiv
2507.19457). What differs, and why: strategies other than climbing wait until climbing has stopped to pay, and a tactic is asked for only
while it costs a small part of the calls, since at twenty calls none is to spare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, Example, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.findings import Tactics, findings
from tracebench_opto.parts.merge import merge, mergeable_pairs
from tracebench_opto.parts.priority import by_priority
from tracebench_opto.parts.search import Search, SearchSettings

Strategy = Literal["climb", "wander", "revive"]
PRIORS: dict[Strategy, tuple[float, float]] = {"climb": (3.0, 1.0), "wander": (1.5, 1.5), "revive": (1.0, 2.0)}
"""Successes and failures that each begins with."""
MEMORY = 0.9
"""What an older success still counts for after each further step: what paid off early need not pay off late."""
FIRST_RUNG = 4
"""Examples of a test's first rung; each further one has twice as many."""
BEHIND = 2.0
"""Standard errors that a child may be behind its parent before it is measured no further."""
FEW = 3
"""Differences from which a standard error is believed."""


class Settings(SearchSettings):
    """Settings of Adaptive."""

    train_batch_size: int = Field(default=3, ge=1)
    elite: int = Field(default=5, ge=2)
    """How many of the best candidates may be improved on, and merged."""
    exploration: float = Field(default=0.3, ge=0)
    """Weight of what is not known of the best few in the choice of whom to climb from; 0 for always the best."""
    temperature: float = Field(default=0.5, gt=0)
    """Of the walker in the first step, in units of the spread of the scores seen; it falls to 0 with the budget."""
    doubt: int = Field(default=10, ge=0)
    """Steps without a new best candidate from which others than the best are improved on, too."""
    patience: int = Field(default=24, ge=1)
    """Steps without a new best candidate after which the walker goes on from the best, and what was learned of the strategies is
    forgotten."""
    tactics: float = Field(default=0.05, ge=0, le=1)
    """Part of the calls that may be spent on asking for another approach; 0 for none. One call must be no more than this part of them."""
    show_findings: int = Field(default=8, ge=0)
    """Children of a candidate of which the proposer is told what they changed and what that was worth; 0 for none."""
    show_failed: int = Field(default=2, ge=0)
    """Children of a candidate that did no better than it and are shown to the proposer after the ancestors."""


@dataclass
class _Odds:
    """How often each strategy has led to a child that was better than its parent, older steps counting less."""

    counts: dict[Strategy, tuple[float, float]] = field(default_factory=lambda: dict(PRIORS))

    def draw(self, problem: Problem, offered: Sequence[Strategy]) -> Strategy:
        """Return the strategy whose drawn chance of success is the highest."""
        return max(offered, key=lambda name: problem.rng.betavariate(*self.counts[name]))

    def learn(self, name: Strategy, *, success: bool) -> None:
        """Count a step."""
        for each, (won, lost) in self.counts.items():
            base = PRIORS[each]
            self.counts[each] = base[0] + MEMORY * (won - base[0]), base[1] + MEMORY * (lost - base[1])
        won, lost = self.counts[name]
        self.counts[name] = (won + 1, lost) if success else (won, lost + 1)


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        _Run(problem, self.settings).search_on()


class _Run:
    """One search: the best candidate, the walker, and what the strategies are worth."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem = problem
        self.settings = settings
        self.search = Search(problem, settings)
        self.odds = _Odds()
        self.held: list[Entry] = []
        self.merged: set[tuple[int, int]] = set()
        self.waited = 0
        self.tactics = Tactics(problem, share=settings.tactics)

    def search_on(self) -> None:
        """Take steps until the budget or the plan ends."""
        search, planned = self.search, self.settings.planned_steps(len(self.problem.train))
        for index in search.schedule():
            with self.problem.step():
                if not self.held:
                    self.held = search.seeds()
                    self.best = self.walker = self.held[0]
                if self._merge():
                    continue
                if self.waited >= self.settings.patience:
                    self.walker, self.waited, self.odds = self.best, 0, _Odds()
                if self.waited and self.waited % max(self.settings.doubt, 1) == 0:
                    self.tactics.ask(self.search, self.best, most=self.settings.show_findings)
                self._step(heat=self.settings.temperature * (1 - search.progress(index, planned)))
                search.doubt([self.best], search.selection)
                self._crown()

    def _step(self, *, heat: float) -> None:
        """Improve one candidate, test its child, and learn from that."""
        search = self.search
        offered: list[Strategy] = ["climb"]
        others = self._elite()[1:]
        if self.waited >= self.settings.doubt:
            offered += ["wander"] if self.walker is not self.best else []
            offered += ["revive"] if others else []
        name = self.odds.draw(self.problem, offered)
        parent = self._by_bound(others) if name == "revive" else self.walker if name == "wander" else self._climber()
        batch = search.batches.draw()
        notes = [*self.tactics.notes, *findings(search.archive, parent, most=self.settings.show_findings)]
        proposals = search.propose(parent, search.measure(parent, batch), n=1, notes=notes)
        self.waited += 1
        if not proposals:
            self.odds.learn(name, success=False)
            return
        child, gain = self._tested(proposals[0], parent, batch)
        self.held.append(child)
        is_better = gain is not None and gain > 0
        self.odds.learn(name, success=is_better)
        verdict: Literal["accepted", "rejected", "indecisive"]
        verdict = "accepted" if is_better else "indecisive" if gain == 0 else "rejected"
        words = "not measured" if gain is None else f"{gain:+.6g} against its parent"
        self.problem.decide(child.candidate, verdict, f"{name}: {words}")
        if gain is not None and (gain >= 0 or self._drifts(gain, heat)):
            self.walker = child

    def _tested(self, values: object, parent: Entry, batch: Sequence[Example]) -> tuple[Entry, float | None]:
        """Measure a child and its parent on the same examples, rung by rung; return it and by how much it is better."""
        search = self.search
        examples = [e for e in search.test_set(batch, "budget") if e not in batch] or list(search.selection)
        is_scarce = self.problem.budget.remaining("evaluations") is not None
        done, child = 0, None
        while done < len(examples):
            done = min(len(examples), max(FIRST_RUNG, 2 * done)) if is_scarce else len(examples)
            on = examples[:done]
            child = search.attempt([values], on, parent=parent, origin="adapt")[0]  # type: ignore[list-item]  # of `propose`
            search.measure(parent, on)
            gains = _paired(child, parent, on)
            if len(gains) < done:
                return child, None
            if done < len(examples) and _is_behind(gains):
                break
        assert child is not None  # noqa: S101 - a selection is never empty
        return child, fmean(gains)

    def _merge(self) -> bool:
        """Merge two of the best that improved different parameters, if there are such; that asks no model."""
        pairs = [p for p in mergeable_pairs(self._elite()) if (p.one.index, p.other.index) not in self.merged]
        if not pairs:
            return False
        pair = pairs[0]
        self.merged.add((pair.one.index, pair.other.index))
        fresh = self.search.fresh([merge(pair, rng=self.problem.rng)])
        if not fresh:
            return False
        better = self.search.archive.ranked([pair.one, pair.other])[0]
        child, gain = self._tested(fresh[0], better, ())
        self.held.append(child)
        self.problem.decide(child.candidate, "accepted" if gain is not None and gain > 0 else "rejected", "a merge")
        self._crown()
        return True

    def _crown(self) -> None:
        """Let whoever leads on the examples that both were measured on be the best."""
        for entry in self.held[-2:]:
            if entry is self.best:
                continue
            shared = [e for e in self.search.selection if e.id in entry.scores and e.id in self.best.scores]
            gains = _paired(entry, self.best, shared)
            if not gains or fmean(gains) < 0:
                continue
            lead = self._lead(entry)
            if lead is not None and lead >= 0:
                self.best = entry
            if lead is not None and lead > 0:
                self.waited = 0
                self.tactics.forget()

    def _lead(self, entry: Entry) -> float | None:
        """Complete a would-be best on what the best was measured on; return by how much it is better."""
        known = [e for e in self.search.selection if e.id in self.best.scores]
        self.search.measure(entry, known)
        gains = _paired(entry, self.best, known)
        return fmean(gains) if gains else None

    def _elite(self) -> list[Entry]:
        ranked = [e for e in self.search.archive.ranked(self.held) if e is not self.best]
        return [self.best, *ranked[: self.settings.elite - 1]]

    def _climber(self) -> Entry:
        archive, exploration = self.search.archive, self.settings.exploration
        return by_priority(self._elite(), archive, score_function="ucb", exploration=exploration)[0]

    def _by_bound(self, entries: Sequence[Entry]) -> Entry:
        return by_priority(list(entries), self.search.archive, score_function="ucb", exploration=1.0)[0]

    def _drifts(self, gain: float, heat: float) -> bool:
        """Apply the Metropolis rule to a child that is worse."""
        scale = heat * self.search.archive.spread()
        return bool(scale) and self.problem.rng.random() < math.exp(gain / scale)


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
        evaluations=feedback + 2 * judged,
        saved=judged,
        start=judged,
    )
