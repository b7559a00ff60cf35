"""The kinds of pictures that tasks share: packings, tours, schedules, bins, fitted curves, loads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.drawings.drawing import BOUND, OUTLINE, PLAIN, Drawing, Point

Floats = npt.NDArray[np.float64]
GAP = 1.15
"""From one bin to the next, in widths of a bin."""


def places(distance: Floats) -> Floats:
    """Return points of the plane with these distances, shape (n, 2): classical scaling, exact for Euclidean ones (Torgerson 1952)."""
    squared = np.asarray(distance, dtype=float) ** 2
    centred = -(squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    found: Floats = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    return found[:, ::-1]


def routes(points: Floats, ways: Iterable[Sequence[int]], *, closed: bool = True, depot: int | None = None) -> Drawing:
    """Draw ways over points; with a depot each begins there, and closed ones end there."""
    drawing = Drawing()
    ways = [[*way] for way in ways]
    for number, way in enumerate(ways):
        stops = way if depot is None else [depot, *way]
        drawing.line([points[stop] for stop in stops], number, closed=closed)
    drawing.dots(points, OUTLINE)
    if depot is not None:
        drawing.dots([points[depot]] * 2, BOUND)
    drawing.note = f"{len(points)} places, {len(ways)} way{'s' if len(ways) > 1 else ''}"
    return drawing


def discs(circles: Iterable[Sequence[float]], *, container: Sequence[float] | None = None) -> Drawing:
    """Draw circles (x, y, radius) in a square of side 1, or in a round container."""
    drawing = Drawing()
    if container is None:
        drawing.box(0, 0, 1, 1, OUTLINE)
    else:
        x, y, radius = container
        drawing.circle(x, y, radius, OUTLINE)
    listed = [*circles]
    for number, (x, y, radius) in enumerate(listed):
        drawing.circle(x, y, radius, number % 6)
    drawing.note = f"{len(listed)} circles"
    return drawing


def bins_of_boxes(boxes: Iterable[tuple[int, float, float, float, float]], *, width: float, height: float) -> Drawing:
    """Draw rectangles (bin, x, y, width, height) in bins that stand in rows."""
    listed = [*boxes]
    count = 1 + max((box[0] for box in listed), default=0)
    columns = int(np.ceil(np.sqrt(count)))
    drawing = Drawing(note=f"{count} bins of {width:g} x {height:g}, {len(listed)} items")
    for number in range(count):
        drawing.box(*_corner(number, columns, width, height), width, height, OUTLINE)
    for number, (where, x, y, w, h) in enumerate(listed):
        left, low = _corner(where, columns, width, height)
        drawing.box(left + x, low + y, w, h, number % 6)
    return drawing


def _corner(number: int, columns: int, width: float, height: float) -> tuple[float, float]:
    row, column = divmod(number, columns)
    return column * width * GAP, -row * height * GAP


def stacks(bins: Sequence[Sequence[float]], *, capacity: float) -> Drawing:
    """Draw items as boxes on top of each other in bins side by side."""
    drawing = Drawing(is_map=False, across="bin", up="filled")
    for number, items in enumerate(bins):
        low = 0.0
        for k, item in enumerate(items):
            drawing.box(number, low, 0.85, item, k % 6)
            low += item
    drawing.line([(0, capacity), (len(bins), capacity)], BOUND)
    drawing.note = f"{len(bins)} bins, capacity {capacity:g}"
    return drawing


def levels(loads: Sequence[float], *, capacity: float, across: str) -> Drawing:
    """Draw how full many bins are, in their order."""
    drawing = Drawing(is_map=False, across=across, up="filled")
    ends = [(x, load) for number, load in enumerate(loads) for x in (number, number + 1)]
    drawing.line([(0, 0), *ends, (len(loads), 0)], 0)
    drawing.line([(0, capacity), (len(loads), capacity)], BOUND)
    share = float(np.sum(loads)) / (capacity * max(1, len(loads)))
    drawing.note = f"{len(loads)} of them, {share:.1%} full"
    return drawing


def bars(values: Sequence[float], limits: Sequence[float], *, across: str, up: str) -> Drawing:
    """Draw amounts as bars, each below its own limit."""
    drawing = Drawing(is_map=False, across=across, up=up)
    for number, (value, limit) in enumerate(zip(values, limits, strict=True)):
        drawing.box(number, 0, 0.85, limit, OUTLINE)
        drawing.box(number, 0, 0.85, value, 0)
    return drawing


def schedule(work: Iterable[tuple[int, float, float, int]], *, rows: str = "machine") -> Drawing:
    """Draw work (row, start, end, job) over time, row 0 on top."""
    listed = [*work]
    count = 1 + max((row for row, *_ in listed), default=0)
    drawing = Drawing(is_map=False, across="time", up=f"{rows} 0 on top")
    for row, start, end, job in listed:
        drawing.box(start, count - 1 - row, end - start, 0.85, job)
    last = max((end for _, _, end, _ in listed), default=0.0)
    drawing.note = f"{count} {rows}s, the last ends at {last:g}"
    return drawing


def fit(truth: Sequence[float], predicted: Sequence[float], *, inside: int) -> Drawing:
    """Draw predictions against what is true; the first `inside` lie in the range that was fitted, and on the line all is exact."""
    drawing = Drawing(is_map=False, across="true value", up="predicted")
    pairs = [*zip(truth, predicted, strict=True)]
    ends = [min(truth), max(truth)]
    drawing.line([(end, end) for end in ends], BOUND)
    room = (ends[1] - ends[0]) or 1.0
    shown = [(t, min(max(p, ends[0] - room), ends[1] + room)) for t, p in pairs]
    drawing.dots(shown[:inside], 0)
    drawing.dots(shown[inside:], 1)
    drawing.note = "blue: in the fitted range, orange: beyond it"
    return drawing


def series(points: Sequence[Point], *, across: str, up: str) -> Drawing:
    """Draw one line over an axis."""
    drawing = Drawing(is_map=False, across=across, up=up)
    drawing.line(points, 0)
    return drawing


def grid(cells: Iterable[tuple[int, int, int]], *, note: str) -> Drawing:
    """Draw coloured cells (column, row, colour) of a table, row 0 on top."""
    drawing = Drawing(note=note, is_map=False)
    for column, row, color in cells:
        drawing.box(column, -row, 0.9, 0.9, PLAIN if color < 0 else color)
    return drawing
