"""What an executor is written with: how an order is run in a process, and what the end of that process means."""

import os
from pathlib import Path

from tracebench_core.plugins import HOME, unmet_requirement
from tracebench_engine.job.execution import ending, run_order, unwritable
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.outside import ThisMachine
from tracebench_gateway.credentials import without_secrets
from tracebench_runs.storage.lock import lock_fds

__all__ = ["ThisMachine", "Wire", "ending", "job_environ", "lock_fds", "run_order", "unmet_requirement", "unwritable"]


def job_environ(folder: Path) -> dict[str, str]:
    """Return the environment of jobs on this machine: no secret is in it, and files that a config names are looked for in a folder."""
    return without_secrets(os.environ) | {HOME: str(folder)}
