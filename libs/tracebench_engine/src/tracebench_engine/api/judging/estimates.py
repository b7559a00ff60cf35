"""What jobs are expected to use, and what a number of seeds can tell: the parts of a `Forecast`."""

from tracebench_analysis.estimates.amounts import AXES as AXES, Estimate as Estimate, total_estimate as total_estimate
from tracebench_analysis.estimates.estimate import JobEstimate as JobEstimate, too_few_proposals as too_few_proposals
from tracebench_analysis.statistics.resolution import (
    seeds_to_resolve as seeds_to_resolve,
    smallest_difference as smallest_difference,
)
from tracebench_runs.results.rows import GroupKey as GroupKey, group_of as group_of
