"""The tests and intervals that a comparison stands on, over scores that are given: paired differences, Holm, ranks. Needs no run."""

from tracebench_analysis.statistics.differences import compare_scores
from tracebench_analysis.statistics.intervals import t_interval
from tracebench_analysis.statistics.multiplicity import compare_ranks, holm

__all__ = ["compare_ranks", "compare_scores", "holm", "t_interval"]
