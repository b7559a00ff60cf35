"""Stock sheets of at most two sizes for pieces of many, in OR-Library's `assort` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, number, shown

TOLERANCE = 1e-9
"""Relative to the sheet's larger side."""
SIZES = 2
"""How many different stock sizes may be used."""


class Sheet(NamedTuple):
    """One piece on a sheet: its corners."""

    x: float
    y: float
    right: float
    top: float


class Assortment(Problem):
    """Any number of sheets of two sizes, pieces between a least and a greatest number."""

    name = "optimization/co_bench/assortment_problem_co_bench"
    folder = "Assortment problem"
    bound_source = "no waste at all,"
    program = '''
def solve(m: int, stocks: list, pieces: list) -> dict:
    """Fill shelves on sheets of every pair of sizes with the required pieces, and keep the pair that wastes least."""
    order = [k for k, p in enumerate(pieces) for _ in range(p["min"])]
    order.sort(key=lambda k: -pieces[k]["width"])
    best, least = None, None
    for a in range(len(stocks)):
        for b in range(a, len(stocks)):
            sheets, total = {}, 0.0
            for k in order:
                length, width = pieces[k]["length"], pieces[k]["width"]
                spot = None
                for number, sheet in sheets.items():
                    stock = stocks[sheet["stock_type"] - 1]
                    for shelf in sheet["shelves"]:
                        if shelf[1] + length <= stock["length"] and width <= shelf[2]:
                            spot = (number, shelf)
                            break
                    if spot is None and sheet["top"] + width <= stock["width"] and length <= stock["length"]:
                        shelf = [sheet["top"], 0.0, width]
                        sheet["shelves"].append(shelf)
                        sheet["top"] += width
                        spot = (number, shelf)
                    if spot:
                        break
                if spot is None:
                    fitting = [t for t in (a, b) if length <= stocks[t]["length"] and width <= stocks[t]["width"]]
                    if not fitting:
                        break
                    t = min(fitting, key=lambda i: stocks[i]["length"] * stocks[i]["width"])
                    shelf = [0.0, 0.0, width]
                    number = len(sheets) + 1
                    sheets[number] = {"stock_type": t + 1, "top": width, "shelves": [shelf], "placements": []}
                    total += stocks[t]["length"] * stocks[t]["width"]
                    spot = (number, shelf)
                number, shelf = spot
                entry = {"piece": k + 1, "x": shelf[1], "y": shelf[0], "orientation": 0}
                sheets[number]["placements"].append(entry)
                shelf[1] += length
            else:
                if least is None or total < least:
                    kept = ("stock_type", "placements")
                    best, least = {n: {key: s[key] for key in kept} for n, s in sheets.items()}, total
    return {"objective": 0.0, "placements": best}
'''
    objective = """
Assortment: cut pieces from rectangular stock sheets of at most two of the given sizes, with little waste. Write `solve(m, stocks, pieces)`.
- `m` (int): how many types of pieces there are.
- `stocks` (list of dicts): `"length"`, `"width"` (floats) and `"fixed_cost"` (not scored) of each size; there is no limit on sheets.
- `pieces` (list of m dicts): `"length"`, `"width"` (floats), `"min"` and `"max"` (ints: how often it must and may be cut), `"value"` (not \
scored).
Return `{"objective": number, "placements": {sheet: {"stock_type": t, "placements": [{"piece": k, "x": x, "y": y, "orientation": o}, \
...]}, ...}}`: for each sheet, numbered as you like, its size t from 1, and its pieces: type k from 1, lower left corner, 0 for length \
along x or 1 for width along x. Nothing overlaps or leaves its sheet; each type is cut between min and max times over all sheets.
Score: minus the share of the area of all sheets used that no piece covers (0 to 1), averaged over cases. `objective` is not looked at.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of: m, n, cost of waste; length, width, fixed cost of n sizes; length, width, min, max, value of m pieces."""
        tokens = Tokens(text)
        while tokens.left:
            m, n, _waste_cost = tokens.whole(), tokens.whole(), tokens.number()
            sizes = [dict(zip(("length", "width", "fixed_cost"), tokens.numbers(3), strict=True)) for _ in range(n)]
            pieces: list[dict[str, Any]] = []
            for _ in range(m):
                sides = dict(zip(("length", "width"), tokens.numbers(2), strict=True))
                pieces.append({**sides, "min": tokens.whole(), "max": tokens.whole(), "value": tokens.number()})
            yield Case({"m": m, "stocks": sizes, "pieces": pieces})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case: 4 sizes with sides of 40 to 80, 6 types of pieces with sides of 8 to 30, each from 1 to 4 times."""
        lines = ["6 4 1"]
        lines += [f"{a} {b} {a * b}" for a, b in rng.integers(40, 81, (4, 2))]
        lines += [
            f"{a} {b} {least} {least + 2} {a * b}" for a, b, least in rng.integers((8, 8, 1), (31, 31, 3), (6, 3))
        ]
        return "\n".join(lines) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the wasted share."""
        stocks, pieces = case.arguments["stocks"], case.arguments["pieces"]
        sheets = part(answer, "placements")
        if not isinstance(sheets, dict) or not sheets:
            raise invalid(f"`placements` must be a dictionary of sheets; it is {shown(sheets)}.")
        counts, used, area, types = [0] * len(pieces), 0.0, 0.0, set()
        for key, sheet in sheets.items():
            if not isinstance(sheet, dict):
                raise invalid(f"Sheet {shown(key)} must be a dictionary; it is {shown(sheet)}.")
            kind = chosen(part(sheet, "stock_type"), allowed=range(1, len(stocks) + 1), what="a stock type")
            types.add(kind)
            stock = stocks[kind - 1]
            area += stock["length"] * stock["width"]
            for piece in self._placed(sheet, stock, pieces, where=f"Sheet {shown(key)}"):
                counts[piece] += 1
                used += pieces[piece]["length"] * pieces[piece]["width"]
        if len(types) > SIZES:
            raise invalid(f"{len(types)} stock sizes are used, more than {SIZES}.")
        for k, (count, piece) in enumerate(zip(counts, pieces, strict=True), start=1):
            if not piece["min"] <= count <= piece["max"]:
                raise invalid(f"Piece {k} is cut {count} times, not {piece['min']} to {piece['max']} times.")
        return float(max(0.0, 1.0 - used / area))

    def simple_bound(self, case: Case) -> float:
        """Return no waste."""
        return 0.0

    @staticmethod
    def _placed(sheet: Mapping[str, Any], stock: Mapping[str, float], pieces: Any, *, where: str) -> list[int]:
        """Check one sheet and return the types of its pieces, from 0."""
        listed = part(sheet, "placements")
        if not isinstance(listed, list | tuple) or not all(isinstance(p, dict) for p in listed):
            raise invalid(f"{where}: `placements` must be a list of dictionaries; it is {shown(listed)}.")
        slack = TOLERANCE * max(stock["length"], stock["width"])
        done: list[Sheet] = []
        kinds = []
        for k, entry in enumerate(listed, start=1):
            kind = chosen(part(entry, "piece"), allowed=range(1, len(pieces) + 1), what="a piece") - 1
            x, y = (number(part(entry, axis), what=f"`{axis}`") for axis in ("x", "y"))
            turned = chosen(part(entry, "orientation"), allowed=range(2), what="an orientation")
            sides = (pieces[kind]["length"], pieces[kind]["width"])
            right, top = x + sides[turned], y + sides[1 - turned]
            if x < -slack or y < -slack or right > stock["length"] + slack or top > stock["width"] + slack:
                raise invalid(
                    f"{where}: placement {k} reaches from ({x:g}, {y:g}) to ({right:g}, {top:g}), beyond the sheet."
                )
            for j, other in enumerate(done, start=1):
                apart = (
                    min(right, other.right) - max(x, other.x) <= slack or min(top, other.top) - max(y, other.y) <= slack
                )
                if not apart:
                    raise invalid(f"{where}: placements {j} and {k} overlap.")
            done.append(Sheet(x, y, right, top))
            kinds.append(kind)
        return kinds


build_assortment = Assortment.build
