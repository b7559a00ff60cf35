"""Of each experiment from a field: an edit that is known to be better, one that is known to be worse, and one that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_core.specs import Calibration

PARAMETER = "files"
Edited = dict[str, str]
_SAME: dict[str, tuple[float, int]] = {
    "tabular": (0.08, 5),
    "tokenizer": (0.0, 1),
    "compiler_flags": (0.2, 1),
    "sql_workload": (0.02, 1),
    "stock": (0.05, 3),
}
"""How far apart the same may measure, as a share, and how often it is measured."""
_KNOWN: dict[str, tuple[float, float, str]] = {
    "tabular": (-4.882, 0.1, "the standard deviation of what is to be predicted"),
    "tokenizer": (1.0, 0.0, "by construction: each piece is one character"),
    "stock": (-360.0, 0.02, "by construction: 40 pieces are missing at the end of a day, on average"),
}
"""What the worse edit measures, where that is known, too."""
_PAIRS = """\
    words = Counter(text.replace(" ", "\\0 ").split("\\0")).most_common(800)
    rows, pieces = [(list(word), count) for word, count in words], sorted(set(text))
    while len(pieces) < SIZE:
        pairs = Counter()
        for row, count in rows:
            for pair in zip(row, row[1:]):
                pairs[pair] += count
        left, right = pairs.most_common(1)[0][0]
        for row, _ in rows:
            for place in range(len(row) - 1, 0, -1):
                if row[place - 1 : place + 1] == [left, right]:
                    row[place - 1 : place + 1] = [left + right]
        pieces.append(left + right)
    return pieces
"""
_SQUARES = """\
def _with_one(rows):
    products = [rows[:, i] * rows[:, j] for i in range(rows.shape[1]) for j in range(i, rows.shape[1])]
    return np.column_stack([rows, *products, np.ones(len(rows))])
"""
_INDEXES = """\
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_day ON orders (day);
CREATE INDEX lines_by_product ON lines (product, price);
"""


def is_field(name: str) -> bool:
    """Say whether an experiment is one of these."""
    return name in _SAME


def field_cases(name: str, initial: Mapping[str, str]) -> Iterator[Calibration]:
    """Yield the four cases of one of these experiments; the initial files are the third."""
    better, worse, null = _EDITS[name](initial)
    tolerance, repeats = _SAME[name]
    if name in _KNOWN:
        expected, rel_tol, source = _KNOWN[name]
        yield _case("worse", "known", {**initial} | worse, expected=expected, rel_tol=rel_tol, source=source)
    else:
        yield _case("worse", "anchor", {**initial} | worse)
    yield _case("plain", "order", initial, other="worse", repeats=repeats)
    yield _case("better", "order", {**initial} | better, other="plain")
    yield _case("null", "same", {**initial} | null, other="plain", rel_tol=tolerance, repeats=repeats)
    if name == "stock":
        words = "by the Poisson distribution of two days' demand (newsvendor)"
        yield _case("best", "known", {**initial} | better, expected=-11.448, rel_tol=0.05, repeats=3, source=words)


def _tabular(initial: Mapping[str, str]) -> tuple[Edited, Edited, Edited]:
    plain = initial["model.py"]
    head, _, _ = plain.partition("def _with_one")
    mean = plain.replace("return _with_one(new) @ weights", "return np.full(len(new), targets.mean())")
    return {"model.py": head + _SQUARES}, {"model.py": mean}, {"model.py": plain.replace("weights", "slopes")}


def _tokenizer(initial: Mapping[str, str]) -> tuple[Edited, Edited, Edited]:
    plain = initial["learn.py"]
    begin, end = plain.index("    singles ="), plain.index("\n\nif __name__")
    pairs, singles = (
        plain[:begin] + _PAIRS + plain[end:],
        plain[:begin] + "    return sorted(set(text))\n" + plain[end:],
    )
    return {"learn.py": pairs}, {"learn.py": singles}, {"learn.py": plain.replace("singles", "letters")}


def _compiler_flags(_: Mapping[str, str]) -> tuple[Edited, Edited, Edited]:
    return {"flags.txt": "-O3\n"}, {"flags.txt": "-O0\n"}, {"flags.txt": "-O1\n-fno-ident\n"}


def _sql_workload(initial: Mapping[str, str]) -> tuple[Edited, Edited, Edited]:
    schema, queries = initial["schema.sql"], initial["queries.sql"]
    renamed = (
        queries.replace("FROM lines l", "FROM lines AS m").replace("JOIN lines l", "JOIN lines m").replace("l.", "m.")
    )
    return {"schema.sql": schema + _INDEXES}, {"schema.sql": "", "queries.sql": queries}, {"queries.sql": renamed}


def _stock(initial: Mapping[str, str]) -> tuple[Edited, Edited, Edited]:
    plain = initial["policy.json"]
    turned = "{\n" + ",\n".join(reversed([line.rstrip(",") for line in plain.splitlines()[1:-1]])) + "\n}\n"
    return (
        {"policy.json": plain.replace("60", "48")},
        {"policy.json": plain.replace("60", "0")},
        {"policy.json": turned},
    )


_EDITS = {
    "tabular": _tabular,
    "tokenizer": _tokenizer,
    "compiler_flags": _compiler_flags,
    "sql_workload": _sql_workload,
    "stock": _stock,
}


def _case(name: str, kind: Any, files: Mapping[str, str], **more: Any) -> Calibration:
    return Calibration(name=name, kind=kind, values={PARAMETER: dict(files)}, **more)
