"""Boxes that bear limited weight, in a container, in OR-Library's `wtpack` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, finite, part, rows
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, number, shown

SIDES = ("length", "width", "height")
COLUMNS = 11
TOLERANCE = 1e-6
"""Centimetres; and, for weights, the unit of the file."""


class Placed(NamedTuple):
    """One placed box."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    weight: float
    bears: float
    """How much weight may rest on its top."""

    def overlaps(self, other: Placed, *, axes: Sequence[int]) -> bool:
        """Return whether the two share more than a face along all given axes."""
        return all(min(self.high[k], other.high[k]) - max(self.low[k], other.low[k]) > TOLERANCE for k in axes)

    def carries(self, upper: Placed) -> bool:
        """Return whether the other stands on this one, with nothing beyond its edges."""
        flat = all(
            self.low[k] - TOLERANCE <= upper.low[k] and upper.high[k] <= self.high[k] + TOLERANCE for k in range(2)
        )
        return flat and abs(self.high[2] - upper.low[2]) <= TOLERANCE


class WeightedLoading(Problem):
    """One container; each box stands on the floor or on one other box that bears it."""

    name = "optimization/co_bench/container_loading_with_weight_restrictions_co_bench"
    folder = "Container loading with weight restrictions"
    program = '''
def solve(container: tuple, n: int, cargo_vol: float, box_types: list) -> dict:
    """Cover the floor in rows, the boxes with the largest bases first, and stack equal boxes as high as they bear."""
    length, width, height = container
    boxes = []
    for kind, box in enumerate(box_types, start=1):
        if box["height_flag"] == 1:
            boxes.append((box["length"], box["width"], box["height"], 3, box["lb3"], kind, box))
        elif box["width_flag"] == 1:
            boxes.append((box["length"], box["height"], box["width"], 2, box["lb2"], kind, box))
        else:
            boxes.append((box["width"], box["height"], box["length"], 1, box["lb1"], kind, box))
    placements, x, y, row = [], 0, 0, 0
    for a, b, c, orientation, strength, kind, box in sorted(boxes, key=lambda e: -e[0] * e[1]):
        weight = max(box["weight"], 1e-9)
        tall = max(1, min(int(height // c), 1 + int(strength * a * b // weight)))
        left = box["count"]
        while left and c <= height:
            if x + a > length:
                x, y, row = 0, y + row, 0
            if x + a > length or y + b > width:
                break
            for level in range(min(tall, left)):
                placements.append({"box_type": kind, "orientation": orientation, "x": x, "y": y, "z": level * c})
            left -= min(tall, left)
            x, row = x + a, max(row, b)
    return {"instance": 1, "util": 0.0, "m": len(placements), "placements": placements}
'''
    objective = """
Container loading with weights: fill one container with boxes that bear limited weight. Write `solve(container, n, cargo_vol, box_types)`.
- `container` (tuple of 3 ints): its extents along x, y and z (z points up), in cm.
- `n` (int): types of boxes. `cargo_vol` (float): the volume of all boxes in m3.
- `box_types` (list of n dicts): `"length"`, `"width"`, `"height"` (ints, cm); `"length_flag"`, `"width_flag"`, `"height_flag"` (1 if that \
side may stand upright); `"count"` (int), `"weight"` (float); `"lb1"`, `"lb2"`, `"lb3"` (floats: weight for each cm2 of its top that it \
bears with length, width, height upright).
Return `{"placements": [{"box_type": k, "orientation": o, "x": x, "y": y, "z": z}, ...]}`: the type from 1; o = 1 stands on end (width \
along x, height along y, length upright), o = 2 (length along x, height along y, width upright), o = 3 (length along x, width along y, \
height upright); the corner with the least coordinates. No overlap, nothing beyond the container, no more of a type than its count. Each \
box stands on the floor or wholly on the top of exactly one other box; the weight of everything above a box, directly or through others, \
is at most its bearing strength times the area of its top. Other keys of the answer are not looked at.
Score: the volume of the placed boxes over that of the container (0 to 1), averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of: container; number of types, volume of the cargo; for each type 3 sides with flags, count, weight, 3 strengths.

        A line with one number, such as a count of cases, is passed over.
        """
        lines = [line.split() for line in text.splitlines() if len(line.split()) > 1]
        while lines:
            (container, head), lines = lines[:2], lines[2:]
            if len(container) != len(SIDES):
                raise ValueError(f"`{' '.join(container)}` is no container of three extents")
            kinds, lines = lines[: int(head[0])], lines[int(head[0]) :]
            if len(kinds) < int(head[0]) or any(len(kind) != COLUMNS for kind in kinds):
                raise ValueError(f"a case of {head[0]} types has a line that is not of {COLUMNS} numbers")
            arguments = {"container": tuple(int(finite(v)) for v in container), "n": int(head[0])}
            yield Case({**arguments, "cargo_vol": finite(head[1]), "box_types": [_box(kind) for kind in kinds]})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 4 types for 587 x 233 x 220 cm: sides 40 to 120, about one filling, weights by volume, strengths to 0.1."""
        cases = []
        for _ in range(3):
            sides = rng.integers(40, 121, (4, 3))
            counts = np.maximum(1, 587 * 233 * 220 // 4 // sides.prod(axis=1))
            lines = []
            for k in range(4):
                flags = [*rng.integers(0, 2, 2), 1]
                pairs = [v for pair in zip(sides[k], flags, strict=True) for v in pair]
                strengths = np.round(rng.random(3) / 10, 4)
                lines.append([*pairs, counts[k], round(sides[k].prod() / 5000, 2), *strengths])
            volume = float((sides.prod(axis=1) * counts).sum()) / 1e6
            cases.append(f"587 233 220\n4 {volume:.3f}\n{rows(lines)}\n")
        return "".join(cases)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the filled share of the volume."""
        container, kinds = case.arguments["container"], case.arguments["box_types"]
        placements = part(answer, "placements")
        if not isinstance(placements, list | tuple) or not all(isinstance(p, dict) for p in placements):
            raise invalid(f"`placements` must be a list of dictionaries; it is {shown(placements)}.")
        left = [box["count"] for box in kinds]
        placed: list[Placed] = []
        for k, entry in enumerate(placements, start=1):
            kind = chosen(part(entry, "box_type"), allowed=range(1, len(kinds) + 1), what="a box type") - 1
            left[kind] -= 1
            if left[kind] < 0:
                raise invalid(f"Box type {kind + 1} is placed more than {kinds[kind]['count']} times.")
            box = _placed(entry, kinds[kind])
            if min(box.low) < -TOLERANCE or any(h > c + TOLERANCE for h, c in zip(box.high, container, strict=True)):
                raise invalid(f"Placement {k} reaches from {box.low} to {box.high}, out of the container {container}.")
            for other, there in enumerate(placed, start=1):
                if box.overlaps(there, axes=range(3)):
                    raise invalid(f"Placements {other} and {k} overlap.")
            placed.append(box)
        _require_borne(placed)
        volume = sum(float(np.prod(np.subtract(box.high, box.low))) for box in placed)
        return float(volume / np.prod(container))

    def simple_bound(self, case: Case) -> float:
        """Return 1, or the volume of all boxes over that of the container."""
        boxes = sum(b["length"] * b["width"] * b["height"] * b["count"] for b in case.arguments["box_types"])
        return min(1.0, float(boxes / np.prod(case.arguments["container"])))


def _box(words: Sequence[str]) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for k, side in enumerate(SIDES):
        sides[side], sides[f"{side}_flag"] = int(float(words[2 * k])), int(words[2 * k + 1])
    if not any(sides[f"{side}_flag"] for side in SIDES):
        raise ValueError("a box has no side to stand on")
    return (
        sides
        | {"count": int(words[6])}
        | dict(zip(("weight", "lb1", "lb2", "lb3"), map(finite, words[7:]), strict=True))
    )


def _placed(entry: Mapping[str, Any], box: Mapping[str, Any]) -> Placed:
    """Return a placement's extents; the upright side must be allowed."""
    allowed = {k for k, side in enumerate(SIDES, start=1) if box[f"{side}_flag"] == 1}
    orientation = chosen(part(entry, "orientation"), allowed=allowed, what="an orientation that the box allows")
    flat = [box[side] for k, side in enumerate(SIDES, start=1) if k != orientation]
    extents = (*flat, box[SIDES[orientation - 1]])
    low = tuple(number(part(entry, axis), what=f"`{axis}`") for axis in ("x", "y", "z"))
    high = tuple(a + b for a, b in zip(low, extents, strict=True))
    return Placed(low, high, box["weight"], box[f"lb{orientation}"] * extents[0] * extents[1])


def _require_borne(placed: Sequence[Placed]) -> None:
    """Refuse boxes that hang, stand on several boxes, or weigh down another too much."""
    load = [0.0] * len(placed)
    for k in sorted(range(len(placed)), key=lambda i: -placed[i].low[2]):
        box = placed[k]
        if load[k] > box.bears + TOLERANCE:
            raise invalid(f"Placement {k + 1} bears {load[k]:g}, more than {box.bears:g}.")
        if abs(box.low[2]) <= TOLERANCE:
            continue
        below = [j for j, other in enumerate(placed) if j != k and other.carries(box)]
        if len(below) != 1:
            raise invalid(
                f"Placement {k + 1} must stand on the floor or wholly on one other box; {len(below)} carry it."
            )
        load[below[0]] += load[k] + box.weight


build_weighted_loading = WeightedLoading.build
