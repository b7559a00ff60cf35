"""What this machine has; whether job processes are set back on it, too: one is made and set back, to see."""

from __future__ import annotations

import os
import socket

from tracebench_core.plugins import PluginHost
from tracebench_core.specs import RunConfig
from tracebench_engine.checks import doctor
from tracebench_engine.checks.doctor import Diagnosis
from tracebench_engine.job import kernel
from tracebench_engine.run.local.forking import fork_child
from tracebench_engine.run.local.hold import NotSetBackError
from tracebench_engine.run.local.memory import Base
from tracebench_engine.run.local.worker import Worker, live, why_not

HINT = "Linux 6.7 or newer on x86-64 that allows userfaultfd and ptrace, and no limit of processor time, saves an eighth of a small job"


def diagnose(config: RunConfig | None = None, *, host: PluginHost | None = None) -> list[Diagnosis]:
    """See `checks.doctor.diagnose`; and whether job processes are set back."""
    rows = doctor.diagnose(config, host=host)
    why = why_forked()
    value = f"a fork for each job: {why}" if why else "set back between jobs"
    after = next(at for at, row in enumerate(rows, 1) if row.name == "isolation")
    return [*rows[:after], Diagnosis("job processes", not why, value, HINT), *rows[after:]]


def why_forked() -> str:
    """Return why each job has a fork of its own here; empty where one that was just made could be set back."""
    if why := why_not():
        return why
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = fork_child(lambda: _live(ours, theirs), close=lambda: None)
        try:
            worker = Worker(pid, ours, theirs, Base())
            why = worker.set_back() or worker.unsettled()
            why = why or worker.set_back() or worker.unsettled()  # now it has written, as it may not have before
            worker.close()
        except (NotSetBackError, OSError) as err:
            why = str(err)
        finally:
            kernel.kill(pid)
            kernel.reap(pid)
    return why


def _live(ours: socket.socket, theirs: socket.socket) -> int:
    ours.close()
    live(theirs, lambda _: 0, parent=os.getppid())
