"""A comparison as a file to hand on (HTML, Markdown, JUnit), and whether such a file tells what its runs hold. Imports numpy."""

from tracebench_analysis.comparison.document import FIRST_METHOD, METHOD, differing_parts, differing_scores
from tracebench_analysis.figures.views import best_jobs
from tracebench_analysis.report.html import (
    CHARTS_SCRIPT,
    CHARTS_STYLE,
    DATA,
    MAIN,
    PAGE_STYLE,
    chart_library,
    check_charts,
    render_html,
    render_main,
    report_data,
)
from tracebench_analysis.report.text import render_junit, render_markdown
from tracebench_analysis.report.viewed import KINDS as VIEW_KINDS
from tracebench_analysis.report.viewed import Drawn, drawn_views, views_html

__all__ = [
    "CHARTS_SCRIPT",
    "CHARTS_STYLE",
    "DATA",
    "FIRST_METHOD",
    "MAIN",
    "METHOD",
    "PAGE_STYLE",
    "VIEW_KINDS",
    "Drawn",
    "best_jobs",
    "chart_library",
    "check_charts",
    "differing_parts",
    "differing_scores",
    "drawn_views",
    "render_html",
    "render_junit",
    "render_main",
    "render_markdown",
    "report_data",
    "views_html",
]
