"""Compare the search trainers on level fields: known tasks, a rule-based teacher for a model, equal budgets, many seeds.

`python benchmarks/trainers.py` prints the tables of docs/reference/trainers.md: the final scores at equal evaluations and
at equal model calls, each trainer's difference from `SequentialRefine` paired by seed, what selection promised and did not
hold (winner's curse), and how often a job returned its best candidate. `--plots DIR` draws best-so-far curves, `--keep DIR`
keeps every trial, so that a run that was cut off goes on, and `--mechanisms` prints three small tables of single parts.

No language model is asked. The teacher improves a value with one probability and harms one with another, whatever it is
shown, so the tables compare what the trainers select and keep. They say nothing of prompts.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from trainer_trials import FIELDS, Axis, Field, Kept, Outcome, builder, field_of, trainers

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, Evaluation
from tracebench_core.specs.events import BestChanged, CandidateSeen
from tracebench_testing.toys import build_dials, build_number
from tracebench_testing.trials import Trial

RESAMPLES = 2000
TEN = 10.0
"""Means from here on are printed without decimals."""
REFERENCE = "SequentialRefine"
CLOSE = 0.02
"""Of a field's scale: a returned candidate within this of the job's best counts as the best."""
HELD_OUT = 1000
POINTS = 20
DRAWN = (
    "SequentialRefine", "PrioritySearch", "GEPA-Base", "MapElites", "Anneal", "UCBSearch", "TextualGradients", "BeamSearch",
)  # fmt: skip
"""As many curves as there are colours."""


class Estimate(NamedTuple):
    """A mean with its 95 % interval (percentile bootstrap over seeds)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 0 if abs(self.mean) >= TEN else 2
        mean, low, high = (round(x, digits) + 0.0 for x in self)  # adding zero turns -0.0 into 0.0
        return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


class TenCopies:
    """PrioritySearch as OpenTrace runs it: ten copies of the seed sampled first, and samples that count one step late."""

    copies = 10

    def train(self, problem: Problem) -> None:
        """Search until the budget ends."""
        optimizer = problem.optimizer()
        with problem.step():
            sampled = [problem.evaluate(problem.initial) for _ in range(self.copies)]
        queue: list[Evaluation] = []
        while True:
            with problem.step():
                children = [v for evaluation in sampled for v in optimizer.propose([evaluation])]
                queue += [*sampled, *problem.evaluate_many(children)]
                queue.sort(key=lambda e: -(e.score if e.score is not None else -math.inf))
                explored, queue = queue[: self.copies], queue[self.copies :]
                sampled = problem.evaluate_many([e.candidate.values for e in explored])


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of per-seed values with its interval."""
    rng = random.Random(0)
    means = sorted(math.fsum(rng.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return Estimate(math.fsum(values) / len(values), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1])


def first_hit(field: Field, trial: Trial, *, target: float) -> int:
    """Return the evaluations used when the archive's best first truly reached the target; the whole budget if it never did."""
    values = {e.id: e.values for e in trial.events if isinstance(e, CandidateSeen)}
    for event in trial.events:
        if isinstance(event, BestChanged) and field.true_score(values[event.candidate]) >= target:
            return event.used.evaluations
    return field.budget.evaluations or 0


def noise(seeds: int) -> Iterator[str]:
    """Yield the comparison of greedy and UCB under noise."""
    calm = build_dials(parameters=2)
    noisy = build_dials(parameters=2, train=4, validation=4, noise=1.0, stride=0.25)
    field = Field("noise", noisy, calm, Budget(evaluations=600, llm_calls=600))
    rows = {
        "PrioritySearch, `mean`": builder("PrioritySearch"),
        "PrioritySearch, `ucb`": builder("PrioritySearch", score_function="ucb"),
        "BasicSearch": builder("BasicSearch"),
        "UCBSearch": builder("UCBSearch"),
        "GEPA-Base": builder("GEPA-Base"),
        "GEPA-UCB": builder("GEPA-UCB"),
    }
    scores = {n: [field.true_score(field.run(b, s).best.values) for s in range(seeds)] for n, b in rows.items()}
    yield "| greedy | UCB | greedy score | UCB score | UCB minus greedy |"
    yield "|---|---|---|---|---|"
    names = list(rows)
    for greedy, bound in zip(names[::2], names[1::2], strict=True):
        gain = [b - a for a, b in zip(scores[greedy], scores[bound], strict=True)]
        yield f"| {greedy} | {bound} | {estimate(scores[greedy])} | {estimate(scores[bound])} | {estimate(gain)} |"


def acceptance(seeds: int) -> Iterator[str]:
    """Yield what GEPA's minibatch test saves."""
    toy = build_dials(validation=24)
    field = Field("acceptance", toy, toy, Budget(evaluations=2000, llm_calls=2000), improves=0.2, harms=0.6)
    target = -0.3
    yield f"| GEPA-Base | evaluations to reach {target} | final score |"
    yield "|---|---|---|"
    for title, test in (("with the minibatch test", True), ("without it", False)):
        build = builder("GEPA-Base", acceptance_test=test)
        trials = [field.run(build, s) for s in range(seeds)]
        hits = estimate([first_hit(field, t, target=target) for t in trials])
        yield f"| {title} | {hits} | {estimate([field.true_score(t.best.values) for t in trials])} |"


def ten_copies(seeds: int) -> Iterator[str]:
    """Yield the evaluations that a priority search needs on `internal:numeric_param`."""
    toy = build_number()
    field = Field("number", toy, toy, Budget(evaluations=300, llm_calls=300), improves=0.5, harms=0.3)
    rows = {
        "ours": builder("PrioritySearch"),
        "ours, 10 candidates": builder("PrioritySearch", num_candidates=10, num_proposals=1),
        "OpenTrace's behaviour": TenCopies,
    }
    yield "| PrioritySearch | evaluations to the target |"
    yield "|---|---|"
    for title, build in rows.items():
        hits = [first_hit(field, field.run(build, s), target=toy.target) for s in range(seeds)]
        yield f"| {title} | {estimate(hits)} |"


class Table:
    """The outcomes of all trainers on all fields at one budget."""

    def __init__(
        self, folder: Path, axis: Axis, seeds: Sequence[int], *, only: Collection[str], on: Collection[str]
    ) -> None:
        self.axis = axis
        self.kept = [Kept(folder, field_of(title), axis) for title in on or FIELDS]
        self.seeds = seeds
        self.trainers = {name: build for name, build in trainers().items() if not only or name in only}

    def run(self) -> None:
        """Make what is missing, seed by seed, so that what there is of a field compares all trainers on the same seeds."""
        for kept in self.kept:
            for seed in self.seeds:
                for name, build in self.trainers.items():
                    [*kept.outcomes(name, build, [seed])]

    def outcomes(self, kept: Kept, name: str) -> list[Outcome]:
        """Return a trainer's outcomes on a field, by seed."""
        return [*kept.outcomes(name, trainers()[name], self.seeds)]

    def scores(self) -> Iterator[str]:
        """Yield final scores with their intervals."""
        yield from self._rows(lambda own, _: str(estimate([o.score for o in own])))

    def differences(self) -> Iterator[str]:
        """Yield differences from the reference, paired by seed; bold where the interval leaves out 0."""

        def cell(own: Sequence[Outcome], kept: Kept) -> str:
            pairs = zip(own, self.outcomes(kept, REFERENCE), strict=True)
            found = estimate([a.score - b.score for a, b in pairs])
            return f"**{found}**" if found.low > 0 or found.high < 0 else str(found)

        yield from self._rows(cell, leave_out=REFERENCE)

    def curse(self) -> Iterator[str]:
        """Yield by how much the score that a candidate was chosen by was above its held-out score, in parts of the field's scale."""

        def cell(own: Sequence[Outcome], kept: Kept) -> str:
            return str(estimate([(o.chosen_by - o.score) / kept.field.scale for o in own if o.chosen_by is not None]))

        yield from self._rows(cell)

    def winners(self) -> Iterator[str]:
        """Yield in which part of the jobs the returned candidate was as good as the best that it compared, and as the best that it made."""
        fields = [k for k in self.kept if len(k.field.held_out) >= HELD_OUT]
        yield "| trainer | " + " | ".join(f"{k.field.title}: compared | {k.field.title}: all" for k in fields) + " |"
        yield "|---|" + "---|---|" * len(fields)
        for name in self.trainers:
            cells = [cell for k in fields for cell in self._returned(self.outcomes(k, name), CLOSE * k.field.scale)]
            yield f"| {name} | " + " | ".join(cells) + " |"

    @staticmethod
    def _returned(own: Sequence[Outcome], close: float) -> Iterator[str]:
        compared = [o.best_compared - o.score <= close for o in own if o.best_compared is not None]
        yield f"{fmean(compared):.0%}" if len(compared) == len(own) else "-"
        yield f"{fmean(o.best_seen - o.score <= close for o in own):.0%}"

    def _rows(self, cell: Callable[[Sequence[Outcome], Kept], str], *, leave_out: str = "") -> Iterator[str]:
        yield "| trainer | " + " | ".join(k.field.title for k in self.kept) + " |"
        yield "|---|" + "---|" * len(self.kept)
        for name in self.trainers:
            if name != leave_out:
                yield f"| {name} | " + " | ".join(cell(self.outcomes(k, name), k) for k in self.kept) + " |"

    def draw(self, folder: Path, names: Sequence[str]) -> None:
        """Draw best-so-far by what was used, one picture for each field, with 95 % bands over seeds.

        Drawn is the gain over the initial candidate, in parts of the field's scale.
        """
        from tracebench_analysis.figures.charts import Charts  # noqa: PLC0415 - only pictures need it

        folder.mkdir(parents=True, exist_ok=True)
        for kept in self.kept:
            rows = [row for name in names for row in self._curve(name, self.outcomes(kept, name), kept.field.scale)]
            chart = Charts([*names]).curves(rows).properties(title=f"{kept.field.title}: best so far, noise-free")
            chart.save(str(folder / f"{kept.field.title.replace(' ', '-')}-{self.axis}.svg"))

    def _curve(self, name: str, own: Sequence[Outcome], scale: float) -> Iterator[dict[str, object]]:
        place = 0 if self.axis == "evaluations" else 1
        last = max(o.evaluations if self.axis == "evaluations" else o.calls for o in own)
        for point in range(POINTS + 1):
            x = last * point / POINTS
            now = [next(s for *used, s in reversed(o.curve) if used[place] <= x) for o in own]
            found = estimate([(s - o.curve[0][2]) / scale for s, o in zip(now, own, strict=True)])
            interval = {"mean": found.mean, "low": found.low, "high": found.high}
            yield {"axis": self.axis, "trainer": name, "x": x, "carried": False, **interval}


def seeds_of(text: str) -> range:
    """Read `20` as the seeds 0 to 19 and `100-104` as those five."""
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first))


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default=range(20), help="20 for 0 to 19, or 100-104")
    parser.add_argument("--only", nargs="*", default=[], metavar="TRAINER")
    parser.add_argument("--fields", nargs="*", default=[], choices=[*FIELDS, []], metavar="FIELD")
    parser.add_argument("--axes", nargs="*", default=["evaluations", "calls"], choices=["evaluations", "calls"])
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--plots", type=Path, metavar="DIR")
    parser.add_argument("--make", action="store_true", help="only make the trials that are missing in --keep")
    parser.add_argument("--mechanisms", action="store_true", help="the three small tables instead")
    given = parser.parse_args()
    if given.mechanisms:
        for title, rows in MECHANISMS.items():
            show(f"{title} ({len(given.seeds)} seeds, mean and 95 % interval)", rows(len(given.seeds)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for axis in given.axes:
            folder = given.keep or Path(temporary)
            table = Table(folder, axis, given.seeds, only=given.only, on=given.fields)
            if given.make:
                table.run()
                continue
            at = f"at equal {'evaluations' if axis == 'evaluations' else 'model calls'}, {len(given.seeds)} seeds"
            show(f"Final score {at}: mean and 95 % interval", table.scores())
            show(f"Difference from {REFERENCE} {at}, paired", table.differences())
            show(f"Winner's curse {at}", table.curse())
            if any(len(kept.field.held_out) >= HELD_OUT for kept in table.kept):
                show(f"Jobs that returned their best {at}", table.winners())
            if given.plots:
                table.draw(given.plots, [n for n in DRAWN if n in table.trainers])


def show(title: str, rows: Iterator[str]) -> None:
    """Print a table as it grows."""
    print(f"\n## {title}\n")
    for line in rows:
        print(line, flush=True)


MECHANISMS: dict[str, Callable[[int], Iterator[str]]] = {
    "UCB under noise": noise,
    "GEPA's minibatch test": acceptance,
    "PrioritySearch on internal:numeric_param": ten_copies,
}


if __name__ == "__main__":
    main()
