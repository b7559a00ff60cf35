"""Which trainer is better: a comparison of runs, its verdict in sentences and as data, and the gates that it has to meet. Imports numpy."""

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import STANDING_COLUMNS, comparison_data, standing_rows
from tracebench_analysis.comparison.gates import Gate, is_met, parse_gate
from tracebench_analysis.comparison.outcomes import ENDED
from tracebench_analysis.comparison.sentences import remarks, verdict_sentence, what_next
from tracebench_analysis.comparison.settling import hints
from tracebench_analysis.comparison.verdicts import Comparison, Summary
from tracebench_analysis.statistics.intervals import Interval

__all__ = [
    "ENDED",
    "STANDING_COLUMNS",
    "Comparison",
    "Gate",
    "Interval",
    "Summary",
    "compare_runs",
    "comparison_data",
    "hints",
    "is_met",
    "parse_gate",
    "remarks",
    "standing_rows",
    "verdict_sentence",
    "what_next",
]
