"""What a comparison says, as values: standings, pairs with their verdict, changes against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracebench_analysis.comparison.budgets import Use
from tracebench_analysis.comparison.outcomes import FailurePolicy, Outcome, Outcomes
from tracebench_analysis.comparison.pooling import Finding
from tracebench_analysis.recap import Measure
from tracebench_analysis.statistics.anchors import Anchors
from tracebench_analysis.statistics.differences import Difference
from tracebench_analysis.statistics.floor import NoiseFloor, Resolution
from tracebench_analysis.statistics.intervals import Interval
from tracebench_analysis.statistics.multiplicity import RankComparison
from tracebench_analysis.statistics.sequential import Decision, Verdict
from tracebench_core.specs import Budget, ProposalCounts

ALPHA = 0.05
DECIDED = frozenset({"better", "worse", "equivalent"})
"""Verdicts that ask for no more seeds."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One entrant on one task, or on all of them."""

    entrant: str
    interval: Interval | None
    """Of the mean; on all tasks, of normalised scores. None without a score."""
    counted: int
    """Jobs that count, failed ones included as the policy says."""
    measured: int
    """Jobs with a measured score."""
    jobs: int
    """Jobs planned."""


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """One entrant against another."""

    one: str
    other: str
    difference: Difference
    adjusted: float | None
    """The probability after Holm's correction over all pairs of its family."""
    improvement: float | None
    """Probability that `one` scores higher."""
    resolution: Resolution | None
    decision: Decision | None = None
    """What a sequential design says, where one was asked for."""
    against: tuple[str, ...] = ()
    """Of several tasks, those on which the lower of the two is ahead beyond doubt (5 %, uncorrected)."""
    equivalence: float | None = None
    """The probability of two one-sided tests within the margin, after Holm's correction over all pairs; None where no margin was given."""
    measured: int = 0
    """Of the difference's pairs of a seed, those with a measured score on both sides: elsewhere a failed job counts as the policy says."""

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `not resolved`; within a margin also `equivalent`; of a sequential design also `open`.

        A difference can be real and within the margin. `better` and `worse` win: they say more, and how much stands beside them.
        Whose tasks clearly disagree is never `equivalent`: that they cancel out in the mean is no reason to take either.
        """
        if self.decision is not None:
            found = self.decision.verdict
            return "not resolved" if found == "equivalent" and self.against else found
        if self.adjusted is not None and self.adjusted < ALPHA:
            return "better" if self.difference.interval.estimate > 0 else "worse"
        alike = self.equivalence is not None and self.equivalence < ALPHA and not self.against
        return "equivalent" if alike else "not resolved"

    def turned(self) -> PairVerdict:
        """Return the verdict on the other against the one."""
        chance = None if self.improvement is None else 1 - self.improvement
        return PairVerdict(
            self.other, self.one, self.difference.turned(), self.adjusted, chance, self.resolution, _turned(self.decision),
            against=self.against, equivalence=self.equivalence, measured=self.measured,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task in its own units."""

    task: str
    measure: Measure
    anchors: Anchors | None
    standings: tuple[Standing, ...]
    """Best mean first."""
    pairs: tuple[PairVerdict, ...]
    """Adjusted over the pairs of all tasks together."""
    winner: str | None
    """Resolved better than each other entrant."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One entrant over all tasks."""

    standing: Standing
    iqm: Interval | None
    gap: float | None
    """Mean of the chosen candidates' gain on validation - gain on test, normalised; None where no task has both splits."""
    failed: int
    use: Use
    rank: float | None
    """Mean rank over the tasks of the table; None for who lacks some."""
    proposals: ProposalCounts
    """Of all jobs together."""
    lacks: tuple[str, ...]
    """Tasks of the table on which it has no score: it stands apart from those that have all, and is ranked with nobody."""
    of_tasks: int
    """Tasks of the table."""
    content: Interval | None = None
    """Of the score, what the outputs hold and those of the initial candidate do not; None where a job with a score does not tell."""
    form: Interval | None = None
    """Of the score, what the outputs of the initial candidate hold already, in a form that is not read."""

    @property
    def n(self) -> str:
        """Jobs that count of those planned; and of how many tasks, where some are lacking."""
        jobs = f"{self.standing.counted}/{self.standing.jobs}"
        return f"{jobs}, {self.of_tasks - len(self.lacks)} of {self.of_tasks} tasks" if self.lacks else jobs


@dataclass(frozen=True, slots=True)
class Change:
    """One job that ended on the other side than the baseline's job of the same task and seed."""

    task: str
    entrant: str
    baseline: str
    seed: int
    what: str
    """`now fails`, `no longer improves`, `now works`, `now improves`."""

    @property
    def is_worse(self) -> bool:
        return self.what in {"now fails", "no longer improves"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is said of some runs."""

    runs: tuple[str, ...]
    unfinished: Mapping[str, int]
    """Jobs without a result, by run."""
    findings: tuple[Finding, ...]
    policy: FailurePolicy
    cut: Budget | None
    cut_why: str
    baseline: str | None
    outcomes: Outcomes
    tasks: tuple[TaskComparison, ...]
    summaries: tuple[Summary, ...]
    """Those that have every task first: by how many of them each beats, less by how many it is beaten, then by their mean."""
    pairs: tuple[PairVerdict, ...]
    """Over the tasks that the two share; adjusted over these pairs. Who never met is no pair."""
    ranks: RankComparison | None
    ranked: tuple[str, ...]
    """The entrants that have every task, in the order of `ranks`."""
    floor: NoiseFloor
    changes: tuple[Change, ...]
    margin: float | None = None
    """The difference that counts as none, on the pairs' scale; None where none was given."""

    def without_scores(self) -> dict[str, list[Outcome]]:
        """Return the entrants of which no job has a score, with what became of their jobs: nothing can be said about them."""
        own = {name: self.outcomes.of(name) for name in self.outcomes.entrants}
        return {name: jobs for name, jobs in own.items() if all(o.score is None for o in jobs)}

    def pair(self, one: str, other: str) -> PairVerdict | None:
        """Return the verdict on two entrants, turned round where it was computed the other way; None where they never met."""
        for found in self.pairs:
            if (found.one, found.other) == (one, other):
                return found
            if (found.one, found.other) == (other, one):
                return found.turned()
        return None


def _turned(decision: Decision | None) -> Decision | None:
    if decision is None:
        return None
    mirrored: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
    verdict = mirrored.get(decision.verdict, decision.verdict)
    return Decision(verdict, decision.interval.turned(), decision.seeds, decision.more)
