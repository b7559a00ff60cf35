"""The plugin's hooks: specs only."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import AttackSpec, Bounds, SuiteSpec, TaskSpec
from tracebench_redteam.attacks import offered


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Red team",
        description="Attacks on Trace-Bench itself: the score of a candidate is what it gained unearned.",
        licence="MIT",
    )


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """Offer a task for each kind of gain in each place."""
    return [
        TaskSpec(
            name=name,
            title=f"A {place} that {kind}",
            groups=(place,),
            tags=(place,),
            loader=f"tracebench_redteam.loaders:{name.replace('/', '_').replace('-', '_')}",
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            worst_score=0.0,
            deterministic=False,
            sandbox=(),
        )
        for name, (place, kind) in offered().items()
    ]


@hookimpl
def tracebench_attacks() -> list[AttackSpec]:
    """Offer the attacks on candidates for the tasks of any suite."""
    return [
        AttackSpec(
            name="redteam",
            title="Lies, the truth looked up, files, sockets, servers and processes in reach, and what is left behind",
            loader="tracebench_redteam.elsewhere:forgeries",
        )
    ]
