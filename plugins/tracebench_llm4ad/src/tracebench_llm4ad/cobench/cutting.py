"""Pieces cut from one sheet: freely or by guillotine, in OR-Library's formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, integers, shown, whole


@dataclass(frozen=True, slots=True)
class Cut:
    """One placed piece: its lower left and upper right corner."""

    x: int
    y: int
    right: int
    top: int


def require_apart(cuts: Sequence[Cut], *, length: int, width: int) -> None:
    """Refuse pieces that leave the sheet or overlap."""
    for k, cut in enumerate(cuts, start=1):
        if cut.x < 0 or cut.y < 0 or cut.right > length or cut.top > width:
            raise invalid(
                f"Placement {k} covers ({cut.x}, {cut.y}) to ({cut.right}, {cut.top}), beyond the {length} x {width} sheet."
            )
        for other_k, other in enumerate(cuts[: k - 1], start=1):
            if cut.x < other.right and other.x < cut.right and cut.y < other.top and other.y < cut.top:
                raise invalid(f"Placements {other_k} and {k} overlap.")


def is_guillotine(cuts: Sequence[Cut]) -> bool:
    """Return whether straight cuts through the whole of what is left can separate all pieces."""
    pending = [list(cuts)]
    while pending:
        group = pending.pop()
        if len(group) < 2:  # noqa: PLR2004 - one piece is separate
            continue
        split = _split([(c.x, c.right, c) for c in group]) or _split([(c.y, c.top, c) for c in group])
        if split is None:
            return False
        pending += split
    return True


def _split(spans: list[tuple[int, int, Cut]]) -> tuple[list[Cut], list[Cut]] | None:
    """Return the pieces before and after a cut across the spans, or None when each cut would go through a piece."""
    spans.sort(key=lambda span: span[:2])
    reach = spans[0][1]
    for k, (before, after) in enumerate(pairwise(spans), start=1):
        reach = max(reach, before[1])
        if after[0] >= reach:
            return [c for _, _, c in spans[:k]], [c for _, _, c in spans[k:]]
    return None


def require_guillotine(cuts: Sequence[Cut]) -> None:
    """Refuse placements that no sequence of straight cuts from edge to edge can separate."""
    if not is_guillotine(cuts):
        raise invalid("The placements cannot be separated by straight cuts from edge to edge (guillotine cuts).")


def listed(value: Any, *, width: int) -> list[list[int]]:
    """Return placements as lists of `width` integers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise invalid(f"`placements` must be a list; it is {shown(value)}.")
    return [integers(entry, length=width, what="a placement") for entry in value]


def area_bound(areas_and_values: Sequence[tuple[int, float, int]], area: int) -> float:
    """Return the greatest value of pieces (area, value, number) that may be cut up to fill `area`."""
    total = 0.0
    for size, value, count in sorted(areas_and_values, key=lambda item: -item[1] / item[0]):
        used = min(size * count, area)
        total += value * used / size
        area -= used
    return total


class NonGuillotine(Problem):
    """Rectangles with least and greatest numbers of each."""

    name = "optimization/co_bench/constrained_non_guillotine_cutting_co_bench"
    folder = "Constrained non-guillotine cutting"
    program = '''
def solve(stock_length: int, stock_width: int, pieces: list) -> dict:
    """Fill shelves from below: required pieces first, then by value for area."""
    order = []
    for kind, piece in enumerate(pieces, start=1):
        order += [(kind, piece, True)] * piece["min"] + [(kind, piece, False)] * (piece["max"] - piece["min"])
    order.sort(key=lambda o: (not o[2], -o[1]["value"] / (o[1]["length"] * o[1]["width"])))
    placements, shelves, top = [], [], 0
    for kind, piece, _ in order:
        for shelf in shelves:
            if shelf[1] + piece["length"] <= stock_length and piece["width"] <= shelf[2]:
                placements.append((kind, shelf[1], shelf[0], 0))
                shelf[1] += piece["length"]
                break
        else:
            if top + piece["width"] <= stock_width and piece["length"] <= stock_length:
                placements.append((kind, 0, top, 0))
                shelves.append([top, piece["length"], piece["width"]])
                top += piece["width"]
    return {"placements": placements}
'''
    objective = """
Cutting a sheet: place rectangles on one sheet for the greatest total value. Write `solve(stock_length, stock_width, pieces)`.
- `stock_length`, `stock_width` (int): the sheet, from (0, 0) to (stock_length, stock_width).
- `pieces` (list of dicts of ints): `"length"`, `"width"`, `"min"` and `"max"` (how often the piece must and may be placed), `"value"`.
Return `{"placements": [(piece, x, y, r), ...]}`: the piece's number from 1, its lower left corner, and 1 if it is turned by 90 degrees, \
else 0; all integers. No overlap, nothing beyond the sheet, every piece between its min and max.
Score: the total value of the placed pieces, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `ngcut` files: the number of cases; for each m, the sheet, and length, width, min, max, value of each piece."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            count, length, width = tokens.wholes(3)
            keys = ("length", "width", "min", "max", "value")
            pieces = [dict(zip(keys, tokens.wholes(len(keys)), strict=True)) for _ in range(count)]
            yield Case({"stock_length": length, "stock_width": width, "pieces": pieces})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 6 pieces on a sheet of 20 x 20, none required: sides 3 to 10, up to 3 of each, values 1 to 3 times the area."""
        cases = []
        for _ in range(3):
            sides = rng.integers(3, 11, (6, 2))
            value = (sides.prod(axis=1) * rng.uniform(1, 3, 6)).astype(int)
            cases.append(f"6\n20 20\n{rows(np.column_stack([sides, np.zeros(6, int), rng.integers(1, 4, 6), value]))}")
        return "3\n" + "\n".join(cases) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total value."""
        length, width, pieces = (case.arguments[k] for k in ("stock_length", "stock_width", "pieces"))
        counts, cuts, total = [0] * len(pieces), [], 0
        for kind, x, y, turned in listed(part(answer, "placements"), width=4):
            piece = pieces[chosen(kind, allowed=range(1, len(pieces) + 1), what="a piece") - 1]
            chosen(turned, allowed=range(2), what="a rotation")
            along, across = (piece["width"], piece["length"]) if turned else (piece["length"], piece["width"])
            cuts.append(Cut(x, y, x + along, y + across))
            counts[kind - 1] += 1
            total += piece["value"]
        for kind, (count, piece) in enumerate(zip(counts, pieces, strict=True), start=1):
            if not piece["min"] <= count <= piece["max"]:
                raise invalid(f"Piece {kind} is placed {count} times, not {piece['min']} to {piece['max']} times.")
        require_apart(cuts, length=length, width=width)
        return float(total)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the sheet."""
        length, width, pieces = (case.arguments[k] for k in ("stock_length", "stock_width", "pieces"))
        boxes = []
        for kind, x, y, turned in answer["placements"]:
            along, across = pieces[kind - 1]["length"], pieces[kind - 1]["width"]
            boxes.append((0, x, y, *((across, along) if turned else (along, across))))
        return kinds.bins_of_boxes(boxes, width=length, height=width)

    def simple_bound(self, case: Case) -> float:
        """Return the value of the best pieces by area."""
        pieces = [(p["length"] * p["width"], p["value"], p["max"]) for p in case.arguments["pieces"]]
        return area_bound(pieces, case.arguments["stock_length"] * case.arguments["stock_width"])


class ConstrainedGuillotine(Problem):
    """Guillotine cuts, fixed orientation, a greatest number of each piece."""

    name = "optimization/co_bench/constrained_guillotine_cutting_co_bench"
    folder = "Constrained guillotine cutting"
    program = '''
def solve(m: int, stock_length: int, stock_width: int, piece_types: list) -> dict:
    """Fill shelves from below by value for area."""
    order = [(k, p) for k, p in enumerate(piece_types, start=1) for _ in range(p["max"])]
    order.sort(key=lambda o: -o[1]["value"] / (o[1]["length"] * o[1]["width"]))
    placements, shelves, top = [], [], 0
    for kind, piece in order:
        length, width = piece["length"], piece["width"]
        for shelf in shelves:
            if shelf[1] + length <= stock_length and width <= shelf[2]:
                placements.append((kind, shelf[1], shelf[0], length, width, 0))
                shelf[1] += length
                break
        else:
            if top + width <= stock_width and length <= stock_length:
                placements.append((kind, 0, top, length, width, 0))
                shelves.append([top, length, width])
                top += width
    return {"total_value": sum(piece_types[p[0] - 1]["value"] for p in placements), "placements": placements}
'''
    objective = """
Guillotine cutting: cut pieces from one sheet by straight cuts from edge to edge, for the greatest total value. Write `solve(m, \
stock_length, stock_width, piece_types)`.
- `m` (int): kinds of pieces. `stock_length`, `stock_width` (int): the sheet, from (0, 0) to (stock_length, stock_width).
- `piece_types` (list of m dicts of ints): `"length"`, `"width"`, `"max"` (how often it may be cut), `"value"`.
Return `{"total_value": number, "placements": [(piece, x, y, length, width, 0), ...]}`: the piece's number from 1, its lower left \
corner, its own length and width (pieces are not turned), and 0; all integers. No overlap, nothing beyond the sheet, no more than max of \
each, and the placements can be separated by guillotine cuts. The value is computed by the evaluator.
Score: the total value of the placed pieces, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `cgcut` files: m, the sheet, and length, width, max, value of each piece."""
        tokens = Tokens(text)
        m, length, width = tokens.wholes(3)
        keys = ("length", "width", "max", "value")
        pieces = [dict(zip(keys, tokens.wholes(len(keys)), strict=True)) for _ in range(m)]
        yield Case({"m": m, "stock_length": length, "stock_width": width, "piece_types": pieces})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 7 pieces on a sheet of 20 x 15: sides 3 to 9, up to 3 of each, values 1 to 3 times the area."""
        sides = rng.integers(3, 10, (7, 2))
        value = (sides.prod(axis=1) * rng.uniform(1, 3, 7)).astype(int)
        return f"7\n20 15\n{rows(np.column_stack([sides, rng.integers(1, 4, 7), value]))}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total value."""
        length, width, pieces = (case.arguments[k] for k in ("stock_length", "stock_width", "piece_types"))
        counts, cuts, total = [0] * len(pieces), [], 0
        for kind, x, y, along, across, turned in listed(part(answer, "placements"), width=6):
            piece = pieces[chosen(kind, allowed=range(1, len(pieces) + 1), what="a piece") - 1]
            if (along, across, turned) != (piece["length"], piece["width"], 0):
                raise invalid(
                    f"Piece {kind} is {piece['length']} x {piece['width']} and not turned; placed is {along} x {across}."
                )
            cuts.append(Cut(x, y, x + along, y + across))
            counts[kind - 1] += 1
            total += piece["value"]
        for kind, (count, piece) in enumerate(zip(counts, pieces, strict=True), start=1):
            if count > piece["max"]:
                raise invalid(f"Piece {kind} is placed {count} times, more than {piece['max']}.")
        require_apart(cuts, length=length, width=width)
        require_guillotine(cuts)
        return float(total)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the sheet."""
        boxes = ((0, x, y, along, across) for _, x, y, along, across, _ in answer["placements"])
        return kinds.bins_of_boxes(boxes, width=case.arguments["stock_length"], height=case.arguments["stock_width"])

    def simple_bound(self, case: Case) -> float:
        """Return the value of the best pieces by area."""
        pieces = [(p["length"] * p["width"], p["value"], p["max"]) for p in case.arguments["piece_types"]]
        return area_bound(pieces, case.arguments["stock_length"] * case.arguments["stock_width"])


class UnconstrainedGuillotine(Problem):
    """Guillotine cuts, each listed piece at most once."""

    name = "optimization/co_bench/unconstrained_guillotine_cutting_co_bench"
    folder = "Unconstrained guillotine cutting"
    program = '''
def solve(m: int, stock_width: int, stock_height: int, pieces: dict, allow_rotation: bool = False) -> dict:
    """Fill shelves from below by value for area."""
    placements, shelves, top = [], [], 0
    for number, piece in sorted(pieces.items(), key=lambda item: -item[1]["value"] / (item[1]["l"] * item[1]["w"])):
        for shelf in shelves:
            if shelf[1] + piece["l"] <= stock_width and piece["w"] <= shelf[2]:
                placements.append({"piece_id": number, "x": shelf[1], "y": shelf[0], "orientation": 0})
                shelf[1] += piece["l"]
                break
        else:
            if top + piece["w"] <= stock_height and piece["l"] <= stock_width:
                placements.append({"piece_id": number, "x": 0, "y": top, "orientation": 0})
                shelves.append([top, piece["l"], piece["w"]])
                top += piece["w"]
    return {"placements": placements}
'''
    objective = """
Guillotine cutting: cut pieces from one sheet by straight cuts from edge to edge, for the greatest total value. Write `solve(m, \
stock_width, stock_height, pieces, allow_rotation)`.
- `m` (int): pieces. `stock_width`, `stock_height` (int): the sheet, from (0, 0) to (stock_width, stock_height).
- `pieces` (dict): number from 1 to m -> `{"l": extent along x, "w": extent along y, "value": ...}`; each may be placed once.
- `allow_rotation` (bool): False.
Return `{"placements": [{"piece_id": int, "x": int, "y": int, "orientation": 0 or 1}, ...]}` with the lower left corners; orientation 1 \
turns by 90 degrees where that is allowed. No overlap, nothing beyond the sheet, and the placements can be separated by guillotine cuts.
Score: the total value of the placed pieces, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `gcut` files: m, the sheet, and length, width, value of each piece."""
        tokens = Tokens(text)
        m, width, height = tokens.wholes(3)
        pieces = {k: dict(zip(("l", "w", "value"), tokens.wholes(3), strict=True)) for k in range(1, m + 1)}
        yield Case({"m": m, "stock_width": width, "stock_height": height, "pieces": pieces, "allow_rotation": False})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 15 pieces on a sheet of 250 x 250: sides from a quarter to three quarters of it, values by area (Beasley, 1985)."""
        sides = rng.integers(62, 188, (15, 2))
        return f"15\n250 250\n{rows(np.column_stack([sides, sides.prod(axis=1)]))}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total value."""
        given = case.arguments
        placements = part(answer, "placements")
        if not isinstance(placements, list | tuple) or not all(isinstance(p, dict) for p in placements):
            raise invalid(f"`placements` must be a list of dictionaries; it is {shown(placements)}.")
        cuts, seen, total = [], set(), 0
        for entry in placements:
            number, x, y, turned = (whole(part(entry, k), what=f"`{k}`") for k in ("piece_id", "x", "y", "orientation"))
            chosen(number, allowed=range(1, given["m"] + 1), what="a piece")
            chosen(turned, allowed=range(2 if given["allow_rotation"] else 1), what="an orientation")
            if number in seen:
                raise invalid(f"Piece {number} is placed twice.")
            seen.add(number)
            piece = given["pieces"][number]
            along, across = (piece["w"], piece["l"]) if turned else (piece["l"], piece["w"])
            cuts.append(Cut(x, y, x + along, y + across))
            total += piece["value"]
        require_apart(cuts, length=given["stock_width"], width=given["stock_height"])
        require_guillotine(cuts)
        return float(total)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the sheet."""
        given = case.arguments
        boxes = []
        for entry in answer["placements"]:
            piece = given["pieces"][entry["piece_id"]]
            sides = (piece["w"], piece["l"]) if entry["orientation"] else (piece["l"], piece["w"])
            boxes.append((0, entry["x"], entry["y"], *sides))
        return kinds.bins_of_boxes(boxes, width=given["stock_width"], height=given["stock_height"])

    def simple_bound(self, case: Case) -> float:
        """Return the value of the best pieces by area."""
        pieces = [(p["l"] * p["w"], p["value"], 1) for p in case.arguments["pieces"].values()]
        return area_bound(pieces, case.arguments["stock_width"] * case.arguments["stock_height"])


build_non_guillotine = NonGuillotine.build
build_constrained_guillotine = ConstrainedGuillotine.build
build_unconstrained_guillotine = UnconstrainedGuillotine.build
