"""What trainers had found by each point of a run: their curves on one scale, with intervals, and as a line of small bars."""

from tracebench_core.analysis.curves import band, grid
from tracebench_core.analysis.tracks import normalised, read_tracks, scales, sparkline

__all__ = ["band", "grid", "normalised", "read_tracks", "scales", "sparkline"]
