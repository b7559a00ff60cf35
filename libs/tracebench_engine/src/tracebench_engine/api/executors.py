"""What an executor is written with: how an order is run in a process, and what the end of that process means."""

import os
from pathlib import Path

from tracebench_core.plugins import HOME, unmet_requirement as unmet_requirement
from tracebench_engine.job.execution import ending as ending, run_order as run_order, unwritable as unwritable
from tracebench_engine.measure.wire import Wire as Wire
from tracebench_engine.run.local.outside import ThisMachine as ThisMachine
from tracebench_gateway.credentials import without_secrets
from tracebench_runs.storage.lock import lock_fds as lock_fds


def job_environ(folder: Path) -> dict[str, str]:
    """Return the environment of jobs on this machine: no secret is in it, and files that a config names are looked for in a folder."""
    return without_secrets(os.environ) | {HOME: str(folder)}
