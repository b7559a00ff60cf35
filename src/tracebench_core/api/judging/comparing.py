"""Which trainer is better: a comparison of runs, its verdict in sentences and as data, and the gates that it has to meet. Imports numpy."""

from tracebench_core.analysis.comparison import compare_runs
from tracebench_core.analysis.document import STANDING_COLUMNS, comparison_data, standing_rows
from tracebench_core.analysis.gates import Gate, is_met, parse_gate
from tracebench_core.analysis.intervals import Interval
from tracebench_core.analysis.outcomes import ENDED
from tracebench_core.analysis.sentences import remarks, verdict_sentence, what_next
from tracebench_core.analysis.settling import hints
from tracebench_core.analysis.verdicts import Comparison, Summary

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
