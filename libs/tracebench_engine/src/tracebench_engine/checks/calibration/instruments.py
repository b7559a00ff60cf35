"""What a run knows of its tasks as instruments: who judges, where they were calibrated, and which may not be scored on this machine."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.ids import canonical_json
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_core.specs import Calibrated, JobSpec, Judge, TaskSpec
from tracebench_engine.checks.calibration.machine import judge_of
from tracebench_engine.checks.calibration.record import TIMED_KINDS, keep, refusal_of, standing, why_refused
from tracebench_engine.checks.trial import Trials
from tracebench_engine.matrix.plan import Plan
from tracebench_runs.meta.planned import kinds_of

log = logging.getLogger(__name__)

SECONDS = 900.0
"""How long the cases of one timed task may take."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """A task with its options, as what measures."""

    judge: Judge
    calibration: Calibrated
    refusal: str = ""
    """Why it is not scored on this machine."""


class Instruments:
    """Of the tasks of one run. Each is looked at once."""

    def __init__(self, plan: Plan, host: PluginHost, *, root: Path | None) -> None:
        self._plan, self._host, self._root = plan, host, root
        self._known: dict[tuple[str, bytes], Instrument] = {}

    def settle(self) -> None:
        """Look at every task; a timed one that was never calibrated on this machine is calibrated now."""
        trials = Trials(root=self._root, plugins=self._plan.config.plugins, seconds=SECONDS)
        try:
            for job in kinds_of(self._plan.jobs):
                key = job.task_id, canonical_json(job.eval_kwargs)
                if key not in self._known:
                    spec = self._plan.tasks[job.task_id]
                    self._known[key] = self._look(job.task_id, spec, job.eval_kwargs, trials)
        finally:
            trials.close()

    def of(self, job: JobSpec) -> Instrument:
        """Return what measures a job's candidates."""
        return self._known[job.task_id, canonical_json(job.eval_kwargs)]

    def _look(self, task_id: str, spec: TaskSpec, options: Mapping[str, Any], trials: Trials) -> Instrument:
        found = standing(self._host, task_id, spec, options)
        refusal = ""
        if spec.timed and not Catalog.availability(spec):
            if found.place != "here":
                if found.changed:
                    log.warning("%s: %s", task_id, found.words)
                refusal = self._calibrate(task_id, spec, options, trials)
                found = standing(self._host, task_id, spec, options)
            refusal = refusal or refusal_of(found) or (found.words if found.calibrated == "never" else "")
            if refusal and self._plan.config.uncalibrated == "score":
                log.warning("%s is scored although %s", task_id, refusal)
                refusal = ""
            if refusal and found.calibrated == "never":
                refusal = f"{refusal}; `uncalibrated: score` in the config scores it all the same"
        return Instrument(judge_of(self._host, task_id, spec), found.calibrated, refusal)

    def _calibrate(self, task_id: str, spec: TaskSpec, options: Mapping[str, Any], trials: Trials) -> str:
        """Measure the cases that decide whether a timed task may be scored here; return why they could not be measured.

        Where its options leave nothing to be timed, as an interpreter does, all of its cases are measured.
        """
        log.warning("%s is timed: calibrating it, once on this machine", task_id)
        told = trials.calibrate(task_id, options, kinds=TIMED_KINDS)
        if told.state == "measured" and not told.verdicts:
            told = trials.calibrate(task_id, options, kinds=())
        if told.state != "measured":
            return f"it could not be calibrated: {told.why}"
        if not keep(self._host, task_id, spec, options, told.verdicts):
            log.warning(
                "what was seen of %s cannot be kept: `$XDG_STATE_HOME/trace-bench` cannot be written to", task_id
            )
            return why_refused(told.verdicts)
        return ""
