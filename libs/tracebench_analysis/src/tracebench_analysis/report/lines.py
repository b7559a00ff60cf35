"""Curves with their bands as one small SVG, for pages that carry no chart library."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from tracebench_analysis.figures.charts import COLORS
from tracebench_analysis.figures.plots import Row

WIDTH, HEIGHT, LEFT, TOP, BELOW = 720, 300, 46, 14, 44
LABELS, LETTER = 190, 22
"""Pixels that the names take at the right, and letters of a name that fit there."""
STEP = 16
"""Pixels from one name to the next, at least."""


def lines_svg(rows: Sequence[Row], *, across: str, up: str) -> str:
    """Return the mean of every trainer with its band, named where it ends; `rows` are those of `curve_rows` on one axis."""
    by_trainer: dict[str, list[Row]] = {}
    for row in rows:
        by_trainer.setdefault(row["trainer"], []).append(row)
    low = min([0.0, *(row["low"] for row in rows)])
    high = max([1e-9, *(row["high"] for row in rows)])
    most = max([1e-9, *(row["x"] for row in rows)])
    height = max(HEIGHT, TOP + BELOW + STEP * len(by_trainer))
    wide, tall = WIDTH - LEFT - LABELS, height - TOP - BELOW

    def place(x: float, y: float) -> str:
        return f"{LEFT + x / most * wide:.1f},{TOP + (high - y) / (high - low) * tall:.1f}"

    ends = {name: max(own, key=lambda row: row["x"])["mean"] for name, own in by_trainer.items()}
    wanted = {name: TOP + (high - end) / (high - low) * tall for name, end in ends.items()}
    names = _apart(wanted, until=float(TOP + tall))
    parts = [_axes(low, high, most, across, up, bottom=height - BELOW)]
    for number, (name, own) in enumerate(by_trainer.items()):
        color = COLORS[number % len(COLORS)]
        points = sorted(own, key=lambda row: row["x"])
        edge = [place(row["x"], row["high"]) for row in points]
        edge += [place(row["x"], row["low"]) for row in reversed(points)]
        line = [place(row["x"], row["mean"]) for row in points]
        shown = html.escape(name if len(name) <= LETTER else f"{name[: LETTER - 1]}…")
        parts.append(
            f'<g><title>{html.escape(name)}</title><polygon points="{" ".join(edge)}" fill="{color}" fill-opacity="0.15"/>'
            f'<polyline points="{" ".join(line)}" fill="none" stroke="{color}" stroke-width="2.2"/>'
            f'<circle cx="{LEFT + wide + 12}" cy="{names[name]:.1f}" r="4.5" fill="{color}"/>'
            f'<text x="{LEFT + wide + 22}" y="{names[name] + 4:.1f}">{shown}</text></g>'
        )
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(up)}">{"".join(parts)}</svg>'


def _axes(low: float, high: float, most: float, across: str, up: str, *, bottom: int) -> str:
    right = WIDTH - LABELS
    ticks = []
    for share in (0.0, 0.5, 1.0):
        x, y = LEFT + share * (right - LEFT), bottom - share * (bottom - TOP)
        ticks.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        ticks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{low + share * (high - low):.2g}</text>')
        ticks.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{share * most:.4g}</text>')
    middle = (LEFT + right) / 2
    ticks.append(f'<text x="{middle:.1f}" y="{bottom + BELOW - 6}" text-anchor="middle">{html.escape(across)}</text>')
    return f'<g class="axes"><title>{html.escape(up)}</title>{"".join(ticks)}</g>'


def _apart(heights: Mapping[str, float], *, until: float) -> dict[str, float]:
    """Return heights in which no two names touch, in the order in which they are, and none stands below `until`."""
    placed: dict[str, float] = {}
    last = float("-inf")
    for name, height in sorted(heights.items(), key=lambda pair: pair[1]):
        placed[name] = last = max(height, last + STEP)
    highest = until
    for name in reversed(placed):
        placed[name] = min(placed[name], highest)
        highest = placed[name] - STEP
    return placed
