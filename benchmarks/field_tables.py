"""Tables of our trainers on drawn fields: families x budgets x seeds, with those that choose nothing as rows.

`python benchmarks/field_tables.py --keep DIR` prints, for each budget, the mean score of what each trainer returned on each family, how
often a job returned what it was given, and how much better its best candidate was (regret); then in how many cells a row is better and
worse than `BestOfN` and `RandomSearch`, paired by seed with Holm's correction over all of its cells, and in how many it is first or not
resolved from the first. Each seed is another field. Calls and evaluations are capped alike: with each call go 40 evaluations. With
`--keep` a run that was cut off goes on; `--make` prints no table. `--rows`, `--families`, `--calls` and `--seeds` cut it down. The held
half and the families in reserve need the secret of a release: `--half reserve --release NAME`. `--check-code` tells whether jobs on
`code` come out as they do in the sandbox.

The model is a script that improves in 35 of 100 answers and harms in 45, whatever it is shown: the tables compare what trainers choose
and keep, and say nothing of prompts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple, get_args

from field_trials import PER_CALL, Cell, Kept, Outcome, check_code, rows, this_commit

from tracebench_analysis.statistics.differences import Difference, compare_scores
from tracebench_analysis.statistics.intervals import t_interval
from tracebench_analysis.statistics.multiplicity import holm
from tracebench_analysis.statistics.resolution import paired_seeds_to_resolve
from tracebench_core.errors import TraceBenchError
from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Half
from tracebench_fields.releases import OPEN, secret_of

CALLS = (20, 60, 200)
AGAINST = ("BestOfN", "RandomSearch")
ALPHA = 0.05
HALVES: dict[str, tuple[Half, ...]] = {
    "open": ("open",),
    "held": ("held",),
    "reserve": ("reserve",),
    "both": ("open", "held"),
    "all": get_args(Half),
}
IDLE = ("NoOp", "RandomSearch")
"""Rows that ask no model, whose differences from others say nothing of seeds."""
WORTH = (0.05, 0.1, 0.2)
"""Differences that somebody may want to see."""


class Judged(NamedTuple):
    """One row of one cell against another row of it."""

    difference: Difference
    p: float | None
    """After Holm."""

    @property
    def word(self) -> str:
        """Whether it is told apart."""
        if self.p is None or self.p > ALPHA:
            return "same"
        return "better" if self.difference.interval.estimate > 0 else "worse"


class Table:
    """All trials that were asked for, made or found."""

    def __init__(self, folder: Path, cells: Sequence[Cell], seeds: Sequence[int], names: Sequence[str]) -> None:
        self.seeds = seeds
        self.rows = rows(names)
        self.kept = {cell: Kept(folder, cell) for cell in cells}
        self.commit = this_commit()

    def make(self) -> None:
        """Make what is missing, the cheapest budgets first."""
        for cell in sorted(self.kept, key=lambda c: c.calls):
            for name, build in self.rows.items():
                for _ in self.kept[cell].make(name, build, self.seeds, commit=self.commit):
                    pass

    def own(self, cell: Cell, name: str) -> list[Outcome]:
        """Return the outcomes of a row in a cell; none where one is missing."""
        found = [self.kept[cell].known.get((name, seed)) for seed in self.seeds]
        return [o for o in found if o is not None] if all(found) else []

    def difference(self, cell: Cell, one: str, other: str) -> Difference:
        """Return one row minus another, paired by seed."""
        scores = [{cell.family: {o.seed: o.score for o in self.own(cell, name)}} for name in (one, other)]
        found = compare_scores(*scores)
        assert found is not None
        return found

    def judged(self, name: str, others: Sequence[str] = AGAINST) -> dict[tuple[Cell, str], Judged]:
        """Return a row against others in every cell, Holm over all of these comparisons."""
        keys = [(c, o) for c in self.kept for o in others if o != name and self.own(c, name) and self.own(c, o)]
        found = [self.difference(cell, name, other) for cell, other in keys]
        adjusted = holm([_probability(d) for d in found])
        return {key: Judged(d, p) for key, d, p in zip(keys, found, adjusted, strict=True)}

    def commits(self) -> list[str]:
        """Return the commits that the trials shown were made at."""
        return sorted({o.commit for cell in self.kept for name in self.rows for o in self.own(cell, name)})

    def scores(self, calls: int) -> Iterator[str]:
        """Yield the mean scores at one budget; bold is whoever is first, a star marks what is not told apart from it."""
        cells = [c for c in self.kept if c.calls == calls]
        yield (
            f"| {calls} calls | "
            + " | ".join(f"`{c.family}`" for c in cells)
            + " | mean | returned the initial one | regret |"
        )
        yield "|---|" + "---|" * (len(cells) + 3)
        shown = [n for n in self.rows if all(self.own(c, n) for c in cells)]
        means = {n: {c: fmean(o.score for o in self.own(c, n)) for c in cells} for n in shown}
        first = {c: max(shown, key=lambda n: means[n][c]) for c in cells}
        level = self.level(cells, shown, first)
        for name in sorted(shown, key=lambda n: -fmean(means[n].values())):
            marks = [
                ("**{:.3f}**" if first[c] == name else "{:.3f}*" if level[c, name] else "{:.3f}").format(means[name][c])
                for c in cells
            ]
            all_ = [o for c in cells for o in self.own(c, name)]
            kept = sum(o.is_initial for o in all_)
            regret = fmean(o.best_made - o.score for o in all_)
            yield f"| {name} | {' | '.join(marks)} | {fmean(means[name].values()):.3f} | {kept / len(all_):.0%} | {regret:.3f} |"

    def level(
        self, cells: Sequence[Cell], shown: Sequence[str], first: dict[Cell, str]
    ) -> dict[tuple[Cell, str], bool]:
        """Tell who is not resolved from the first of its cell, Holm within each row over the cells."""
        found: dict[tuple[Cell, str], bool] = {}
        for name in shown:
            others = [c for c in cells if first[c] != name]
            adjusted = holm([_probability(self.difference(c, first[c], name)) for c in others])
            found |= {(c, name): p is None or p > ALPHA for c, p in zip(others, adjusted, strict=True)}
            found |= {(c, name): True for c in cells if first[c] == name}
        return found

    def against(self) -> Iterator[str]:
        """Yield for each row in how many cells it is better and worse than the baselines, and first or level with the first."""
        yield "| row | cells | better than `BestOfN` | worse | better than `RandomSearch` | worse | first | first or level with it |"
        yield "|---|---|---|---|---|---|---|---|"
        cells = list(self.kept)
        shown = [n for n in self.rows if all(self.own(c, n) for c in cells)]
        means = {(c, n): fmean(o.score for o in self.own(c, n)) for n in shown for c in cells}
        first = {c: max(shown, key=lambda n: means[c, n]) for c in cells}
        level = self.level(cells, shown, first)
        lines = []
        for name in shown:
            words = [(other, j.word) for (_, other), j in self.judged(name).items()]
            counts = [words.count((o, w)) if o != name else "" for o in AGAINST for w in ("better", "worse")]
            top, near = sum(first[c] == name for c in cells), sum(level[c, name] for c in cells)
            lines.append(
                (near, f"| {name} | {len(cells)} | {' | '.join(map(str, counts))} | {top} | {near / len(cells):.0%} |")
            )
        yield from (line for _, line in sorted(lines, key=lambda pair: -pair[0]))

    def needed(self, name: str) -> Iterator[str]:
        """Yield how far differences between a row and the others spread over seeds, and how many seeds resolve some of them."""
        yield f"| family, beside `{name}` | calls | SD of a paired difference | {' | '.join(f'seeds for {d:g}' for d in WORTH)} |"
        yield "|---|---|---|" + "---|" * len(WORTH)
        for cell in self.kept:
            others = [n for n in self.rows if n not in {name, *IDLE} and self.own(cell, n)]
            if not self.own(cell, name) or not others:
                continue
            own = {o.seed: o.score for o in self.own(cell, name)}
            spread = sqrt(fmean(variance([own[o.seed] - o.score for o in self.own(cell, n)]) for n in others))
            seeds = [paired_seeds_to_resolve(d / spread) if spread else 2 for d in WORTH]
            yield f"| {cell.family} | {cell.calls} | {spread:.3f} | {' | '.join(map(str, seeds))} |"

    def row(self, name: str) -> Iterator[str]:
        """Yield a row's differences from the baselines in every cell."""
        yield f"| `{name}` | calls | score | minus `BestOfN` | p (Holm) | minus `RandomSearch` | p (Holm) |"
        yield "|---|---|---|---|---|---|---|"
        judged = self.judged(name)
        for cell in self.kept:
            if not self.own(cell, name):
                continue
            words = []
            for other in AGAINST:
                if (cell, other) in judged:
                    d, p = judged[cell, other]
                    low, high = d.interval.low, d.interval.high
                    inside = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
                    words += [f"{d.interval.estimate:+.3f}{inside}", "-" if p is None else f"{p:.3g}"]
                else:
                    words += ["", ""]
            mean = fmean(o.score for o in self.own(cell, name))
            yield f"| {cell.family} | {cell.calls} | {mean:.3f} | {' | '.join(words)} |"

    def draw(self, path: Path) -> None:
        """Draw the mean over the families by calls, with 95 % bands over seeds, of the rows that were run in every cell."""
        import altair as alt  # noqa: PLC0415 - only pictures need it

        shown = [name for name in self.rows if all(self.own(cell, name) for cell in self.kept)]
        points = []
        for name in shown:
            for calls in sorted({cell.calls for cell in self.kept}):
                own = [self.own(cell, name) for cell in self.kept if cell.calls == calls]
                found = t_interval([[fmean(o.score for o in drawn) for drawn in zip(*own, strict=True)]])
                points.append(
                    {"row": name, "calls": calls, "mean": found.estimate, "low": found.low, "high": found.high}
                )
        calls = alt.X("calls:Q", title="model calls", scale=alt.Scale(type="log"), axis=alt.Axis(values=list(CALLS)))
        base = alt.Chart(alt.Data(values=points)).encode(x=calls)
        edges = {"y": alt.Y("low:Q", title="mean over the families"), "y2": "high:Q"}
        band = base.mark_area(opacity=0.12).encode(color=alt.Color("row:N", sort=shown, legend=None), **edges)
        line = base.mark_line(point=True).encode(y=alt.Y("mean:Q"), color=alt.Color("row:N", sort=shown, title=None))
        alt.layer(band, line).resolve_legend(color="independent").properties(width=480, height=280).save(str(path))


def _probability(found: Difference) -> float | None:
    """Return the probability; 1 where all pairs are equal."""
    if found.probability is None and found.interval.estimate == 0:
        return 1.0
    return found.probability


def refuse_shut(families: Sequence[str], release: str) -> None:
    """End where a family has no open fields, so that nobody makes a trainer with it, or the release's secret is not here."""
    if release == OPEN and (shut := [name for name in families if FAMILIES[name].half != "open"]):
        raise SystemExit(f"`{shut[0]}` has no open fields; name a release whose secret is here: --release NAME")
    try:
        secret_of(release)
    except TraceBenchError as err:
        raise SystemExit(f"{err} {err.hint}".strip()) from err


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where trials are kept, outside of the repository")
    parser.add_argument("--make", action="store_true", help="only make what is missing in --keep")
    parser.add_argument("--half", choices=[*HALVES], default="open", help="`both` are open and held")
    parser.add_argument("--families", nargs="+", choices=sorted(FAMILIES), metavar="FAMILY")
    parser.add_argument("--release", default="open")
    parser.add_argument("--calls", nargs="+", type=int, default=CALLS)
    parser.add_argument(
        "--per-call", type=int, default=PER_CALL, help="evaluations that go with each call; 0 where they are free"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", nargs="+", default=[], metavar="ROW")
    parser.add_argument(
        "--detail", nargs="*", default=["Adaptive"], metavar="ROW", help="rows whose every cell is shown"
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw means by calls as an SVG, and print no table"
    )
    parser.add_argument("--check-code", action="store_true")
    asked = parser.parse_args()
    if asked.check_code:
        for line in check_code(range(asked.seeds), asked.calls[0]):
            print(line, flush=True)
        return
    names = asked.families or [n for n, f in FAMILIES.items() if f.half in HALVES[asked.half]]
    refuse_shut(names, asked.release)
    cells = [Cell(name, calls, asked.release, asked.per_call or None) for calls in asked.calls for name in names]
    with tempfile.TemporaryDirectory() as temporary:
        table = Table(asked.keep or Path(temporary), cells, range(asked.seeds), asked.rows)
        table.make()
        if asked.make:
            return
        if asked.picture:
            table.draw(asked.picture)
            return
        print(f"Release `{asked.release}`, seeds 0 to {asked.seeds - 1}, made at {', '.join(table.commits())}.\n")
        for calls in asked.calls:
            show(table.scores(calls))
        show(table.against())
        for name in asked.detail:
            if name in table.rows:
                show(table.row(name))
                show(table.needed(name))


def show(lines: Iterator[str]) -> None:
    """Print a table."""
    for line in lines:
        print(line, flush=True)
    print()


if __name__ == "__main__":
    main()
