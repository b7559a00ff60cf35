"""Comparisons, curves, figures and the sections of a report, over runs that exist. Imports numpy."""

from tracebench_core.analysis.amounts import AXES
from tracebench_core.analysis.charts import Charts, altair
from tracebench_core.analysis.comparison import compare_runs
from tracebench_core.analysis.document import comparison_data
from tracebench_core.analysis.opened import AnalysedRun, open_run
from tracebench_core.analysis.plots import curve_rows
from tracebench_core.analysis.report.figures import figures
from tracebench_core.analysis.report.sections import sections
from tracebench_core.analysis.views import Shown, build_views
from tracebench_core.store.student import cdf as student_cdf

__all__ = [
    "AXES",
    "AnalysedRun",
    "Charts",
    "Shown",
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
