"""What in a run directory is inconsistent, and mending it."""

from tracebench_runs.check.checks import Finding as Finding
from tracebench_runs.check.fsck import accept_losses as accept_losses, check_run as check_run, repair_run as repair_run
from tracebench_runs.journal.trust import read_trust as read_trust
