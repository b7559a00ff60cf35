"""Workers as an array of Slurm: submitted, made whole when elements of it are gone for good, and ended with the run."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Iterable
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import ExecutorSetting
from tracebench_slurm.options import Options
from tracebench_slurm.queue import QueueError, cancel, elements, rehearse, submit
from tracebench_workers.ticket import Ticket

log = logging.getLogger(__name__)

LOOK = 10.0
"""Seconds between two looks into the queue."""
MOST_AGAIN = 3
"""Submissions in a row, with no job ended between, that replace workers that are gone."""
LEAVING = 10.0
"""Seconds in which workers that heard that the run is over may leave by themselves."""
CANCELLING = 120.0
"""Seconds that Slurm may take to end the others (its KillWait is 30 by default)."""
SCRIPT = """#!/bin/bash
umask 077
export TRACEBENCH_TICKET={ticket}
{setup}
cd {folder} || exit 1
exec {python} -P -m tracebench_workers --jobs {jobs} --name "slurm-${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"{root}
"""


class Array:
    """The workers of one run. Slurm may requeue an element; one that is gone is submitted anew while the run goes on."""

    def __init__(self, ticket: Ticket, setting: ExecutorSetting, options: Options) -> None:
        """Submit them.

        Raises:
            TraceBenchError: when Slurm refuses.
        """
        self._setting = setting
        self._options = options
        self._wanted = options.number(setting.workers)
        self._script = SCRIPT.format(
            ticket=shlex.quote(str(ticket)),
            setup=options.setup,
            folder=shlex.quote(str(Path.cwd())),
            python=shlex.quote(options.python),
            jobs=options.jobs,
            root=f" --root {shlex.quote(setting.root)}" if setting.root else "",
        )
        self._again = 0
        self._looked = time.monotonic()
        rehearse([*options.asked(setting.resources)])  # what it refuses so, it may take and let wait for ever
        self._waits = ""
        self._jobs = [self._submitted(self._wanted)]

    def look(self) -> Iterable[str]:
        """See `Placement`. What became of a worker's jobs is told by its silence: an element may be gone while it still ends them."""
        if time.monotonic() - self._looked < LOOK:
            return ()
        self._looked = time.monotonic()
        try:
            found = elements(self._jobs)
        except QueueError as err:
            log.warning("%s", err)
            return ()
        left = [each for each in found if not each.is_held]
        self._tell_of([each.reason for each in left if each.state == "PENDING"])
        try:
            if held := [each.name for each in found if each.is_held]:
                cancel(held)
            if len(left) < self._wanted:
                self._replace(self._wanted - len(left))
        except QueueError as err:
            log.warning("%s", err)
        return ()

    def is_well(self) -> None:
        """See `Placement`."""
        self._again = 0

    def close(self) -> None:
        """See `Placement`."""
        if not self._is_empty(LEAVING, "--state=PENDING") and not self._is_empty(CANCELLING):
            log.warning("Slurm still ends workers of this run: squeue --jobs=%s", ",".join(self._jobs))

    def _replace(self, number: int) -> None:
        if self._again >= MOST_AGAIN:
            raise TraceBenchError(
                f"Workers in Slurm keep ending; what they print is in `{self._log}`.",
                hint=f"ls -t {shlex.quote(str(Path(self._log).parent))}",
            )
        log.warning("%d workers are gone from Slurm's queue and are submitted anew", number)
        self._jobs.append(self._submitted(number))
        self._again += 1

    def _tell_of(self, reasons: list[str]) -> None:
        waits = ", ".join(sorted({*reasons} - {"None", ""}))
        if waits and waits != self._waits:
            log.warning("%d workers wait in Slurm's queue: %s", len(reasons), waits)
        self._waits = waits

    def _is_empty(self, seconds: float, *options: str) -> bool:
        """Cancel until nothing is left, for so long: a controller that does not answer now may do so later."""
        until = again = time.monotonic()
        until += seconds
        while time.monotonic() < until:
            try:
                if time.monotonic() >= again:
                    again = time.monotonic() + LOOK
                    cancel(self._jobs, *options)
                if not elements(self._jobs):
                    return True
            except TraceBenchError as err:
                log.debug("%s", err)
            time.sleep(0.5)
        return False

    @property
    def _log(self) -> str:
        return self._options.log or f"{self._setting.run_dir.replace('%', '%%')}/slurm-%A_%a.log"

    def _submitted(self, number: int) -> str:
        name = Path(self._setting.run_dir).name
        options = [f"--array=0-{number - 1}", "--requeue", f"--job-name=trace-bench-{name}", "--open-mode=append"]
        asked = [*options, f"--output={self._log}", *self._options.asked(self._setting.resources)]
        return submit(self._script, asked, environ=self._setting.environ or None)  # without keys: Slurm writes it down
