"""The traced tasks as data; importing this imports no opto."""

from __future__ import annotations

from tracebench_core.specs import Bounds, Requirement, TaskSizes, TaskSpec

NEEDS = (Requirement(kind="module", name="opto", hint='pip install "tracebench-engine[opto]"'),)

TASK_SPECS = (
    TaskSpec(
        name="opentrace_greeting",
        aliases=("trace_examples:opentrace_greeting",),
        title="Greet everybody in their own language and by name",
        description="Trace itself executes the functions: what a model writes runs in the process of the job, in no sandbox.",
        loader="tracebench_opto.tasks.greeting:build",
        tags=("traced", "code", "toy"),
        traced=True,
        unconfined=True,
        target=1.0,
        metric="accuracy",
        worst_score=0.0,
        score_bounds=Bounds(minimum=0.0, maximum=1.0),
        requires=NEEDS,
        sizes=TaskSizes(parameters=5, train=2, validation=0, test=2),
    ),
    TaskSpec(
        name="opentrace_train_single_node",
        aliases=("trace_examples:opentrace_train_single_node",),
        title="Guess one number",
        loader="tracebench_opto.tasks.greeting:build_single_node",
        tags=("traced", "toy"),
        traced=True,
        target=0.0,
        score_bounds=Bounds(maximum=0.0),
        requires=NEEDS,
        sizes=TaskSizes(parameters=1, train=1, validation=0, test=0),
    ),
)
