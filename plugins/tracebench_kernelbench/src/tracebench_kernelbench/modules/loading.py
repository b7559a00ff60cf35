"""The loaders that specs name: `numba_<problem>`, `original_<level>_<number>`, `cpu_<level>_<number>`, `cuda_<level>_<number>`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_core.errors import MissingRequirementError, PluginError
from tracebench_kernelbench.cuda.task import DeviceTask, device_task
from tracebench_kernelbench.modules.exercise import OwnExercise
from tracebench_kernelbench.modules.source import at_cpu_sizes, cpu_sizes, find_problems
from tracebench_kernelbench.modules.task import ModuleOptions, PythonTask, module_task, own_task
from tracebench_kernelbench.options import Options
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.settings import SETTINGS


def __getattr__(name: str) -> Callable[..., PythonTask | DeviceTask]:
    kind, _, rest = name.partition("_")
    if kind == "numba" and rest in PROBLEMS:
        return partial(_numba, rest)
    if kind in {"original", "cpu", "cuda"}:
        level, _, number = rest.partition("_")
        if level.isdigit() and number.isdigit():
            return partial(_module, kind, int(level), int(number))
    raise AttributeError(f"there is no task `{name}`")


def broken(**_: Any) -> PythonTask:
    """Refuse.

    Raises:
        MissingRequirementError: always.
    """
    raise MissingRequirementError(
        "KernelBench's problems are not there", hint="export KERNELBENCH_ROOT=/path/to/KernelBench"
    )


def _numba(name: str, **options: Any) -> PythonTask:
    return own_task(OwnExercise(PROBLEMS[name]), Options(**options))


def _module(profile: str, level: int, number: int, **options: Any) -> PythonTask | DeviceTask:
    root = SETTINGS.root
    problems = find_problems(root) if root is not None else ()
    found = next((p for p in problems if (p.level, p.number) == (level, number)), None)
    if found is None:
        return broken()
    code, tells_half = found.read(), False
    if profile == "cuda":
        return device_task(code, **options)
    if profile == "cpu":
        try:
            code = at_cpu_sizes(level, number, code)
        except (LookupError, ValueError) as err:
            raise PluginError(str(err)) from err
        tells_half = cpu_sizes()[level, number].get("half", True)
    return module_task(code, ModuleOptions(**options), tells_half=tells_half)
