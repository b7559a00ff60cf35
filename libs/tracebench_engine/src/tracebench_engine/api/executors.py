"""What an executor is written with: how an order is run in a process, and what the end of that process means."""

from tracebench_engine.job.execution import ending, run_order, unwritable
from tracebench_runs.storage.lock import lock_fds

__all__ = ["ending", "lock_fds", "run_order", "unwritable"]
