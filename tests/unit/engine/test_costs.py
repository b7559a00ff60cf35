"""What a plan says of a task that it need not open."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tracebench_core import api
from tracebench_core.config import parse_config
from tracebench_core.engine.costs import declared_sizes
from tracebench_core.specs import TaskSizes, TaskSpec


class Options(BaseModel):
    examples: int = 4


def sizes_of(options: dict[str, Any]) -> TaskSizes:
    return TaskSizes(train=options["examples"], test=1)


def spec(**fields: Any) -> TaskSpec:
    return TaskSpec(name="t", title="t", loader="never:imported", options=f"{__name__}:Options", **fields)


def test_sizes_hold_for_the_default_options_alone() -> None:
    sizes = TaskSizes(train=4)

    assert declared_sizes(spec(sizes=sizes), {"examples": 4}) == sizes
    assert declared_sizes(spec(sizes=sizes), {"examples": 5}) is None
    assert declared_sizes(spec(), {"examples": 4}) is None


def test_sizes_can_follow_the_options() -> None:
    assert declared_sizes(spec(sizes_of=f"{__name__}:sizes_of"), {"examples": 7}) == TaskSizes(train=7, test=1)


def test_a_plan_opens_no_task_that_says_how_large_it_is(install_plugin: Any, tmp_path: Any) -> None:
    install_plugin(
        "large",
        """
        from tracebench_core.hookspecs import hookimpl
        from tracebench_core.specs import TaskSizes, TaskSpec

        def build():
            raise AssertionError("it was opened")

        @hookimpl
        def tracebench_tasks():
            sizes = TaskSizes(train=3, validation=2, test=5)
            return [TaskSpec(name="told", title="t", loader="fake_large:build", sizes=sizes)]
        """,
    )
    config = parse_config({"tasks": ["large:told"], "trainers": ["NoOp"], "runs_dir": str(tmp_path)})

    forecast = api.estimate(config)

    assert forecast.unknown == ()
    assert forecast.run.jobs
