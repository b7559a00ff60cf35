"""Per-item records that authors published, compared item by item: what was won, what was lost, and whether chance does as much."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found, Row, clustered, paired
from tracebench_open.claims.trees import Trees

LETTER = re.compile(r"(?i)answer\s*:\s*([A-D])")


def first_and_last(trees: Trees, _: Cage, *, source: str, path: str) -> Found:
    """Compare the first prediction of each question with the last one, by the letter that each names."""
    known = json.loads(trees.text(source, path))
    pairs = []
    for one in known.values():
        letters = [found[1].upper() if (found := LETTER.search(text)) else "" for text in one["predictions"]]
        pairs.append((letters[-1] == one["answer"], letters[0] == one["answer"]))
    return _in_points(pairs, "last", "first")


def two_columns(trees: Trees, _: Cage, *, source: str, path: str, one: str, other: str) -> Found:
    """Compare two columns of a table, each `True` or `False` for an item."""
    rows = csv.DictReader(io.StringIO(trees.text(source, path)))
    judged = [row for row in rows if {row[one], row[other]} <= {"True", "False"}]
    return _in_points([(row[one] == "True", row[other] == "True") for row in judged], one, other)


def by_task(trees: Trees, _: Cage, *, source: str, table: str, last: str, others: Sequence[str], solved: str) -> Found:
    """Compare two methods task by task, each task the mean over the seeds that its authors published."""
    ours: Mapping[str, list[float]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(trees.text(source, table))):
        if row["iteration_idx"] == last:
            ours[row["task_id"]].append(float(row["success"] == "True"))
    theirs: Mapping[str, list[float]] = defaultdict(list)
    for path in others:
        for line in trees.text(source, path).splitlines():
            record = json.loads(line)
            theirs[record["task_id"]].append(float(bool(record[solved])))
    if set(ours) != set(theirs):
        raise ValueError("the two were not run on the same tasks")
    differences = [100 * (sum(ours[t]) / len(ours[t]) - sum(theirs[t]) / len(theirs[t])) for t in sorted(ours)]
    seeds = [{len(found) for found in side.values()} for side in (ours, theirs)]
    means = [100 * sum(sum(f) / len(f) for f in side.values()) / len(side) for side in (ours, theirs)]
    told = [
        f"{len(ours)} tasks; {means[0]:.1f} % over {max(seeds[0])} seeds against {means[1]:.1f} % over {max(seeds[1])}.",
        "The interval is of other tasks like these.",
    ]
    return clustered(differences, told=told)


def _in_points(pairs: Sequence[tuple[bool, bool]], one: str, other: str) -> Found:
    won, lost = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    found, of = paired(won, lost, len(pairs)), len(pairs)
    row: Row = {
        "items": of,
        f"{one}": f"{100 * sum(a for a, _ in pairs) / of:.2f} %",
        f"{other}": f"{100 * sum(b for _, b in pairs) / of:.2f} %",
        "won": won,
        "lost": lost,
    }
    ends = [None if end is None else 100 * float(end) for end in (found.low, found.high)]
    return Found(100 * float(found.estimate), ends[0], ends[1], rows=[row])
