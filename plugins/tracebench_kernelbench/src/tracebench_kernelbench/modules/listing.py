"""KernelBench's problems and Numba's tasks as data; imports neither numpy nor torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracebench_core.specs import Requirement, TaskSizes, TaskSpec, TaskVersion
from tracebench_kernelbench import catalog
from tracebench_kernelbench.modules.backends import BACKENDS, INSTALL, NUMBA, loaded_beforehand
from tracebench_kernelbench.modules.source import REPRESENTATIVE, WEIGHTS, Found, cpu_sizes, find_problems, refused
from tracebench_kernelbench.settings import Settings

LOADING = "tracebench_kernelbench.modules.loading"
HUB_LEVEL = 4
SHARED: dict[str, Any] = {
    "metric": "speedup",
    "worst_score": 0.0,
    "aggregate": "kernelbench_geometric_mean",
    "sizes": TaskSizes(train=1, test=1),
    "concurrency": 1,
    "environments": (catalog.ENVIRONMENT,),
    "timed": True,
    "version": TaskVersion(comparability=6),
    "citation": catalog.CITATION,
}


def list_numba() -> Iterator[TaskSpec]:
    """Yield a task per problem of our own, written with Numba."""
    for family, titles in catalog.OWN.items():
        for name, title in titles.items():
            yield TaskSpec(
                name=f"numba/{name}",
                loader=f"{LOADING}:numba_{name}",
                title=f"{title}, with Numba",
                groups=("numba", f"numba/{family}"),
                tags=("kernel", "numba", family),
                options="tracebench_kernelbench.options:Options",
                stands_on="tracebench_kernelbench.standing:of_numba",
                requires=(_requires("numba"), _requires("pycparser"), *catalog.COMPILERS),
                preload=("numpy",),
                sandbox=("numpy", *NUMBA.modules, *NUMBA.besides),
                **SHARED,
            )


def list_modules(settings: Settings) -> Iterator[TaskSpec]:
    """Yield two tasks per problem below the root: at its own sizes, and at those of the profile `cpu`."""
    root = settings.root
    if root is None:
        return
    try:
        problems = list(find_problems(root))
    except (OSError, ValueError) as err:
        yield _broken("level1", str(err))
        return
    if not problems and settings.is_certain:
        yield _broken("level1", f"`{root}` holds no `KernelBench/level1` and no `level_1.jsonl`")
    for problem in problems:
        yield _module(problem, "")
        if (problem.level, problem.number) in cpu_sizes():
            yield _module(problem, "cpu/")


def _module(problem: Found, profile: str) -> TaskSpec:
    level, name = f"{profile}level{problem.level}", f"{profile}level{problem.level}/{problem.number}"
    broken = WEIGHTS if problem.level == HUB_LEVEL else refused(problem, at_cpu_sizes=bool(profile))
    chosen = problem.number in REPRESENTATIVE.get(problem.level, ()) and not broken
    words = problem.name.strip("_").replace("_", " ")
    return TaskSpec(
        name=name,
        loader=f"{LOADING}:{'cpu' if profile else 'original'}_{problem.level}_{problem.number}",
        title=f"{words}, at sizes for a CPU" if profile else words,
        aliases=(f"{level}/{problem.number}_{problem.name}",),
        groups=(level, *((f"{level}/representative", f"{profile}representative") if chosen else ())),
        tags=("kernel", "pytorch", "cpu" if profile else "original"),
        options="tracebench_kernelbench.modules.task:ModuleOptions",
        stands_on="tracebench_kernelbench.standing:of_modules",
        requires=(_requires("torch"),),
        broken=broken,
        sandbox=loaded_beforehand(BACKENDS.values()),
        source=f"KernelBench, level {problem.level}, problem {problem.number}; sizes: {'profile cpu' if profile else 'original'}",
        licence="MIT",
        **SHARED,
    )


def _requires(name: str) -> Requirement:
    return Requirement(kind="module", name=name, hint=INSTALL[name], unless=f"server ${catalog.SERVER}")


def _broken(name: str, reason: str) -> TaskSpec:
    return TaskSpec(name=name, title=name, loader=f"{LOADING}:broken", broken=reason)
