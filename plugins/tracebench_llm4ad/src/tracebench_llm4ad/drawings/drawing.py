"""A picture as plain data: marks in the coordinates of what they show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_MARKS, MOST_POINTS = 1500, 1500
"""Marks of a picture, and points of a line: what is beyond is left out, and the picture says so."""
DIGITS = 4
PLAIN, OUTLINE, BOUND = -1, -2, -3
"""Colours that belong to no group: grey, an outline alone, and what is aimed at."""
Point = Sequence[float]


@dataclass(slots=True)
class Drawing:
    """A picture under way. Colours are numbers of groups, or those above."""

    note: str = ""
    """Says what is shown, in a few words."""
    is_map: bool = True
    """Both axes have one scale."""
    across: str = ""
    up: str = ""
    """What the axes are, empty for a plain picture."""
    marks: list[dict[str, Any]] = field(default_factory=list)

    def circle(self, x: float, y: float, radius: float, color: int = 0) -> None:
        """Add a circle."""
        self.marks.append({"kind": "circle", "at": _numbers((x, y, radius)), "color": color})

    def box(self, x: float, y: float, width: float, height: float, color: int = 0) -> None:
        """Add a rectangle by its lower left corner."""
        self.marks.append({"kind": "box", "at": _numbers((x, y, width, height)), "color": color})

    def line(self, points: Iterable[Point], color: int = 0, *, closed: bool = False) -> None:
        """Add a line through points."""
        kept = [_numbers(point) for point in points]
        step = max(1, -(-len(kept) // MOST_POINTS))
        self.marks.append({"kind": "line", "points": kept[::step], "color": color, "closed": closed})

    def dots(self, points: Iterable[Point], color: int = 0) -> None:
        """Add points."""
        kept = [_numbers(point) for point in points]
        step = max(1, -(-len(kept) // MOST_POINTS))
        self.marks.append({"kind": "dots", "points": kept[::step], "color": color})

    def data(self) -> dict[str, Any]:
        """Return the picture as JSON takes it; a number that is none is left out with its mark."""
        kept = [mark for mark in self.marks if all(math.isfinite(v) for v in _values(mark))]
        return {
            "note": self.note, "is_map": self.is_map, "across": self.across, "up": self.up,
            "marks": kept[:MOST_MARKS], "left_out": len(self.marks) - len(kept[:MOST_MARKS]),
        }  # fmt: skip


def _values(mark: dict[str, Any]) -> Iterable[float]:
    yield from mark.get("at", ())
    for point in mark.get("points", ()):
        yield from point


def _numbers(values: Point) -> list[float]:
    return [float(f"{float(value):.{DIGITS}g}") for value in values]
