"""One look for every page: colours that most people tell apart, in light and in dark, and numbers with their units."""

from __future__ import annotations

from typing import Any

NOTHING = "-"
"""Stands for what is not known; it is never a zero."""
BLUE, VERMILLION, GREEN, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#8A8F98"
"""Of Okabe and Ito (2008), as the charts of the core; grey for what is no entrant."""
THEME: dict[str, Any] = {
    "theme.metricValueFontSize": "1.3rem",
    "theme.headingFontSizes": ["1.7rem", "1.35rem", "1.1rem"],
    "theme.light.primaryColor": BLUE,
    "theme.light.backgroundColor": "#FFFFFF",
    "theme.light.secondaryBackgroundColor": "#F3F6F9",
    "theme.light.textColor": "#0B1017",
    "theme.dark.primaryColor": "#5AA9DE",
    "theme.dark.codeTextColor": "#8FD3B5",
    "theme.dark.backgroundColor": "#12171E",
    "theme.dark.secondaryBackgroundColor": "#1C232D",
    "theme.dark.textColor": "#E4E9F0",
}
STYLE = """<style>
.stMainBlockContainer{padding-top:2.6rem;padding-bottom:3rem}
[data-testid=stMultiSelect] :has(>span[title]){background:#00598C!important}
[data-testid=stMultiSelect] span[title]{color:#fff!important}
[data-testid=stBaseButton-primary]{background:#00598C!important;color:#fff!important}
[data-testid=stCaptionContainer] code{color:inherit!important;opacity:1!important}
@media(max-width:640px){.stMainBlockContainer{padding-left:1rem;padding-right:1rem}
.st-key-filters .stHorizontalBlock{display:grid;grid-template-columns:1fr 1fr;gap:.5rem 1rem}
.st-key-filters .stColumn{width:auto;min-width:0}.st-key-filters .stColumn:first-child{grid-column:1/-1}}
</style>"""
"""What stands on the colour of the theme is told from it in light and in dark; a narrow screen loses nothing to its margins."""
STATUS_MARKS = {
    "running": "▶ running",
    "paused": "⏸ paused",
    "unreachable": "▶ running, unreachable",
    "ended": "● ended",
    "stopped": "◐ stopped early",
    "unreadable": "⚠ unreadable",
    "ok": "● ok",
    "failed": "✕ failed",
    "timeout": "✕ timeout",
    "cancelled": "○ cancelled",
    "skipped": "○ skipped",
    "not_run": "· not run",
}
"""A mark and a word each: colour alone tells nobody anything."""
VERDICT_COLORS = {
    "best": GREEN, "led": "#56B4E9", "accepted": BLUE, "indecisive": ORANGE, "rejected": VERMILLION, "no verdict": GREY,
    "others": GREY,
}  # fmt: skip


def mark(status: str) -> str:
    """Return a status with its mark."""
    return STATUS_MARKS.get(status, status)


def number(value: float | None, unit: str = "") -> str:
    """Return a number as text; what was not measured is a dash, never 0."""
    if value is None:
        return NOTHING
    text = f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1e5 else f"{value:.4g}"  # noqa: PLR2004
    return f"{text} {unit}".strip()


def duration(seconds: float | None) -> str:
    """Return a length of time in its two largest units."""
    if seconds is None:
        return NOTHING
    whole = int(seconds)
    for size, big, small in ((86400, "d", "h"), (3600, "h", "min"), (60, "min", "s")):
        if whole >= size:
            rest = whole % size // {86400: 3600, 3600: 60, 60: 1}[size]
            return f"{whole // size} {big} {rest} {small}"
    return f"{seconds:.1f} s"
