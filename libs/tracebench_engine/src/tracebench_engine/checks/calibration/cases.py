"""The calibrations of an opened task: its own, and those of its suite's families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracebench_core.errors import PluginError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import Calibration, Values
from tracebench_engine.measure.building import OpenTask


def cases_of(host: PluginHost, task_id: str, opened: OpenTask) -> tuple[Calibration, ...]:
    """Return a task's cases, in the order in which it offers them; those of its suite come last.

    Raises:
        PluginError: when one is no `Calibration`, a name is taken twice, or a case is compared with one that is not there.
    """
    offered: list[Calibration] = []
    for cases in _sources(host, task_id, opened):
        offered.extend(_all_cases(cases, task_id))
    names = Counter(case.name for case in offered)
    if twice := [name for name, count in names.items() if count > 1]:
        raise PluginError(f"Task `{task_id}` has {names[twice[0]]} calibrations called `{twice[0]}`.")
    for case in offered:
        if case.other and case.other not in names:
            near = did_you_mean(case.other, names)
            raise PluginError(
                f"Calibration `{case.name}` of `{task_id}` is compared with no case `{case.other}`.{near}"
            )
    return tuple(offered)


def candidate_of(case: Calibration, task_id: str) -> Values:
    """Return a case's values; those that it leaves out keep their initial ones.

    Raises:
        PluginError: when what it refers to is no mapping.
    """
    values: Any = case.values
    if isinstance(values, str):
        values = load_ref(values, owner=f"{task_id}, calibration {case.name}")
        values = values() if callable(values) else values
    if not isinstance(values, Mapping):
        raise PluginError(
            f"Calibration `{case.name}` of `{task_id}`: `values` is `{type(values).__name__}`, no mapping."
        )
    return dict(values)


def _sources(host: PluginHost, task_id: str, opened: OpenTask) -> Iterable[Iterable[Calibration]]:
    own: Callable[[], Iterable[Calibration]] | None = getattr(opened.task, "calibrations", None)
    if callable(own):
        yield own()
    suite = host.suite(task_id.partition(":")[0])
    if suite is not None and suite.calibrations is not None:
        yield load_ref(suite.calibrations, owner=task_id)(opened.spec.name, opened.task)


def _all_cases(cases: Any, task_id: str) -> list[Calibration]:
    if not isinstance(cases, Iterable):
        raise PluginError(f"The calibrations of `{task_id}` are `{type(cases).__name__}`, not a list of `Calibration`.")
    found = list(cases)
    if wrong := next((case for case in found if not isinstance(case, Calibration)), None):
        raise PluginError(f"The calibrations of `{task_id}` hold `{type(wrong).__name__}`, not only `Calibration`.")
    return found
