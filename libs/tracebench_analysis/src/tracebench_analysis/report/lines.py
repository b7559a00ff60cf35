"""Curves with their bands as one small SVG and a legend, for pages that carry no chart library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from tracebench_analysis.figures.charts import COLORS
from tracebench_analysis.figures.plots import Row

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BELOW = 460, 330, 40, 12, 12, 42
"""Of the drawing, at the size of which its letters are meant to be read: half a wide page, or the whole of a narrow one."""
DASHES = ("none", "7 4", "2 3")
"""Of lines that must share a colour, as there are more trainers than colours."""


def lines_svg(rows: Sequence[Row], *, across: str, up: str) -> str:
    """Return the mean of every trainer with its band, and a legend from the highest end to the lowest.

    `rows` are those of `curve_rows` on one axis. A script may move the line of class `now` along the axis, whose end is `data-most`.
    """
    by_trainer: dict[str, list[Row]] = {}
    for row in rows:
        by_trainer.setdefault(row["trainer"], []).append(row)
    low, high = shown_range(rows)
    most = max([1e-9, *(row["x"] for row in rows)])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BELOW

    def place(x: float, y: float) -> str:
        return f"{LEFT + x / most * wide:.1f},{TOP + (high - y) / (high - low) * tall:.1f}"

    frame = f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{tall}"/>'
    parts = [f'<clipPath id="frame">{frame}</clipPath>', _axes(low, high, most, across, up)]
    legend = []
    for number, (name, own) in enumerate(by_trainer.items()):
        color = COLORS[number % len(COLORS)]
        dash = DASHES[number // len(COLORS) % len(DASHES)]
        points = sorted(own, key=lambda row: row["x"])
        edge = [place(row["x"], row["high"]) for row in points]
        edge += [place(row["x"], row["low"]) for row in reversed(points)]
        line = [place(row["x"], row["mean"]) for row in points]
        stroke = f'fill="none" stroke="{color}" stroke-width="2.4" stroke-dasharray="{dash}"'
        parts.append(
            f"<g><title>{html.escape(name)}</title>"
            f'<polygon points="{" ".join(edge)}" fill="{color}" fill-opacity="0.15" clip-path="url(#frame)"/>'
            f'<polyline points="{" ".join(line)}" {stroke}/></g>'
        )
        key = f'<svg viewBox="0 0 26 8" aria-hidden="true"><line x1="1" x2="25" y1="4" y2="4" {stroke}/></svg>'
        end = points[-1]["mean"]
        legend.append((end, f"<li>{key}{html.escape(name)} <b>{end:.2f}</b></li>"))
    now = f'<line class="now" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{HEIGHT - BELOW}" data-left="{LEFT}" data-wide="{wide}"/>'
    listed = "".join(item for _, item in sorted(legend, key=lambda pair: -pair[0]))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(up)}" id="curves" data-most="{most:g}">'
        f'{"".join(parts)}{now}</svg><ul class="legend">{listed}</ul>'
    )


def shown_range(rows: Sequence[Row]) -> tuple[float, float]:
    """Return what the axis shows: all means and 0, and of the bands so much that the lines still take half of the height; all of
    them where lines are flat."""
    means = [0.0, *(row["mean"] for row in rows)]
    beyond = (max(means) - min(means)) / 2
    low = min([0.0, *(row["low"] for row in rows)])
    high = max([1e-9, *(row["high"] for row in rows)])
    return (max(low, min(means) - beyond), min(high, max(means) + beyond)) if beyond else (low, high)


def is_cut(rows: Sequence[Row]) -> bool:
    """Tell whether a band reaches beyond what the axis shows."""
    low, high = shown_range(rows)
    return any(row["low"] < low or row["high"] > high for row in rows)


def _axes(low: float, high: float, most: float, across: str, up: str) -> str:
    right, bottom = WIDTH - RIGHT, HEIGHT - BELOW
    ticks = []
    step = _round_step((high - low) / 5)
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        y = bottom - (i * step - low) / (high - low) * (bottom - TOP)
        ticks.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        ticks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:.3g}</text>')
    for share, anchor in ((0.0, "middle"), (0.5, "middle"), (1.0, "end")):
        x = LEFT + share * (right - LEFT)
        ticks.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="{anchor}">{share * most:.4g}</text>')
    middle = (LEFT + right) / 2
    ticks.append(f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(across)}</text>')
    return f'<g class="axes"><title>{html.escape(up)}</title>{"".join(ticks)}</g>'


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least)
