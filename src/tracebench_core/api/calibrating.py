"""Measure the cases of known outcome that tasks offer, and keep what this machine saw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tracebench_core.engine.calibration.measuring import calibrate as calibrate_task
from tracebench_core.engine.calibration.record import Standing, keep, standing
from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import CalibrationKind, CaseVerdict, TaskSpec

__all__ = ["Calibrated", "Standing", "calibrate", "chosen_tasks", "standing"]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What came of one task's cases."""

    task: str
    verdicts: tuple[CaseVerdict, ...] = ()
    state: Literal["measured", "without", "skipped", "failed"] = "measured"
    """`without`: it offers no case; `skipped`: it cannot be measured here; `failed`: it or its cases are broken."""
    why: str = ""
    kept: bool = True
    """Whether what was seen could be written down."""


def calibrate(
    host: PluginHost,
    names: Sequence[str] = (),
    *,
    kinds: Collection[CalibrationKind] = (),
    seed: int = 0,
    tell: Callable[[str, str], None] = lambda _task, _case: None,
) -> Iterator[Calibrated]:
    """Yield what comes of each task's cases, of some kinds or all; `names` are tasks, groups, suites or plugins, without any all tasks.

    `tell` hears task and case before a case is measured.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    for task_id, spec in chosen_tasks(host, names).items():
        yield _calibrated(host, task_id, spec, kinds=kinds, seed=seed, tell=tell)


def chosen_tasks(host: PluginHost, names: Sequence[str]) -> dict[str, TaskSpec]:
    """Return the tasks that names mean, by full id; those that have nothing to train are left out."""
    if names:
        suites = {*host.records, *(other for spec in host.catalog().suites.values() for other in spec.aliases)}
        ids = [id_ for name in names for id_ in _meant(host, name, suites)]
    else:
        every = host.catalog()
        ids = [id_ for id_ in every.tasks if id_ not in every.excluded]
    return {id_: spec for id_ in dict.fromkeys(ids) if (spec := host.task(id_)).trainable}


def _meant(host: PluginHost, name: str, suites: Collection[str]) -> list[str]:
    if name in suites:
        return resolve_task_ids(host, f"{name}:all")
    try:
        return resolve_task_ids(host, name)
    except UsageError as err:
        if ":" in name or not (near := did_you_mean(name, suites)):
            raise
        raise UsageError(f"There is no task, suite or plugin `{name}`.{near}", hint=err.hint) from err


def _calibrated(
    host: PluginHost,
    task_id: str,
    spec: TaskSpec,
    *,
    kinds: Collection[CalibrationKind],
    seed: int,
    tell: Callable[[str, str], None],
) -> Calibrated:
    if reason := Catalog.availability(spec):
        return Calibrated(task_id, state="skipped", why=reason)
    try:
        verdicts = calibrate_task(host, task_id, kinds=kinds, seed=seed, tell=lambda case: tell(task_id, case))
    except MissingRequirementError as err:
        return Calibrated(task_id, state="skipped", why=f"{err} {err.hint}".strip())
    except TraceBenchError as err:
        return Calibrated(task_id, state="failed", why=str(err))
    except Exception as err:  # noqa: BLE001 - whatever a suite raises is what its user must see
        return Calibrated(task_id, state="failed", why=f"{type(err).__name__}: {err}")
    if not verdicts:
        return Calibrated(task_id, state="without")
    return Calibrated(task_id, tuple(verdicts), kept=keep(host, task_id, spec, {}, verdicts))
