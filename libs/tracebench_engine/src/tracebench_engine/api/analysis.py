"""Comparisons, curves, figures and the sections of a report, over runs that exist. Imports numpy."""

from tracebench_analysis.comparison.comparison import compare_runs as compare_runs
from tracebench_analysis.comparison.document import comparison_data as comparison_data
from tracebench_analysis.estimates.amounts import AXES as AXES
from tracebench_analysis.figures.analysed_run import AnalysedRun as AnalysedRun
from tracebench_analysis.figures.analysed_run import load_run
from tracebench_analysis.figures.charts import Charts as Charts, altair as altair
from tracebench_analysis.figures.plots import curve_rows as curve_rows
from tracebench_analysis.figures.tracks import Tracks as Tracks
from tracebench_analysis.figures.views import Shown as Shown, build_views as build_views
from tracebench_analysis.report.figures import figures as figures
from tracebench_analysis.report.sections import sections as sections
from tracebench_runs.results.student import cdf

open_run = load_run
student_cdf = cdf
