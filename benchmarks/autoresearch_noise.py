"""How often an edit that changes nothing is kept, per edit and per run, under ten kinds of noise; and what true gains cost to find.

    python benchmarks/autoresearch_noise.py               # 400 runs of 20 proposals; baseline: the greedy rule
    python benchmarks/autoresearch_noise.py --runs 2000   # a share of 5 % then lies between 4.0 and 6.0 % in 95 of 100 cases

The rules are the trainer's own classes. A run is one series of measurements in time: each takes one step, whichever files it measures,
and adds the noise of that step to what the files are worth. The noise has a standard deviation of 1 where it has one.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tracebench_autoresearch.trainer.arm import Arm
from tracebench_autoresearch.trainer.judging import Greedy, PairedTrial, Rule
from tracebench_autoresearch.trainer.side_by_side import Runner, race
from tracebench_core.specs import Candidate, Evaluation, ExampleResult, Feedback, Values

Series = NDArray[np.float64]
LONGEST = 4000
"""Steps of the longest run."""
STEP_AT = 60
"""The measurement from which the step is there."""
Build = Callable[[int, random.Random], Rule]
"""Makes a rule for so many proposals."""
RULES: dict[str, tuple[Build, int]] = {
    "`greedy`": (lambda _proposals, _rng: Greedy(), 1),
    "`noise_aware`": (lambda proposals, rng: PairedTrial(rng, experiments=proposals), 4),
    "`noise_aware`, 40 pairs": (lambda proposals, rng: PairedTrial(rng, experiments=proposals, max_repeats=40), 4),
}
"""Each with the measurements of its baseline."""


def gaussian(rng: Generator) -> Series:
    """The normal distribution."""
    return rng.standard_normal(LONGEST)


def student(rng: Generator) -> Series:
    """Student's t with 2 degrees of freedom, which has no standard deviation."""
    return rng.standard_t(2, LONGEST)


def lognormal(rng: Generator) -> Series:
    """The exponential of a normal deviate, scaled."""
    return np.exp(rng.standard_normal(LONGEST)) / math.sqrt(math.e * (math.e - 1))


def lumpy(rng: Generator) -> Series:
    """The accuracy on 50 questions of a program that answers 4 in 5, scaled."""
    return rng.binomial(50, 0.8, LONGEST) / math.sqrt(50 * 0.8 * 0.2)


def random_walk(rng: Generator) -> Series:
    """Normal, on a level that goes 0.2 up or down a step."""
    return gaussian(rng) + np.cumsum(rng.normal(0, 0.2, LONGEST))


def drift(rng: Generator) -> Series:
    """Normal, on a level that rises by 0.05 a step: a machine that becomes free."""
    return gaussian(rng) + 0.05 * np.arange(LONGEST)


def step(rng: Generator) -> Series:
    """Normal, 2 higher from the 60th measurement on: another program ended."""
    return gaussian(rng) + 2.0 * (np.arange(LONGEST) >= STEP_AT)


def heteroscedastic(rng: Generator) -> Series:
    """Normal, ten times wider in every second stretch of 25 steps."""
    wide = np.where(np.arange(LONGEST) // 25 % 2, 1.0, 0.1)
    return gaussian(rng) * wide


def autocorrelated(rng: Generator) -> Series:
    """Normal, each with a correlation of 0.9 with the one before."""
    fresh, found = gaussian(rng) * math.sqrt(1 - 0.9**2), np.empty(LONGEST)
    found[0] = rng.standard_normal()
    for i in range(1, LONGEST):
        found[i] = 0.9 * found[i - 1] + fresh[i]
    return found


def alternating(rng: Generator) -> Series:
    """Normal, and 1 higher at every second step: what runs by turns with the measurements."""
    return gaussian(rng) + np.arange(LONGEST) % 2


NOISES = (gaussian, student, lognormal, lumpy, random_walk, drift, step, heteroscedastic, autocorrelated, alternating)


@dataclass(slots=True)
class Bench:
    """Measures files of a known worth, one step of a series after another."""

    series: Iterator[float]
    measured: int = 0

    def measure(self, worth: float) -> float:
        """Return one measurement."""
        self.measured += 1
        return worth + next(self.series)


@dataclass(slots=True)
class Tally:
    """What came of all runs of one rule under one noise."""

    edits: int = 0
    kept: int = 0
    struck: int = 0
    """Runs that kept any."""
    measured: int = 0
    """Measurements, without the baseline's."""
    drifts: int = 0
    """Runs in which a drift was said."""


def simulate(
    build: Build,
    noise: Callable[[Generator], Series],
    *,
    gain: float,
    runs: int,
    proposals: int,
    first: int,
) -> Tally:
    """Return what becomes of edits that each are worth `gain` more than what is kept at their time."""
    tally = Tally()
    for seed in range(runs):
        bench, rule, level, before = (
            Bench(iter(noise(np.random.default_rng(seed)))),
            build(proposals, random.Random(seed)),
            0.0,
            tally.kept,
        )
        rule.start([bench.measure(level) for _ in range(first)])
        for _ in range(proposals):

            def edit(worth: float = level + gain, bench: Bench = bench) -> float:
                return bench.measure(worth)

            def kept(worth: float = level, bench: Bench = bench) -> float:
                return bench.measure(worth)

            if rule.judge(edit, kept).verdict == "accepted":
                tally.kept, level = tally.kept + 1, level + gain
        tally.edits += proposals
        tally.struck += tally.kept > before
        tally.measured += bench.measured - first
        tally.drifts += isinstance(rule, PairedTrial) and rule.drift.is_seen
    return tally


class Track:
    """Measures edits side by side: each takes `hogs` from all that is measured beside it, as one does that takes more processors."""

    def __init__(self, rng: random.Random, *, hogs: float) -> None:
        self._rng, self._hogs = rng, hogs
        self._asked: list[Values] = []
        self._found: list[Evaluation] = []
        self.measured = 0

    def submit(self, values: Values, **_: object) -> None:
        """Take what is to be measured next."""
        self._asked.append(values)

    def collect(self, n: int = 1) -> list[Evaluation]:
        """Measure all that was taken at the same time, and return the oldest."""
        if not self._found:
            edits = sum("edit" in values for values in self._asked)
            self._found = [self._one(values, edits - ("edit" in values)) for values in self._asked]
            self._asked = []
        return [self._found.pop(0) for _ in range(n)]

    def _one(self, values: Values, beside: int) -> Evaluation:
        self.measured += 1
        score = float(str(values["worth"])) + self._rng.gauss(0, 1) - self._hogs * beside
        candidate = Candidate(id=str(values.get("edit", "c0")), values=values)
        result = ExampleResult(example="x", split="train", feedback=Feedback(score=score), seconds=0.0)
        return Evaluation(candidate=candidate, results=(result,), score=score)


def race_all(worths: Sequence[float], *, runs: int, halve_after: int, hogs: float) -> tuple[float, float, float]:
    """Return the shares of races that kept an edit without worth and the best, and measurements a race."""
    idle = best = measured = 0
    for seed in range(runs):
        rng = random.Random(seed)
        bench: Any = Track(rng, hogs=hogs)
        rule = PairedTrial(rng, experiments=20)
        rule.start([rng.gauss(0, 1) for _ in range(4)])
        kept = Candidate(id="c0", values={"worth": 0.0})
        edits: list[Values] = [{"worth": worth, "edit": f"c{n}"} for n, worth in enumerate(worths, 1)]
        runners = [Runner(Arm(bench, values, kept, ""), rule.contest()) for values in edits]
        race(bench, rule, runners, halve_after=halve_after)
        won = [w for w, one in zip(worths, runners, strict=True) if one.ruling and one.ruling.verdict == "accepted"]
        idle, best, measured = idle + (0.0 in won), best + (max(worths) in won), measured + bench.measured
    return idle / runs, best / runs, measured / runs


def print_races(runs: int) -> None:
    """Print what races of four edits keep, and what they cost."""
    print("\nRaces of four, normal noise: without worth kept, the best kept, measurements\n")
    print(
        "| gains of the four | each takes from its neighbours | no halving | after 2 | after 4 | after 8 |\n|---|---|---|---|---|---|"
    )
    for worths, hogs in (
        ((0.0,) * 4, 0.0),
        ((0.0,) * 4, 3.0),
        ((0, 0, 0, 1.0), 0.0),
        ((0, 0, 0, 2.0), 0.0),
        ((0.5, 1, 1.5, 2.0), 0.0),
    ):
        cells = []
        for halve_after in (0, 2, 4, 8):
            idle, best, measured = race_all(worths, runs=runs, halve_after=halve_after, hogs=hogs)
            cells.append(f"{idle:.1%}, {best if any(worths) else 0:.0%}, {measured:.0f}")
        print(f"| {', '.join(f'{w:g}' for w in worths)} | {hogs:g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--proposals", type=int, default=20)
    asked = parser.parse_args()
    shape = {"runs": asked.runs, "proposals": asked.proposals}
    head = f"{' | '.join(RULES)} |"
    print(f"A/A: edits that change nothing, {asked.runs} runs of {asked.proposals}: edits kept, runs that kept any\n")
    print(f"| noise | {head} a drift is said |\n|{'---|' * (len(RULES) + 2)}")
    for noise in NOISES:
        found = [simulate(build, noise, gain=0.0, first=first, **shape) for build, first in RULES.values()]
        cells = [f"{tally.kept / tally.edits:.2%}, {tally.struck / asked.runs:.1%}" for tally in found]
        print(
            f"| {noise.__name__.replace('_', ' ')} | {' | '.join(cells)} | {found[1].drifts / asked.runs:.0%} |",
            flush=True,
        )
    print(
        "\nNormal noise: edits kept of those that each gain so much, measurements of one edit and of what is kept beside it\n"
    )
    print(f"| gain | {head}\n|{'---|' * (len(RULES) + 1)}")
    for gain in (0.0, 1.0, 2.0, 3.0, 5.0):
        found = [simulate(build, gaussian, gain=gain, first=first, **shape) for build, first in RULES.values()]
        cells = [f"{tally.kept / tally.edits:.1%}, {tally.measured / tally.edits:.1f}" for tally in found]
        print(f"| {gain:g} sd | {' | '.join(cells)} |", flush=True)
    print_races(asked.runs)


if __name__ == "__main__":
    main()
