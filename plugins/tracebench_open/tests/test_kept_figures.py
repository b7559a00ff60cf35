"""Figures of claims, kept in a file: measured once under a rule, said where they cannot be had, and read under no other rule."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_open.tests.test_claims import clone

from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_open.claims import packings, results, routing
from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found
from tracebench_open.claims.packing import certify
from tracebench_open.claims.trees import Trees


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (Found(Fraction(1, 3), Fraction(1, 4), Fraction(2, 1)), ["0." + "3" * 30, "0.25", "2"]),
        (Found(0.1, None, float("inf")), ["0.1", None, "inf"]),
        (Found(-2.0, float("-inf"), 0.0), ["-2.0", "-inf", "0.0"]),
    ],
)
def test_a_figure_is_kept_in_digits_and_read_as_it_was(found: Found, kept: list[str | None]) -> None:
    plain = results._plain(found)
    assert [plain[name] for name in ("estimate", "low", "high")] == kept
    again = results.found_of(json.loads(json.dumps(plain)))
    for name in ("estimate", "low", "high"):
        one, other = getattr(found, name), getattr(again, name)
        assert one == other or abs(float(one) - float(other)) < 1e-29


def test_a_figure_that_is_not_there_is_0_without_ends() -> None:
    again = results.found_of({"estimate": None, "low": None, "high": None, "told": ["so"], "rows": [{"a": 1}]})
    assert (again.estimate, again.low, again.high) == (0, None, None)
    assert ([*again.told], [*again.rows]) == (["so"], [{"a": 1}])


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"kind": "x", "claims": {}}', '{"kind": "public-claims", "claims": {"a": {}}}']
)
def test_a_file_that_holds_no_figures_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(UsageError, match="holds no results of claims: ") as error:
        results._opened(tmp_path / "f.json")
    assert error.value.hint == "trace-bench open-bench claims repeat --root FOLDER --to ANOTHER-FILE"
    with pytest.raises(UsageError, match=r"none\.json` cannot be read: No such file"):
        results._opened(tmp_path / "none.json")


def test_a_program_is_the_first_block_after_its_mark() -> None:
    one, other = "```\nx = 1\n```\n", "```\nx = 2\n```\n"
    assert routing.last_program(f"{one}{routing.MARK}\n{other}{one}") == "x = 2\n"
    for text in (one, f"{routing.MARK}\n```\nx = 1\n", f"{one}{routing.MARK}\nwords"):
        with pytest.raises(TraceBenchError) as error:
            routing.last_program(text)
        assert str(error.value) == "No block of code follows `**Optimized artifact**`."


class Played:
    """A cage whose program gives costs that were written down."""

    def __init__(self, *costs: dict[str, float]) -> None:
        self.left, self.asked = [*costs], list[Any]()

    def run(self, _name: str, files: Any, arguments: Any, *, seed: int) -> Any:
        self.asked.append((files["program.py"], arguments, seed, sorted(files)))
        return {"costs": self.left.pop(0), "versions": {"python": "3"}}


def test_a_draw_saves_what_all_scenarios_cost_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "_DRAWS", {})
    files = {"w.md": f"{routing.MARK}\n```\nbetter\n```\n", "e/initial_program.py": "usual", "e/config/a.json": "{}"}
    trees = Trees(tmp_path, {"it": clone(tmp_path, files)})
    cage = Played({"a": 100.0, "b": 300.0}, {"a": 50.0, "b": 300.0}, {"a": 100.0, "b": 200.0}, {"a": 80.0, "b": 260.0})
    where = {"source": "it", "program": "w.md", "folder": "e/"}

    found = routing.saving(trees, cage, seeds=3, **where)  # type: ignore[arg-type]
    assert found.estimate == pytest.approx((12.5 + 25 + 15) / 3)
    assert found.told[0].startswith("One draw saves 12.50 to 25.00 %;")
    assert found.told[1].endswith(f"is {(25 + 100 / 6 + (20 + 40 / 3) / 2) / 3:.2f} %.")
    assert dict(found.rows[0]) == {
        "draws": 3, "least": "12.50 %", "first quartile": "12.50 %", "median": "15.00 %", "third quartile": "25.00 %",
        "most": "25.00 %",
    }  # fmt: skip
    assert [one[:3] for one in cage.asked] == [("usual", [2], 0), *(("better\n", [2], seed) for seed in range(3))]
    assert "scenarios/a.json" in cage.asked[0][3]
    hit = routing.reached(trees, cage, seeds=3, figure=15.0, **where)  # type: ignore[arg-type]
    assert (hit.estimate, [*hit.told]) == (2 / 3, ["2 of 3 draws."])
    assert len(cage.asked) == 4, "what was drawn is not drawn again"


TOUCHING = [[0.25, 0.25, 0.25], [0.75, 0.25, 0.25]]
OVER = [[0.25, 0.25, 0.25], [0.75, 0.25, 0.375]]


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"source": cell.splitlines(keepends=True)} for cell in cells]})


def test_published_points_are_judged_as_they_lie_in_files(tmp_path: Path) -> None:
    table = "x,y,radius\n" + "".join(",".join(map(str, one)) + "\n" for one in OVER)
    files = {"n.ipynb": notebook("x = 1", f"import a\nfound = array({TOUCHING})", "y = f()\nz = f()"), "t.csv": table}
    trees, cage = Trees(tmp_path, {"it": clone(tmp_path, files)}), Cage()
    found = packings.of_notebook(trees, cage, source="it", path="n.ipynb", cell=1, tolerance="0")
    assert (found.estimate, found.low, found.high) == (Fraction(1, 2),) * 3
    assert found.told == ["2 circles, 1 pairs and 8 walls in rationals: every inequality holds."]
    for cell in (0, 2):
        with pytest.raises(TraceBenchError, match=rf"Cell {cell} of `n\.ipynb` assigns no circles\."):
            packings.of_notebook(trees, cage, source="it", path="n.ipynb", cell=cell, tolerance="0")

    given = packings.of_table(trees, cage, source="it", path="t.csv", tolerance="0.125")
    assert given.estimate == Fraction(5, 8)
    strict = packings.of_table(trees, cage, source="it", path="t.csv", tolerance="0")
    assert strict.estimate < Fraction(5, 8)
    assert "it does not hold as it is, so that every radius gave way." in strict.told[0]
    row = dict(strict.rows[0])
    assert (row["packing"], row["holds at 0"]) == ("the published points", "no")
    assert dict(given.rows[0])["holds at 0.125"] == "yes"
    assert row["worst violation"] == "0.12"


def test_of_several_draws_the_best_the_median_and_the_worst_that_hold_are_told() -> None:
    def one(radius: float) -> Any:
        return certify([[Fraction(1, 2), Fraction(1, 2), Fraction(radius)]])

    rows = packings.summed([one(0.25), one(0.75), one(0.125), one(0.5)], Fraction(0))
    assert [(row["packing"], str(row["sum as it is"])[:5]) for row in rows] == [
        ("best draw", "0.500"), ("median draw", "0.250"), ("worst draw", "0.125"),
    ]  # fmt: skip
    none = packings.summed([one(0.75), one(0.875)], Fraction(0))
    assert [str(row["sum as it is"])[:5] for row in none] == ["0.875", "0.875", "0.750"]
    assert packings._said([one(0.25), one(0.75)], Fraction(0)).startswith("1 of 2 draws hold at 0 (")
    assert packings.of_doubles([["0x1.0p-1", "0x1.8p+0"]]) == [[Fraction(1, 2), Fraction(3, 2)]]
