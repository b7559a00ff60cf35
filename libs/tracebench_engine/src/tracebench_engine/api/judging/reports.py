"""A comparison as a file to hand on (HTML, Markdown, JUnit), and whether such a file tells what its runs hold. Imports numpy."""

from tracebench_analysis.comparison.document import FIRST_METHOD, METHOD, differing_parts, differing_scores
from tracebench_analysis.report.html import DATA, MAIN, check_charts, render_html, render_main, report_data
from tracebench_analysis.report.text import render_junit, render_markdown
from tracebench_analysis.report.viewed import drawn_views

__all__ = [
    "DATA",
    "FIRST_METHOD",
    "MAIN",
    "METHOD",
    "check_charts",
    "differing_parts",
    "differing_scores",
    "drawn_views",
    "render_html",
    "render_junit",
    "render_main",
    "render_markdown",
    "report_data",
]
