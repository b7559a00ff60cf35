"""Which trainer is better: a comparison of runs, its verdict in sentences and as data, and the gates that it has to meet. Imports numpy."""

from tracebench_analysis.comparison.comparison import compare_runs as compare_runs
from tracebench_analysis.comparison.document import (
    STANDING_COLUMNS as STANDING_COLUMNS,
    comparison_data as comparison_data,
    standing_rows as standing_rows,
)
from tracebench_analysis.comparison.gates import Gate as Gate, is_met as is_met, parse_gate as parse_gate
from tracebench_analysis.comparison.outcomes import ENDED as ENDED
from tracebench_analysis.comparison.sentences import (
    remarks as remarks,
    verdict_sentence as verdict_sentence,
    what_next as what_next,
)
from tracebench_analysis.comparison.settling import hints as hints
from tracebench_analysis.comparison.verdicts import Comparison as Comparison, Summary as Summary
from tracebench_analysis.statistics.intervals import Interval as Interval
