"""The suite `veribench_coq`: problems of our own in Coq; light, so that listing starts no checker."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Bounds, EnvironmentSpec, Requirement, SuiteSpec, TaskSizes, TaskSpec, TaskVersion
from tracebench_veribench.coq.catalog import ENTRIES, TEST, TRAIN, VALIDATION, Entry

_COQ = (
    Requirement(kind="command", name="coqc", hint="apt-get install coq"),
    Requirement(kind="command", name="coqtop", hint="apt-get install coq"),
)
_LOADING = "tracebench_veribench.coq.loading"
_METRIC = "proven"


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="VeriBench-Coq",
        description="Python programs with theorems to prove in Coq, judged by its kernel. Not VeriBench: its scores are not comparable.",
        calibrations="tracebench_veribench.coq.calibrations:families",
    )


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the Coq of this machine."""
    return [
        EnvironmentSpec(
            name="coq",
            title="The installed Coq",
            kind="coq",
            loader="tracebench_veribench.coq.environment:CoqEnvironment",
            scope="run",
            requires=_COQ,
        )
    ]


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List one prompt task and one file task a problem, and the task over all problems."""
    return [_suite_spec(), *map(_prompt_spec, ENTRIES), *map(_file_spec, ENTRIES)]


def _suite_spec() -> TaskSpec:
    sizes = TaskSizes(parameters=1, train=len(TRAIN), validation=len(VALIDATION), test=len(TEST))
    title = "Write a prompt that makes a model prove programs"
    spec = _spec("suite", title, "suite", sizes, groups=("all",), uses_model=True)
    return spec.model_copy(update={"version": TaskVersion(comparability=4)})


def _prompt_spec(entry: Entry) -> TaskSpec:
    title = f"{entry.title}: a prompt that makes a model prove it"
    groups = ("all", "prompt", entry.category, f"grade{entry.grade}")
    return _spec(
        entry.name, title, f"prompt_{entry.name}", TaskSizes(parameters=1, train=1), groups=groups, uses_model=True
    )


def _file_spec(entry: Entry) -> TaskSpec:
    sizes = TaskSizes(parameters=1, train=1)
    title = f"{entry.title}: a file that proves it"
    spec = _spec(f"file/{entry.name}", title, f"file_{entry.name}", sizes, groups=("file", f"file/grade{entry.grade}"))
    return spec.model_copy(update={"answers": f"{_LOADING}:answers_{entry.name}"})


def _spec(
    name: str, title: str, loader: str, sizes: TaskSizes, *, groups: tuple[str, ...], uses_model: bool = False
) -> TaskSpec:
    return TaskSpec(
        name=name,
        version=TaskVersion(comparability=3),
        title=title,
        loader=f"{_LOADING}:{loader}",
        options=f"tracebench_veribench.tasks:{'PromptOptions' if uses_model else 'FileOptions'}",
        groups=groups,
        metric=_METRIC,
        score_bounds=Bounds(minimum=0.0, maximum=1.0),
        target=1.0,
        worst_score=0.0,
        deterministic=not uses_model,
        sizes=sizes,
        environments=("coq",),
        requires=_COQ,
        preload=("tracebench_veribench.coq.loading", "yaml"),
        sandbox=(),
        uses_model=uses_model,
        licence="MIT",
        source="written for this plugin",
    )
