"""What in a run directory is inconsistent, and mending it."""

from tracebench_runs.check.checks import Finding
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.journal.trust import read_trust

__all__ = ["Finding", "accept_losses", "check_run", "read_trust", "repair_run"]
