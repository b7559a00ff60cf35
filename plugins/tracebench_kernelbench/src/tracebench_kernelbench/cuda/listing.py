"""KernelBench's problems for a graphics processor, as data; imports neither numpy nor torch."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.specs import Requirement, Resources, TaskSpec, TaskVersion
from tracebench_kernelbench.modules.backends import INSTALL
from tracebench_kernelbench.modules.listing import HUB_LEVEL, LOADING, SHARED
from tracebench_kernelbench.modules.source import REPRESENTATIVE, WEIGHTS, Found, find_problems, refused
from tracebench_kernelbench.settings import Settings


def list_device(settings: Settings) -> Iterator[TaskSpec]:
    """Yield a task per problem below the root; nothing where it cannot be read, which `list_modules` says."""
    try:
        problems = list(find_problems(settings.root)) if settings.root is not None else []
    except (OSError, ValueError):
        return
    yield from map(_spec, problems)


def _spec(problem: Found) -> TaskSpec:
    name = f"cuda/level{problem.level}"
    broken = WEIGHTS if problem.level == HUB_LEVEL else refused(problem, at_cpu_sizes=False)
    chosen = problem.number in REPRESENTATIVE.get(problem.level, ()) and not broken
    shared = {**SHARED, "environments": (), "version": TaskVersion()}
    return TaskSpec(
        name=f"{name}/{problem.number}",
        loader=f"{LOADING}:cuda_{problem.level}_{problem.number}",
        title=f"{problem.name.strip('_').replace('_', ' ')}, on a graphics processor",
        aliases=(f"{name}/{problem.number}_{problem.name}",),
        groups=(name, *((f"{name}/representative", "cuda/representative") if chosen else ())),
        tags=("kernel", "pytorch", "cuda"),
        options="tracebench_kernelbench.cuda.task:DeviceOptions",
        stands_on="tracebench_kernelbench.standing:of_device",
        requires=(
            Requirement(kind="gpu", name="1", hint="nvidia-smi"),
            Requirement(kind="module", name="torch", hint=INSTALL["torch"]),
            Requirement(kind="command", name="g++", hint=INSTALL["g++"]),
        ),
        resources=Resources(gpus=1),
        broken=broken,
        unconfined=True,
        source=f"KernelBench, level {problem.level}, problem {problem.number}; sizes: original",
        licence="MIT",
        **shared,
    )
