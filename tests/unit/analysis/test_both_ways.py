"""What the functions say of a table, `compare --gate` says of the run that holds it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.gates import Gate, is_met
from tracebench_analysis.statistics.differences import Scores, compare_scores
from tracebench_core.errors import UsageError


def draw(number: int) -> tuple[Scores, Scores]:
    """Return a random table: some seeds without a partner, shares or wide tails, a difference or none."""
    rng = random.Random(number)
    tasks, seeds = rng.choice([1, 3]), rng.choice([2, 3, 5])
    shift, of = rng.choice([0.0, 0.0, 0.5]), rng.choice([0, 5, 20])

    def score(better: bool) -> float:
        found = rng.gauss(0.4, 0.3) + shift * better
        return round(min(1.0, max(0.0, found)) * of) / of if of else found

    def entrant(better: bool, start: int) -> Scores:
        return {f"s:{t}": {start + s: score(better) for s in range(seeds)} for t in range(tasks)}

    return entrant(True, 0), entrant(False, rng.choice([0, 0, 1, seeds]))


def agree(number: int, folder: Path) -> None:
    one, other = draw(number)
    tables = {"A": one, "B": other}
    seeds = sorted({seed for table in tables.values() for found in table.values() for seed in found})
    gone = {(e, t, s): "skipped" for e, table in tables.items() for t in one for s in seeds if s not in table[t]}
    run = make_run(
        folder / f"r{number}", lambda e, t, s: tables[e][t].get(s), tasks=[*one], seeds=seeds, statuses=gone,  # type: ignore[arg-type]
    )  # fmt: skip
    found, direct = compare_runs([run]), compare_scores(one, other)
    pair = found.pair("A", "B")

    assert direct is not None
    assert pair is not None
    assert pair.difference.interval == direct.interval
    assert pair.difference.probability == direct.probability
    clear = direct.probability is not None and direct.probability < 0.05
    try:
        met = is_met(Gate("A", "B"), found), is_met(Gate("B", "A"), found)
    except UsageError:
        assert pair.against, "a gate is refused where tasks disagree, and nowhere else"
    else:
        assert met == (clear and direct.interval.estimate > 0, clear and direct.interval.estimate < 0)


def test_functions_and_runs_agree_on_random_tables(tmp_path: Path) -> None:
    for number in range(25):
        agree(number, tmp_path)


@pytest.mark.heavy("soak")
def test_functions_and_runs_agree_on_a_thousand_random_tables(tmp_path: Path) -> None:
    for number in range(1000):
        agree(number, tmp_path)
