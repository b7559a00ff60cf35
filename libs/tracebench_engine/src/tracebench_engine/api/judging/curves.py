"""What trainers had found by each point of a run: their curves on one scale, with intervals, and as a line of small bars."""

from tracebench_analysis.figures.tracks import Tracks as Tracks, sparkline as sparkline
from tracebench_analysis.statistics.curves import band as band, grid as grid
