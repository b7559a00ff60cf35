"""Whether a run may have as many files open at once as it needs."""

from __future__ import annotations

import logging

from tracebench_core.errors import RunDirError, quoted
from tracebench_runs.storage.disk import ENOUGH_FILES
from tracebench_runs.storage.layout import RunLayout
from tracebench_sandbox.forkserver.descriptors import lift_open_files

FEW = 256
FEWEST = 64
"""With less, processes of a run cannot even start."""
log = logging.getLogger(__name__)


def demand_open_files(layout: RunLayout) -> None:
    """Take as many open files as may be had; say so where they are few.

    Raises:
        RunDirError: when they are so few that processes of a run cannot start.
    """
    most = lift_open_files(ENOUGH_FILES)
    if most < FEWEST:
        raise RunDirError(
            f"Only {most} files may be open at once, and the processes of a run need at least {FEWEST}.",
            hint=f"ulimit -n {ENOUGH_FILES}; trace-bench resume {quoted(layout.path)}",
        )
    if most < FEW:
        log.warning("only %d files may be open at once, and a run may need more: ulimit -n %d", most, ENOUGH_FILES)
