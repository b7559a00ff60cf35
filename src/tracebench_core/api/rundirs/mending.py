"""What in a run directory is inconsistent, and mending it."""

from tracebench_core.store.checks import Finding
from tracebench_core.store.fsck import accept_losses, check_run, repair_run
from tracebench_core.store.trust import read_trust

__all__ = ["Finding", "accept_losses", "check_run", "read_trust", "repair_run"]
