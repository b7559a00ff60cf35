"""What jobs are expected to use, and what a number of seeds can tell: the parts of a `Forecast`."""

from tracebench_analysis.estimates.amounts import AXES, Estimate, total_estimate
from tracebench_analysis.estimates.estimate import JobEstimate, too_few_proposals
from tracebench_analysis.statistics.resolution import seeds_to_resolve, smallest_difference
from tracebench_runs.results.rows import GroupKey, group_of

__all__ = [
    "AXES",
    "Estimate",
    "GroupKey",
    "JobEstimate",
    "group_of",
    "seeds_to_resolve",
    "smallest_difference",
    "too_few_proposals",
    "total_estimate",
]
