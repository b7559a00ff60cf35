"""Comparisons, curves, figures and the sections of a report, over runs that exist. Imports numpy."""

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import comparison_data
from tracebench_analysis.estimates.amounts import AXES
from tracebench_analysis.figures.analysed_run import AnalysedRun
from tracebench_analysis.figures.analysed_run import load_run as open_run
from tracebench_analysis.figures.charts import Charts, altair
from tracebench_analysis.figures.plots import curve_rows
from tracebench_analysis.figures.tracks import Tracks
from tracebench_analysis.figures.views import Shown, build_views
from tracebench_analysis.report.figures import figures
from tracebench_analysis.report.sections import sections
from tracebench_runs.results.student import cdf as student_cdf

__all__ = [
    "AXES",
    "AnalysedRun",
    "Charts",
    "Shown",
    "Tracks",
    "altair",
    "build_views",
    "compare_runs",
    "comparison_data",
    "curve_rows",
    "figures",
    "open_run",
    "sections",
    "student_cdf",
]
