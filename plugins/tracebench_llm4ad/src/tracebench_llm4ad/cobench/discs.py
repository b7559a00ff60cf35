"""Circles and rectangles of different sizes in a round container: as many as possible, or as much area as possible."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, finite, part
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import OUTLINE, Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import number, shown

TOLERANCE = 1e-9
"""Relative to the container's radius."""
LEFT_OUT = (-1.0, -1.0)

CIRCLES = '''
def solve(n: int, cx: float, cy: float, R: float, radii: list) -> dict:
    """Place each circle on the first free point of a grid{order}."""
    step = R / 25
    axis = np.arange(-25, 26) * step
    xs, ys = (a.ravel() for a in np.meshgrid(cx + axis, cy + axis))
    coords = [(-1.0, -1.0)] * n
    for i in {indices}:
        free = np.hypot(xs - cx, ys - cy) + radii[i] <= R
        for j in range(n):
            if coords[j] != (-1.0, -1.0):
                free &= np.hypot(xs - coords[j][0], ys - coords[j][1]) >= radii[i] + radii[j]
        if not free.any():
            {otherwise}
        k = int(np.argmax(free))
        coords[i] = (float(xs[k]), float(ys[k]))
    return {{"coords": coords}}
'''
RECTANGLES = '''
def solve(n: int, cx: float, cy: float, R: float, items: list, shape: str, rotation: bool) -> dict:
    """Place each item, {order}, on the first free point of a grid."""
    step = R / 25
    axis = np.arange(-25, 26) * step
    xs, ys = (a.ravel() for a in np.meshgrid(cx + axis, cy + axis))
    placements, done = [(-1.0, -1.0, 0)] * n, []
    for i in sorted(range(n), key=lambda k: {sign}items[k][0] * items[k][1]):
        length, width = items[i]
        free = np.hypot(abs(xs - cx) + length / 2, abs(ys - cy) + width / 2) <= R
        for x, y, other_length, other_width in done:
            free &= (abs(xs - x) >= (length + other_length) / 2) | (abs(ys - y) >= (width + other_width) / 2)
        if free.any():
            k = int(np.argmax(free))
            done.append((float(xs[k]), float(ys[k]), length, width))
            placements[i] = (float(xs[k]), float(ys[k]), 0)
    return {{"placements": placements}}
'''
CONTAINER = "- `n` (int); `cx`, `cy`, `R` (floats): the container's centre and radius."


class RoundContainer(Problem):
    """What the four tasks share: which items are in, and what they count for."""

    bound_source = "the container's area,"
    counts_area: ClassVar[bool] = False

    @abstractmethod
    def areas(self, case: Case) -> Sequence[float]:
        """Return the area of each item that fits at all; 0 for one that does not."""

    def worth(self, case: Case, inside: Sequence[int]) -> float:
        """Return the number or the total area of the items inside."""
        return math.fsum(self.areas(case)[i] for i in inside) if self.counts_area else float(len(inside))

    def simple_bound(self, case: Case) -> float:
        """Return the area of the container or of all items, or how many of the smallest have together no more area."""
        room = math.pi * case.arguments["R"] ** 2
        areas = sorted(area for area in self.areas(case) if area > 0)
        if self.counts_area:
            return float(min(room, math.fsum(areas)))
        return float(sum(1 for total in np.cumsum(areas) if total <= room * (1 + TOLERANCE)))


class UnequalCircles(RoundContainer):
    """As many circles as possible, the first ones of the list."""

    name = "optimization/co_bench/packing_unequal_circles_co_bench"
    folder = "Packing unequal circles"
    program = CIRCLES.format(order=", until one finds none", indices="range(n)", otherwise="break")
    objective = f"""
Packing circles: put as many circles as possible into a round container, the first ones of the list. Write `solve(n, cx, cy, R, radii)`.
{CONTAINER}
- `radii` (list of n floats): the circles' radii, in ascending order.
Return `{{"coords": [(x, y), ...]}}`: for each circle its centre, or (-1, -1) if it is left out. No two circles overlap, none reaches \
beyond the container (up to 1e-9 of R), and no circle is in when one before it in the list is out.
Score: the number of circles that are in, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of: n, centre, radius of the container; the radii."""
        tokens = Tokens(text)
        while tokens.left:
            n = tokens.whole()
            cx, cy, radius = tokens.numbers(3)
            yield Case({"n": n, "cx": cx, "cy": cy, "R": radius, "radii": tokens.numbers(n)})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 20 circles of radius 1 to 6 in ascending order for a container of radius 14 around (20, 20)."""
        radii = np.sort(np.round(1 + 5 * rng.random(20), 3))
        return "20 20 20 14\n" + "\n".join(f"{r:g}" for r in radii) + "\n"

    def areas(self, case: Case) -> Sequence[float]:
        """Return the circles' areas."""
        return [math.pi * r * r if r <= case.arguments["R"] else 0.0 for r in case.arguments["radii"]]

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the number of circles that are in."""
        inside = self.packed(case, answer)
        if not self.counts_area and inside != list(range(len(inside))):
            first = next(i for i, j in enumerate(inside) if i != j)
            raise invalid(f"Circle {first + 1} is left out, although circle {inside[first] + 1} is in.")
        return self.worth(case, inside)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the circles that are in."""
        given = case.arguments
        placed = zip(answer["coords"], given["radii"], strict=True)
        circles = [(*centre, radius) for centre, radius in placed if tuple(centre) != LEFT_OUT]
        return kinds.discs(circles, container=(given["cx"], given["cy"], given["R"]))

    @staticmethod
    def packed(case: Case, answer: Mapping[str, Any]) -> list[int]:
        """Return which circles are in, all checked."""
        given = case.arguments
        slack = TOLERANCE * given["R"]
        inside: list[int] = []
        centres = [points(c, width=2) for c in listed(part(answer, "coords"), count=given["n"], what="coords")]
        for i, (centre, radius) in enumerate(zip(centres, given["radii"], strict=True)):
            if tuple(centre) == LEFT_OUT:
                continue
            reach = math.dist(centre, (given["cx"], given["cy"])) + radius
            if reach > given["R"] + slack:
                raise invalid(
                    f"Circle {i + 1} reaches {reach:.9g} from the centre, beyond the container's {given['R']:g}."
                )
            for j in inside:
                gap = math.dist(centre, centres[j]) - radius - given["radii"][j]
                if gap < -slack:
                    raise invalid(f"Circles {j + 1} and {i + 1} overlap by {-gap:.3g}.")
            inside.append(i)
        return inside


class UnequalCirclesArea(UnequalCircles):
    """Any circles, as much area as possible."""

    name = "optimization/co_bench/packing_unequal_circles_area_co_bench"
    folder = "Packing unequal circles area"
    counts_area = True
    program = CIRCLES.format(order=", the largest first", indices="reversed(range(n))", otherwise="continue")
    objective = f"""
Packing circles: put circles of the greatest total area into a round container. Write `solve(n, cx, cy, R, radii)`.
{CONTAINER}
- `radii` (list of n floats): the circles' radii, in ascending order.
Return `{{"coords": [(x, y), ...]}}`: for each circle its centre, or (-1, -1) if it is left out. No two circles overlap, and none reaches \
beyond the container (up to 1e-9 of R).
Score: the sum of pi * r**2 over the circles that are in, averaged over cases.
"""


class UnequalRectangles(RoundContainer):
    """As many rectangles or squares as possible."""

    name = "optimization/co_bench/packing_unequal_rectangles_and_squares_co_bench"
    folder = "Packing unequal rectangles and squares"
    shared = "items"
    program = RECTANGLES.format(order="the smallest first", sign="")
    goal: ClassVar[str] = "as many rectangles or squares as possible"
    score: ClassVar[str] = "the number of items that are in"
    rules: ClassVar[str] = f"""
{CONTAINER}
- `items` (list of n tuples (length, width) of floats). `shape` (str): "rectangle" or "square".
- `rotation` (bool): whether items may be turned by 90 degrees.
Return `{{"placements": [(x, y, theta), ...]}}`: for each item its centre, and 0 for length along x or (with rotation only) 90 for length \
along y; (-1, -1, 0) leaves it out. Sides are parallel to the axes. No two items overlap, and no corner is beyond the container (up to \
1e-9 of R).
"""
    objective = (
        f"\nPacking: put {goal} into a round container. Write `solve(n, cx, cy, R, items, shape, rotation)`.{rules}"
        f"Score: {score}, averaged over cases.\n"
    )

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of: n, centre, radius of the container; a line for each item, with one side (a square) or two.

        Rectangles give two cases, without and with rotation.
        """
        lines = [[finite(word) for word in line.split()] for line in text.splitlines() if line.split()]
        while lines:
            count, cx, cy, radius = lines[0][:4]
            n = int(count)
            if len(lines) <= n or any(len(line) > 3 for line in lines[1 : n + 1]):  # noqa: PLR2004 - a head has four
                raise ValueError(f"a case of {n} items is incomplete")
            items = [(line[0], line[1] if len(line) > 1 else line[0]) for line in lines[1 : n + 1]]
            square = all(len(line) == 1 for line in lines[1 : n + 1])
            lines = lines[n + 1 :]
            arguments = {"n": n, "cx": cx, "cy": cy, "R": radius, "items": items}
            for rotation in (False,) if square else (False, True):
                yield Case({**arguments, "shape": "square" if square else "rectangle", "rotation": rotation})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 16 rectangles with sides of 2 to 8 for a container of radius 12 around (20, 20)."""
        sides = np.round(2 + 6 * rng.random((16, 2)), 3)
        return "16 20 20 12\n" + "\n".join(f"{a:g} {b:g}" for a, b in sides) + "\n"

    def areas(self, case: Case) -> Sequence[float]:
        """Return the items' areas."""
        widest = 2 * case.arguments["R"]
        return [a * b if math.hypot(a, b) <= widest else 0.0 for a, b in case.arguments["items"]]

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the number or the area of the items that are in."""
        given = case.arguments
        slack = TOLERANCE * given["R"]
        inside: list[int] = []
        boxes: list[tuple[float, float, float, float]] = []
        for i, entry in enumerate(listed(part(answer, "placements"), count=given["n"], what="placements")):
            x, y, theta = points(entry, width=3)
            if (x, y) == LEFT_OUT:
                continue
            if theta not in ((0, 90) if given["rotation"] else (0,)):
                raise invalid(
                    f"Item {i + 1} is turned by {theta:g} degrees; {'0 or 90' if given['rotation'] else '0'} is allowed."
                )
            length, width = given["items"][i] if theta == 0 else reversed(given["items"][i])
            corner = math.hypot(abs(x - given["cx"]) + length / 2, abs(y - given["cy"]) + width / 2)
            if corner > given["R"] + slack:
                raise invalid(
                    f"Item {i + 1} has a corner {corner:.9g} from the centre, beyond the container's {given['R']:g}."
                )
            for j, (u, v, other_length, other_width) in zip(inside, boxes, strict=True):
                across, along = (length + other_length) / 2 - abs(x - u), (width + other_width) / 2 - abs(y - v)
                if min(across, along) > slack:
                    raise invalid(f"Items {j + 1} and {i + 1} overlap by {across:.3g} x {along:.3g}.")
            inside.append(i)
            boxes.append((x, y, length, width))
        return self.worth(case, inside)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the items that are in."""
        given = case.arguments
        drawing = Drawing(note=f"{given['n']} items were given")
        drawing.circle(given["cx"], given["cy"], given["R"], OUTLINE)
        for i, (x, y, theta) in enumerate(answer["placements"]):
            if (x, y) != LEFT_OUT:
                length, width = given["items"][i] if theta == 0 else reversed(given["items"][i])
                drawing.box(x - length / 2, y - width / 2, length, width, i % 6)
        return drawing


class UnequalRectanglesArea(UnequalRectangles):
    """Rectangles or squares of as much area as possible."""

    name = "optimization/co_bench/packing_unequal_rectangles_and_squares_area_co_bench"
    folder = "Packing unequal rectangles and squares area"
    counts_area = True
    program = RECTANGLES.format(order="the largest first", sign="-")
    objective = (
        "\nPacking: put rectangles or squares of the greatest total area into a round container. Write "
        f"`solve(n, cx, cy, R, items, shape, rotation)`.{UnequalRectangles.rules}"
        "Score: the total area of the items that are in, averaged over cases.\n"
    )


def listed(value: Any, *, count: int, what: str) -> Sequence[Any]:
    """Return a sequence of exactly `count` entries."""
    entries = value.tolist() if isinstance(value, np.ndarray) and value.ndim else value
    if not isinstance(entries, list | tuple) or len(entries) != count:
        raise invalid(f"`{what}` must be a list of {count} entries; it is {shown(value)}.")
    return entries


def points(entry: Any, *, width: int) -> tuple[float, ...]:
    """Return an entry as `width` finite numbers."""
    values = entry.tolist() if isinstance(entry, np.ndarray) and entry.ndim else entry
    if not isinstance(values, list | tuple) or len(values) != width:
        raise invalid(f"Each entry must be {width} numbers; one is {shown(entry)}.")
    return tuple(number(value, what="a coordinate") for value in values)


build_circles = UnequalCircles.build
build_circles_area = UnequalCirclesArea.build
build_rectangles = UnequalRectangles.build
build_rectangles_area = UnequalRectanglesArea.build
