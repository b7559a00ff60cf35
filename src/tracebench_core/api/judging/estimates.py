"""What jobs are expected to use, and what a number of seeds can tell: the parts of a `Forecast`."""

from tracebench_core.analysis.amounts import AXES, Estimate, total_estimate
from tracebench_core.analysis.estimate import JobEstimate, too_few_proposals
from tracebench_core.analysis.resolution import seeds_to_resolve, smallest_difference
from tracebench_core.store.rows import GroupKey, group_of

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
