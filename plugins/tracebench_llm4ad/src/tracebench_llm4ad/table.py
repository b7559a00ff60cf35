"""One row of a family's catalogue, filled up with what all tasks of the suite share."""

from __future__ import annotations

from typing import Literal

from tracebench_core.specs import Objective, Requirement, TaskSpec, TaskVersion

FAMILY_GROUPS = {
    "basic": "basic",
    "constructive": "constructive",
    "control": "machine_learning",
    "science": "science_discovery",
}
SCIENTIFIC = ("math", "random", "numpy", "scipy.optimize")
"""What a candidate may import where published programs use optimisers."""
CITATION = "Liu et al., LLM4AD: A Platform for Algorithm Design with Large Language Model, arXiv:2412.17287"


def extra(name: str, *modules: str) -> tuple[Requirement, ...]:
    """Return the requirements for `modules`, all of which the extra `name` of this distribution installs."""
    hint = f'pip install "tracebench-llm4ad[{name}]"'
    return tuple(Requirement(kind="module", name=module, hint=hint) for module in modules)


def row(
    name: str,
    module: str,
    *,
    title: str,
    metric: str,
    direction: Literal["maximize", "minimize"],
    options: str,
    description: str = "",
    tags: tuple[str, ...] = (),
    objectives: tuple[Objective, ...] = (),
    target: float | None = None,
    requires: tuple[Requirement, ...] = (),
    preload: tuple[str, ...] = (),
    sandbox: tuple[str, ...] = ("math", "random", "numpy"),
    comparability: int = 3,
    salted: bool = True,
    answered: bool = True,
) -> TaskSpec:
    """Build the spec of the task that `tracebench_llm4ad.<module>:build` loads.

    `answered`: the known heuristic beats the starting program, so that the task ships it as an answer.

    `module` and `options` are relative to this package: `constructive.tsp`, `constructive.options:TspOptions`.
    """
    family = module.partition(".")[0]
    return TaskSpec(
        name=name,
        loader=f"{__package__}.{module}:build",
        title=title,
        description=description,
        groups=("all", FAMILY_GROUPS[family]),
        tags=(family, *tags),
        options=f"{__package__}.{options}",
        version=TaskVersion(comparability=comparability),
        salted=salted,
        metric=metric,
        direction=direction,
        objectives=objectives,
        target=target,
        requires=requires,
        answers=f"{__package__}.baselines:answers_of_{name.rpartition('/')[2].lower()}" if answered else None,
        preload=("numpy", *preload),
        sandbox=sandbox,
        licence="MIT",
        citation=CITATION,
        source="own implementation; " + ("instances from a seeded generator" if salted else "published instances"),
    )
