"""Table of runs of `configs/foreign_fields.yaml`: other libraries' optimizers on drawn fields, beside five rows of ours.

`python benchmarks/foreign_fields.py RUN…` prints the mean test score of each row on each family, over its drawn fields; bold is the highest
of a column, a star marks what is not resolved from it (paired by field, Holm over the columns of that row, 5 %). Then each row against
`RandomSearch` and `BestOfN`, with 95 % intervals; `!` marks what is told apart after Holm over all families and both. Then what a job used
on average. A family on which a row has not ended every job is left empty: a library that says of a task that it is not for it is
skipped there.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean

from tracebench_analysis.statistics.differences import Difference, compare_scores
from tracebench_analysis.statistics.multiplicity import holm
from tracebench_engine.api.records import load_run

AGAINST = ("RandomSearch", "BestOfN")
ALPHA = 0.05


class Table:
    """The scores of runs by family and row, and what their jobs used."""

    def __init__(self, runs: Iterable[Path]) -> None:
        self.scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        self.used: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
        fields: dict[str, set[int]] = defaultdict(set)
        for run in map(load_run, runs):
            for job in run.planned:
                family, drawn = job.task_id.partition(":")[2], job.eval_kwargs["instance"]
                fields[family].add(drawn)
                brief = run.briefs.get(job.job_id)
                if brief is None or brief.score_test is None or brief.used is None:
                    continue
                self.scores[family][job.trainer_id][drawn] = brief.score_test
                used = (brief.used.llm_calls, brief.used.evaluations, brief.used.tokens, brief.time_seconds)
                self.used[family, job.trainer_id].append(used)
        for family, rows in self.scores.items():
            for name in [name for name, own in rows.items() if own.keys() != fields[family]]:
                del rows[name]
        self.families = [family for family, rows in self.scores.items() if rows]
        names = {name for rows in self.scores.values() for name in rows}
        self.rows = sorted(names, key=self._place)

    def mean(self, family: str, name: str) -> float:
        """Return a row's mean over the fields of a family."""
        return fmean(self.scores[family][name].values())

    def _place(self, name: str) -> tuple[int, float]:
        own = [self.mean(family, name) for family in self.families if name in self.scores[family]]
        return -len(own), -fmean(own)

    def _first(self, family: str) -> str:
        return max(self.scores[family], key=lambda name: self.mean(family, name))

    def difference(self, family: str, one: str, other: str) -> Difference:
        """Return one row minus another, paired by field."""
        found = compare_scores(*({family: self.scores[family][name]} for name in (one, other)))
        assert found is not None
        return found

    def means(self) -> Iterator[str]:
        """Yield the mean scores."""
        yield f"| row | {' | '.join(f'`{family}`' for family in self.families)} |"
        yield "|---|" + "---|" * len(self.families)
        first = {family: self._first(family) for family in self.families}
        for name in self.rows:
            others = [f for f in self.families if name in self.scores[f] and first[f] != name]
            level = dict(zip(others, _adjusted(self.difference(f, first[f], name) for f in others), strict=True))
            cells = []
            for family in self.families:
                if name not in self.scores[family]:
                    cells.append("")
                elif first[family] == name:
                    cells.append(f"**{self.mean(family, name):.3f}**")
                else:
                    p = level[family]
                    cells.append(f"{self.mean(family, name):.3f}{'*' if p is None or p > ALPHA else ''}")
            yield f"| {name} | {' | '.join(cells)} |"

    def against(self) -> Iterator[str]:
        """Yield each row's differences from the baselines."""
        yield f"| row | {' | '.join(f'`{f}` minus {o}' for f in self.families for o in AGAINST)} |"
        yield "|---|" + "---|" * (len(self.families) * len(AGAINST))
        for name in self.rows:
            keys = [(f, o) for f in self.families for o in AGAINST if o != name and {o, name} <= self.scores[f].keys()]
            found = {key: self.difference(key[0], name, key[1]) for key in keys}
            adjusted = dict(zip(keys, _adjusted(found.values()), strict=True))
            cells = [_cell(found.get((f, o)), adjusted.get((f, o))) for f in self.families for o in AGAINST]
            yield f"| {name} | {' | '.join(cells)} |"

    def spent(self) -> Iterator[str]:
        """Yield what a job used on average."""
        yield "| row | jobs | calls | evaluations | tokens | seconds |"
        yield "|---|---|---|---|---|---|"
        for name in self.rows:
            jobs = [used for family in self.families if name in self.scores[family] for used in self.used[family, name]]
            calls, evaluations, tokens, seconds = map(fmean, zip(*jobs, strict=True))
            yield f"| {name} | {len(jobs)} | {calls:.1f} | {evaluations:.0f} | {tokens:.0f} | {seconds:.1f} |"


def _adjusted(found: Iterable[Difference]) -> list[float | None]:
    return holm([1.0 if d.probability is None and d.interval.estimate == 0 else d.probability for d in found])


def _cell(found: Difference | None, p: float | None) -> str:
    if found is None:
        return ""
    low, high = found.interval.low, found.interval.high
    inside = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
    return f"{found.interval.estimate:+.2f}{inside}{'' if p is None or p > ALPHA else ' !'}"


def main() -> None:
    """Print the tables of the runs that are named."""
    table = Table(map(Path, sys.argv[1:]))
    for part in (table.means(), table.against(), table.spent()):
        print(*part, "", sep="\n")


if __name__ == "__main__":
    main()
