"""A comparison as a file to hand on (HTML, Markdown, JUnit), and whether such a file tells what its runs hold. Imports numpy."""

from tracebench_analysis.comparison.document import (
    FIRST_METHOD as FIRST_METHOD,
    METHOD as METHOD,
    differing_parts as differing_parts,
    differing_scores as differing_scores,
)
from tracebench_analysis.figures.views import best_jobs as best_jobs
from tracebench_analysis.report.html import (
    CHARTS_SCRIPT as CHARTS_SCRIPT,
    CHARTS_STYLE as CHARTS_STYLE,
    DATA as DATA,
    MAIN as MAIN,
    PAGE_STYLE as PAGE_STYLE,
    chart_library as chart_library,
    check_charts as check_charts,
    render_html as render_html,
    render_main as render_main,
    report_data as report_data,
)
from tracebench_analysis.report.text import render_junit as render_junit, render_markdown as render_markdown
from tracebench_analysis.report.viewed import KINDS
from tracebench_analysis.report.viewed import Drawn as Drawn, drawn_views as drawn_views, views_html as views_html

VIEW_KINDS = KINDS
