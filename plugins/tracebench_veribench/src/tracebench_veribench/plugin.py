"""The suite `veribench`: Lean problems of a root; light, so that listing starts no checker and touches no network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import Bounds, EnvironmentSpec, Requirement, SuiteSpec, TaskSizes, TaskSpec, TaskVersion
from tracebench_veribench.discovery.catalog import configure, find_problems
from tracebench_veribench.lean.places import readable_places

if TYPE_CHECKING:
    from tracebench_veribench.lean.problem import LeanProblem

_INSTALL = "install Lean with elan (https://lean-lang.org/install), or set LEAN_PROJECT"
_CITATION = (
    "Miranda et al., VeriBench: End-to-End Formal Verification Benchmark for AI Code Generation in Lean 4 (2025)."
)
_configured: dict[str, Any] = {}


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the root and the options `root`, `entrypoint` and `project`."""
    refuse_unknown_options("veribench", settings.get("options") or {}, ("root", "entrypoint", "project"))
    _configured.clear()
    _configured.update(settings.get("options") or {})
    configure(settings)


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="VeriBench",
        description="Python programs translated to Lean 4 and proven, judged by Lean's kernel; never by keywords.",
        calibrations="tracebench_veribench.lean.calibrations:families",
        citation=_CITATION,
        licence="MIT",
    )


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the Lean of this machine, or of a project."""
    options: dict[str, Any] = {"project": _configured["project"]} if "project" in _configured else {}
    return [
        EnvironmentSpec(
            name="lean",
            title="The Lean that is found: of a Lake project, or `lean`",
            kind="lean",
            loader="tracebench_veribench.lean.environment:LeanEnvironment",
            scope="run",
            options=options,
        )
    ]


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List the problems of the root, each as a prompt task and a file task; without a root, an id that says what is missing."""
    found = find_problems()
    specs = [spec for n, (name, problem) in enumerate(found.problems.items()) for spec in _specs(n, name, problem)]
    specs += [_broken(name, reason) for name, reason in found.broken.items() if name not in found.problems]
    return specs or [_placeholder()]


def _specs(number: int, name: str, problem: LeanProblem) -> tuple[TaskSpec, TaskSpec]:
    coverage = (
        ""
        if problem.theorems
        else " The source states no theorems: whatever the file proves counts, if it says anything."
    )
    if problem.skeleton:
        coverage += " No proof of it is published: what must be refused is all that it can be calibrated by."
    shared: dict[str, Any] = {
        "description": f"From {problem.source}.{coverage}",
        "version": TaskVersion(comparability=3),
        "metric": "proven",
        "score_bounds": Bounds(minimum=0.0, maximum=1.0),
        "target": 1.0,
        "worst_score": 0.0,
        "sizes": TaskSizes(parameters=1, train=1),
        "environments": ("lean",),
        "requires": _requirements(),
        "sandbox": (),
        "readable": _places(),
        "citation": _CITATION,
        "source": f"{problem.source} (sha256 {problem.digest[:16]})",
        "tags": (problem.source, *(() if problem.theorems else ("no-statements",))),
    }
    prompt = TaskSpec(
        name=name,
        title=f"{problem.title}: a prompt that makes a model prove it",
        loader=f"tracebench_veribench.lean.loading:prompt_{number}",
        options="tracebench_veribench.tasks:PromptOptions",
        groups=("all", problem.category),
        uses_model=True,
        **shared,
    )
    file = TaskSpec(
        name=f"file/{name}",
        title=f"{problem.title}: a file that proves it",
        loader=f"tracebench_veribench.lean.loading:file_{number}",
        options="tracebench_veribench.tasks:FileOptions",
        groups=("file",),
        deterministic=True,
        **shared,
    )
    return prompt, file


def _places() -> tuple[str, ...]:
    return readable_places(filter(None, [_project()]))


def _project() -> str:
    return str(_configured.get("project") or os.environ.get("LEAN_PROJECT", ""))


def _requirements() -> tuple[Requirement, ...]:
    if _project():
        return ()
    return (Requirement(kind="command", name="lean", hint=_INSTALL),)


def _broken(name: str, reason: str) -> TaskSpec:
    return TaskSpec(name=name, title=name, loader="tracebench_veribench.lean.loading:placeholder", broken=reason)


def _placeholder() -> TaskSpec:
    return TaskSpec(
        name="smoke_placeholder",
        title="VeriBench's rows are not here",
        description="Stands for the data set; set VERIBENCH_ROOT to a folder of rows, Verina problems or human-eval-lean files.",
        loader="tracebench_veribench.lean.loading:placeholder",
        groups=("all",),
        options="tracebench_veribench.tasks:PromptOptions",
        sizes=TaskSizes(parameters=1, train=1),
        uses_model=True,
        environments=("lean",),
        requires=(
            Requirement(
                kind="env",
                name="VERIBENCH_ROOT",
                hint="python -m tracebench_veribench fetch veribench-data && export VERIBENCH_ROOT=$PWD/veribench-data",
            ),
        ),
    )
