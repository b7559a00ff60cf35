"""A picture's data as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from tracebench_llm4ad.drawings.drawing import BOUND, OUTLINE, PLAIN

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A6FBF", "#B2A100", "#5B7083", "#A65628")
"""Of Okabe and Ito (2008), and four more that stand apart from them."""
GREY, INK, AIM = "#9AA3AD", "#39424E", "#D55E00"
SIZE, HEIGHT, EDGE, HEAD, FOOT = 400, 300, 14, 62, 30
"""Pixels: the side of a map, the height of a chart, the margin, and the room for words above and below."""
Data = Mapping[str, Any]


def panels(pictures: Sequence[tuple[str, Data]]) -> str:
    """Return pictures side by side, each under its heading, as one SVG on white."""
    width = SIZE * len(pictures) + EDGE * (len(pictures) + 1)
    tall = max(_height(data) for _, data in pictures)
    parts = [f'<rect x="0" y="0" width="{width}" height="{tall}" fill="#ffffff"/>']
    for i, (heading, data) in enumerate(pictures):
        parts.append(f'<g transform="translate({EDGE + i * (SIZE + EDGE)} 0)">{_panel(heading, data)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" width="{width}" height="{tall}" role="img" '
        f'font-family="DejaVu Sans, sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _height(data: Data) -> int:
    return HEAD + FOOT + (SIZE if data["is_map"] else HEIGHT)


def _panel(heading: str, data: Data) -> str:
    left, low, right, high = _extent(data)
    room = SIZE if data["is_map"] else HEIGHT
    wide, tall = max(right - left, 1e-9), max(high - low, 1e-9)
    sx, sy = SIZE / wide, room / tall
    if data["is_map"]:
        sx = sy = min(sx, sy)

    def place(point: Sequence[float]) -> tuple[float, float]:
        return (point[0] - left) * sx, HEAD + room - (point[1] - low) * sy

    note = data["note"] + (f" ({data['left_out']} marks are left out)" if data["left_out"] else "")
    words = [_text(0, 16, heading, weight="bold"), _text(0, 34, note, color=GREY)]
    if data["across"]:
        words += [
            f'<rect x="0" y="{HEAD}" width="{SIZE}" height="{room}" fill="none" stroke="{GREY}" stroke-width="0.5"/>',
            _text(0, HEAD + room + 16, f"{left:.4g}", color=GREY),
            _text(SIZE / 2, HEAD + room + 16, data["across"], anchor="middle"),
            _text(SIZE, HEAD + room + 16, f"{right:.4g}", color=GREY, anchor="end"),
            _text(0, HEAD - 8, f"{high:.4g}  {data['up']}"),
            _text(4, HEAD + room - 4, f"{low:.4g}", color=GREY),
        ]
    return "".join([*(_mark(mark, place, sx, sy) for mark in data["marks"]), *words])


def _extent(data: Data) -> tuple[float, float, float, float]:
    xs: list[float] = []
    ys: list[float] = []
    for x, y in _corners(data):
        xs.append(x)
        ys.append(y)
    if not xs:
        return 0.0, 0.0, 1.0, 1.0
    low, high = min(ys), max(ys)
    return (min(xs), low, max(xs), high) if high > low else (min(xs), low - 1, max(xs), high + 1)


def _corners(data: Data) -> Iterator[tuple[float, float]]:
    for mark in data["marks"]:
        if mark["kind"] == "circle":
            x, y, r = mark["at"]
            yield from ((x - r, y - r), (x + r, y + r))
        elif mark["kind"] == "box":
            x, y, width, height = mark["at"]
            yield from ((x, y), (x + width, y + height))
        else:
            yield from ((x, y) for x, y in mark["points"])


def _mark(mark: Data, place: Any, sx: float, sy: float) -> str:
    color = mark["color"]
    paint = _paint(color)
    if mark["kind"] == "circle":
        x, y, radius = mark["at"]
        cx, cy = place((x, y))
        return f'<circle cx="{cx:.2f}" cy="{cy:.2f}" r="{radius * sx:.2f}" {paint}/>'
    if mark["kind"] == "box":
        x, y, width, height = mark["at"]
        px, py = place((x, y + height))
        return f'<rect x="{px:.2f}" y="{py:.2f}" width="{width * sx:.2f}" height="{height * sy:.2f}" {paint}/>'
    points = [place(point) for point in mark["points"]]
    if mark["kind"] == "dots":
        return "".join(
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="2.6" fill="{_color(color)}" fill-opacity="0.8"/>' for x, y in points
        )
    shape = "polygon" if mark["closed"] else "polyline"
    path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return f'<{shape} points="{path}" fill="none" stroke="{_color(color)}" stroke-width="1.6" stroke-linejoin="round"/>'


def _paint(color: int) -> str:
    if color == OUTLINE:
        return f'fill="none" stroke="{INK}" stroke-width="1"'
    return f'fill="{_color(color)}" fill-opacity="0.55" stroke="{_color(color)}" stroke-width="0.8"'


def _color(color: int) -> str:
    return {PLAIN: GREY, OUTLINE: INK, BOUND: AIM}.get(color) or COLORS[color % len(COLORS)]


def _text(x: float, y: float, words: str, *, color: str = INK, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
