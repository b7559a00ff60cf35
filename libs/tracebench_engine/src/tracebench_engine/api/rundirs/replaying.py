"""A recorded run once more: the config that repeats it, and where two runs of the same jobs differ."""

from tracebench_engine.run.replay import replay_of as replay_of
from tracebench_runs.reading.compare import Difference as Difference, differences as differences
