"""Two-dimensional bin packing, rectangle by rectangle; trusted code finds the place inside the chosen bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import Bp2dOptions
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import chosen, integers, pair
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List, Optional, Tuple


def determine_next_assignment(remaining_items: List[list], point_matrices: list) -> Tuple[list, Optional[int]]:
    """Pack the first rectangle into the first open bin where it fits, else into a new bin."""
    width, height = remaining_items[0]
    for bin_index, points in enumerate(point_matrices):
        free = np.array(points) == 0
        for x in range(free.shape[0] - width + 1):
            for y in range(free.shape[1] - height + 1):
                if free[x : x + width, y : y + height].all():
                    return remaining_items[0], bin_index
    return remaining_items[0], None
'''

OBJECTIVE = """
Design a heuristic for two-dimensional bin packing that packs all rectangles into few bins, one rectangle at a time. All rectangles \
are known; they are not rotated.
`determine_next_assignment(remaining_items, point_matrices)` is called once per rectangle.
- `remaining_items` (list of `[width, height]`, ints, at least one): the unpacked rectangles, in a fixed random order.
- `point_matrices` (list of int arrays, shape (width, height) each): every open bin as unit cells, entry [x, y] 1 where occupied and 0 \
where free; empty at first. A bin is 30 x 30 unless configured otherwise, and there are 60 rectangles with sides of a tenth to a half \
of the bin's.
Return a pair `(item, bin)`: one of `remaining_items`, and the index of the open bin in `point_matrices` that takes it, or None to open \
a new bin for it. The rectangle is placed at the free position of lowest x, then lowest y; if there is none in that bin, the answer is \
refused.
Score: the mean number of bins used; fewer is better.
"""

Cells = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Rectangles as (width, height), and a bin's own."""

    sizes: tuple[tuple[int, int], ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Place:
    """One rectangle put with its lower left corner at (x, y) of a bin."""

    bin: int
    x: int
    y: int
    size: tuple[int, int]


class Bp2dEvaluator(Evaluator[Rectangles], StepwiseRules[Rectangles]):
    """A solution is the list of places."""

    name = "optimization/bp_2d_construct"
    entry = "determine_next_assignment"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the area lower bound"

    def __init__(self, options: Bp2dOptions) -> None:
        super().__init__(options)
        self.size, self.width, self.height = options.n_items, options.bin_width, options.bin_height

    def generate(self, rng: np.random.Generator) -> Rectangles:
        """Draw sides uniformly from a tenth to a half of the bin's."""
        widths = rng.integers(self.width // 10, self.width // 2 + 1, self.size)
        heights = rng.integers(self.height // 10, self.height // 2 + 1, self.size)
        return Rectangles(
            tuple((int(w), int(h)) for w, h in zip(widths, heights, strict=True)), self.width, self.height
        )

    def steps(self, instance: Rectangles) -> Steps:
        """Pack one rectangle per call."""
        remaining = [list(size) for size in instance.sizes]
        bins: list[Cells] = []
        places: list[Place] = []
        while remaining:
            first, second = pair((yield remaining, bins).value, what="a pair ([width, height], bin)")
            item = integers(first, length=2, what="an unpacked rectangle `[width, height]`")
            if item not in remaining:
                raise invalid(f"No unpacked rectangle is {item[0]} x {item[1]}.")
            if second is None:
                bins.append(np.zeros((instance.width, instance.height), dtype=np.int8))
            where = (
                len(bins) - 1
                if second is None
                else chosen(second, allowed=range(len(bins)), what="a bin's index or None")
            )
            spot = first_fit(bins[where], *item)
            if spot is None:
                raise invalid(f"A rectangle of {item[0]} x {item[1]} fits nowhere in bin {where}.")
            place = Place(where, *spot, (item[0], item[1]))
            bins[where][place.x : place.x + item[0], place.y : place.y + item[1]] = 1
            places.append(place)
            remaining.remove(item)
        return places

    def judge(self, instance: Rectangles, solution: Any) -> Verdict:
        """Check that every rectangle is packed once, inside its bin and over no other; count the bins."""
        places: list[Place] = solution
        if sorted(place.size for place in places) != sorted(instance.sizes):
            raise invalid(f"Each of the {len(instance.sizes)} rectangles must be packed exactly once.")
        bins = np.zeros((1 + max(place.bin for place in places), instance.width, instance.height), dtype=np.int64)
        for place in places:
            right, top = place.x + place.size[0], place.y + place.size[1]
            if min(place.x, place.y) < 0 or right > instance.width or top > instance.height:
                raise invalid(f"A rectangle of {place.size[0]} x {place.size[1]} leaves bin {place.bin}.")
            bins[place.bin, place.x : right, place.y : top] += 1
        if bins.max() > 1:
            raise invalid(f"Rectangles overlap in bin {int(bins.max(axis=(1, 2)).argmax())}.")
        filled = bins.mean(axis=(1, 2))
        emptiest = int(filled.argmin())
        return Verdict(
            float(len(bins)),
            f"Its emptiest bin, {emptiest}, is {filled[emptiest]:.0%} full; the mean is {filled.mean():.0%}.",
        )

    def draw(self, instance: Rectangles, solution: Any) -> Drawing:
        """Draw it."""
        boxes = ((place.bin, place.x, place.y, *place.size) for place in solution)
        return kinds.bins_of_boxes(boxes, width=instance.width, height=instance.height)

    def bound(self, instance: Rectangles) -> float:
        """Return the bins that the total area needs."""
        area = sum(width * height for width, height in instance.sizes)
        return float(-(-area // (instance.width * instance.height)))


def first_fit(cells: Cells, width: int, height: int) -> tuple[int, int] | None:
    """Return the free (x, y) of lowest x, then lowest y, where the rectangle fits; by sums over an integral image."""
    if width > cells.shape[0] or height > cells.shape[1]:
        return None
    total = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1), dtype=np.int64)
    total[1:, 1:] = cells.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
    occupied = total[width:, height:] - total[:-width, height:] - total[width:, :-height] + total[:-width, :-height]
    free = np.flatnonzero(occupied.ravel() == 0)
    if not len(free):
        return None
    x, y = divmod(int(free[0]), occupied.shape[1])
    return x, y


build = loader(Bp2dEvaluator, Bp2dOptions)
"""Build the task."""
