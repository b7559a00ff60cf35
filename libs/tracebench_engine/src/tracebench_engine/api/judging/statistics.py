"""The tests and intervals that a comparison stands on, over scores that are given: paired differences, Holm, ranks. Needs no run."""

from tracebench_analysis.statistics.differences import compare_scores as compare_scores
from tracebench_analysis.statistics.intervals import t_interval as t_interval
from tracebench_analysis.statistics.multiplicity import compare_ranks as compare_ranks, holm as holm
