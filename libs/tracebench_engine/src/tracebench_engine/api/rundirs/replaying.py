"""A recorded run once more: the config that repeats it, and where two runs of the same jobs differ."""

from tracebench_engine.run.replay import replay_of
from tracebench_runs.reading.compare import Difference, differences

__all__ = ["Difference", "differences", "replay_of"]
