"""How much does a rule of selection lose? `python benchmarks/selection_regret.py [--jobs N]`.

A job proposes candidates whose true qualities are drawn around the initial one. As trainers with minibatches do, it measures each on a few
examples first, and on the whole comparison set (a part of validation) if it beats the leader there; examples differ in how hard they are.
Regret is the true quality of the best candidate less that of the chosen
one, in standard deviations of quality between candidates. Compared on the same jobs:

* `oracle`: knows the true qualities (its regret is 0 by definition; shown is the gain over the initial candidate);
* `rule`: the engine's own ranking (`store.ranking`): common examples only, the three best and the initial one on all of validation;
* `most measured`: the rule before it: the most examples first, then the mean, without finalists;
* `best mean`: the best mean over whatever a candidate was measured on.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from tracebench_runs.events.ranking import FINALISTS, Ranking

Scores = Mapping[int, Mapping[str, float]]
"""By candidate, then by example."""
VALIDATION = tuple(f"v{i}" for i in range(60))
COMPARED = VALIDATION[:20]
BATCH = 5
HARDNESS = 1.5
"""Standard deviation between examples, in those of quality between candidates."""
SPREADS = (0.5, 1.0, 2.0)
"""Standard deviations of one measurement, in those of quality between candidates."""


class Job:
    """Candidates with their true qualities, how hard examples are, and what a trainer measured."""

    def __init__(self, rng: random.Random, *, noise: float, candidates: int = 20) -> None:
        self.quality = [0.0, *(rng.gauss(-0.3, 1.0) for _ in range(candidates))]
        hardness = {e: rng.gauss(0, HARDNESS) for e in VALIDATION}
        self.truth = {
            c: {e: q + hardness[e] + rng.gauss(0, noise) for e in VALIDATION} for c, q in enumerate(self.quality)
        }
        self.measured = {0: {e: self.truth[0][e] for e in COMPARED}}
        leader = 0
        for c in range(1, len(self.quality)):
            batch = rng.sample(COMPARED, BATCH)
            passes = fmean(self.truth[c][e] for e in batch) > fmean(self.truth[leader][e] for e in batch)
            self.measured[c] = {e: self.truth[c][e] for e in (COMPARED if passes else batch)}
            if passes and fmean(self.measured[c].values()) > fmean(self.measured[leader].values()):
                leader = c

    def on_validation(self, candidate: int) -> float:
        """Return the engine's own measurement of a candidate."""
        return fmean(self.truth[candidate].values())


def by_rule(job: Job) -> int:
    """Choose as the engine does."""
    ranking = Ranking(train=(), validation=VALIDATION, worst_score=None)
    for c, scores in job.measured.items():
        ranking.see(f"c{c}")
        for example, score in scores.items():
            ranking.record(f"c{c}", example, score=score, status="ok", metrics={})
    ranking.compare_on(COMPARED)
    finalists = [int(id_[1:]) for id_ in ranking.finalists(FINALISTS)]
    return max(finalists, key=job.on_validation)


def by_coverage(job: Job) -> int:
    """Choose whoever was measured on most examples, among those by the mean."""
    return max(job.measured, key=lambda c: (len(job.measured[c]), fmean(job.measured[c].values())))


def by_mean(job: Job) -> int:
    """Choose the best mean over whatever was measured."""
    return max(job.measured, key=lambda c: fmean(job.measured[c].values()))


RULES: dict[str, Callable[[Job], int]] = {
    "rule": by_rule,
    "most measured": by_coverage,
    "best mean": by_mean,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    jobs = parser.parse_args().jobs
    print("| noise | rule | regret (95 %) | gain over the initial candidate | chosen is worse than the initial one |")
    print("| --- | --- | --- | --- | --- |")
    for noise in SPREADS:
        rng = random.Random(7)
        found: dict[str, list[float]] = {name: [] for name in RULES}
        best = []
        for _ in range(jobs):
            job = Job(rng, noise=noise)
            best.append(max(job.quality))
            for name, choose in RULES.items():
                found[name].append(job.quality[choose(job)])
        print(f"| {noise:g} | oracle | 0 | {fmean(best):.3f} | 0.0 % |")
        for name, chosen in found.items():
            lost: Sequence[float] = [b - c for b, c in zip(best, chosen, strict=True)]
            half = 1.96 * stdev(lost) / math.sqrt(jobs)
            worse = sum(c < 0 for c in chosen) / jobs
            print(f"| {noise:g} | {name} | {fmean(lost):.3f} ± {half:.3f} | {fmean(chosen):.3f} | {worse:.1%} |")
    print(f"\n{jobs} jobs a row, 20 candidates a job; the same jobs for all rules")


if __name__ == "__main__":
    main()
