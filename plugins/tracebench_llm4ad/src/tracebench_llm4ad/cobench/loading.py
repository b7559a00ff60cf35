"""Boxes in a container, in OR-Library's `thpack` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, shown, whole

KEYS = ("box_type", "container_id", "x", "y", "z", "v", "hswap")


@dataclass(frozen=True, slots=True)
class Box:
    """One placed box: its corner nearest to the origin and the opposite one."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def overlaps(self, other: Box) -> bool:
        """Return whether the two share a volume."""
        return all(a < d and c < b for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True))


def turned(dims: Sequence[int], *, vertical: int, swapped: int) -> tuple[int, int, int]:
    """Return the extents along x, y and z of a box whose dimension `vertical` stands upright."""
    first, second = (d for k, d in enumerate(dims) if k != vertical)
    return (second, first, dims[vertical]) if swapped else (first, second, dims[vertical])


class ContainerLoading(Problem):
    """One container, a limited number of each box, some sides of which must not stand upright."""

    name = "optimization/co_bench/container_loading_co_bench"
    folder = "Container loading"
    program = '''
def solve(problem_index: int, container: tuple, box_types: dict) -> dict:
    """Fill layers of rows, the largest boxes first, each box standing on its first allowed side."""
    length, width, height = container
    boxes = []
    for kind, box in box_types.items():
        v = next(k for k in range(3) if box["flags"][k])
        a, b = (d for k, d in enumerate(box["dims"]) if k != v)
        boxes += [(a * b * box["dims"][v], kind, v, a, b, box["dims"][v])] * box["count"]
    placements, x, y, z, row, layer = [], 0, 0, 0, 0, 0
    for _, kind, v, a, b, c in sorted(boxes, reverse=True):
        if x + a > length:
            x, y, row = 0, y + row, 0
        if y + b > width:
            x, y, z, row, layer = 0, 0, z + layer, 0, 0
        if x + a > length or y + b > width or z + c > height:
            continue
        placements.append({"box_type": kind, "container_id": 1, "x": x, "y": y, "z": z, "v": v, "hswap": 0})
        x, row, layer = x + a, max(row, b), max(layer, c)
    return {"placements": placements}
'''
    objective = """
Container loading: place boxes in one container so that they fill as much of it as possible. Write \
`solve(problem_index, container, box_types)`.
- `problem_index` (int): the number of the case.
- `container` (tuple of 3 ints): its extents along x, y and z (z points up).
- `box_types` (dict): type -> `{"dims": [d0, d1, d2], "flags": [f0, f1, f2], "count": int}`; d_k may stand upright where f_k is 1.
Return `{"placements": [{"box_type", "container_id", "x", "y", "z", "v", "hswap"}, ...]}`, all integers: the type, 1, the corner with \
the least coordinates, the index (0, 1, 2) of the dimension that stands upright, and 0 if the other two lie along x and y in their \
order, 1 if swapped. No overlap, nothing outside the container, no more boxes of a type than its count.
Score: the volume of the placed boxes over that of the container (0 to 1), averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read `thpack1` to `thpack7`: the number of cases; for each its number, seed, container, number of types, and types.

        A type is its number, three times a dimension with its flag, and its count.
        """
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            index, _seed = tokens.wholes(2)
            container = tuple(tokens.wholes(3))
            types: dict[int, dict[str, Any]] = {}
            for _ in range(tokens.whole()):
                kind, *pairs, count = tokens.wholes(8)
                types[kind] = {"dims": pairs[::2], "flags": pairs[1::2], "count": count}
            if any(sum(t["flags"]) == 0 for t in types.values()):
                raise ValueError("a box has no side to stand on")
            yield Case({"problem_index": index, "container": container, "box_types": types})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 4 types for 587 x 233 x 220: sides 25 to 120, about one filling (Bischoff and Ratcliff, 1995)."""
        cases = []
        for k in range(1, 4):
            dims = rng.integers(25, 121, (4, 3))
            flags = rng.integers(0, 2, (4, 3))
            flags[:, 2] = 1
            counts = np.maximum(1, 587 * 233 * 220 // 4 // dims.prod(axis=1))
            lines = [
                f"{i + 1} {' '.join(f'{d} {f}' for d, f in zip(dims[i], flags[i], strict=True))} {counts[i]}"
                for i in range(4)
            ]
            cases.append(f"{k} {rng.integers(1, 10**6)}\n587 233 220\n4\n" + "\n".join(lines))
        return "3\n" + "\n".join(cases) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the filled share of the volume."""
        container, types = case.arguments["container"], case.arguments["box_types"]
        placements = part(answer, "placements")
        if not isinstance(placements, list | tuple) or not all(isinstance(p, dict) for p in placements):
            raise invalid(f"`placements` must be a list of dictionaries; it is {shown(placements)}.")
        left = {kind: box["count"] for kind, box in types.items()}
        placed: list[Box] = []
        volume = 0
        for number, entry in enumerate(placements, start=1):
            kind, container_id, x, y, z, v, hswap = (whole(part(entry, key), what=f"`{key}`") for key in KEYS)
            chosen(kind, allowed=set(types), what="a box type")
            chosen(container_id, allowed=range(2), what="a container")
            chosen(
                v,
                allowed={k for k, flag in enumerate(types[kind]["flags"]) if flag},
                what="a dimension that may stand upright",
            )
            extents = turned(types[kind]["dims"], vertical=v, swapped=chosen(hswap, allowed=range(2), what="`hswap`"))
            left[kind] -= 1
            if left[kind] < 0:
                raise invalid(f"Box type {kind} is placed more than {types[kind]['count']} times.")
            box = Box((x, y, z), (x + extents[0], y + extents[1], z + extents[2]))
            if min(box.low) < 0 or any(h > c for h, c in zip(box.high, container, strict=True)):
                raise invalid(
                    f"Placement {number} reaches from {box.low} to {box.high}, out of the container {container}."
                )
            for other, there in enumerate(placed, start=1):
                if box.overlaps(there):
                    raise invalid(f"Placements {other} and {number} overlap.")
            placed.append(box)
            volume += extents[0] * extents[1] * extents[2]
        return float(volume / (container[0] * container[1] * container[2]))

    def simple_bound(self, case: Case) -> float:
        """Return 1, or the volume of all boxes over that of the container."""
        boxes: int = sum(int(np.prod(b["dims"])) * b["count"] for b in case.arguments["box_types"].values())
        return min(1.0, boxes / int(np.prod(case.arguments["container"])))


build_container_loading = ContainerLoading.build
