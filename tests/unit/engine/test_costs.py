"""What a plan says of a task that it need not open."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel

from tracebench_core.specs import TaskShape, TaskSizes, TaskSpec
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.costs import TaskSize, declared_sizes


class Options(BaseModel):
    examples: int = 4


class Demanding(BaseModel):
    examples: int


def sizes_of(options: dict[str, Any]) -> TaskSizes:
    return TaskSizes(train=options["examples"], test=1)


def spec(**fields: Any) -> TaskSpec:
    return TaskSpec(name="t", title="t", loader="never:imported", options=f"{__name__}:Options", **fields)


def test_sizes_hold_for_the_default_options_alone() -> None:
    sizes = TaskSizes(train=4)

    assert declared_sizes(spec(sizes=sizes), {"examples": 4}) == sizes
    assert declared_sizes(spec(sizes=sizes), {"examples": 5}) is None
    assert declared_sizes(spec(), {"examples": 4}) is None


def test_no_sizes_hold_by_default_where_an_option_must_be_given() -> None:
    demanding = TaskSpec(
        name="t", title="t", loader="never:imported", options=f"{__name__}:Demanding", sizes=TaskSizes(train=4)
    )
    assert declared_sizes(demanding, {"examples": 4}) is None


@pytest.mark.parametrize(
    ("train", "validation", "test", "expected"),
    [
        (7, 5, 4, (9, 33, 43)),
        (7, 0, 4, (11, 43, 50)),
        (1, 1, 0, (1, 5, 7)),
        (0, 0, 6, (6, 12, 12)),
        (2, 9, 8, (17, 61, 79)),
    ],
)
def test_the_engine_scores_the_finalists_on_validation_and_two_on_test(
    train: int, validation: int, test: int, expected: tuple[int, int, int]
) -> None:
    shape = TaskShape(parameters=1, train=train, validation=validation)
    scoring = TaskSize(shape, test=test, uses_model=False).scoring
    assert (scoring.low, scoring.likely, scoring.high) == expected


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


BROKEN = """
    from tracebench_core.hookspecs import hookimpl
    from tracebench_core.specs import EnvironmentSpec, TaskSpec, TrainerSpec

    def explode(*args, **kwargs):
        raise {raised}

    @hookimpl
    def tracebench_tasks():
        return [TaskSpec(name="t", title="t", loader="fake_broken:explode")]

    @hookimpl
    def tracebench_trainers():
        return [TrainerSpec(name="Odd", title="t", loader="fake_broken:explode", cost="fake_broken:explode")]
"""


@pytest.mark.parametrize("raised", ["ValueError('no such file')", "SystemExit('no such file')"])
def test_a_task_or_a_cost_model_that_breaks_is_told_and_costs_its_own_jobs_alone(
    install_plugin: Any, tmp_path: Any, raised: str
) -> None:
    install_plugin("broken", BROKEN.replace("{raised}", raised))
    config = parse_config(
        {"tasks": ["broken:t", "internal:numeric_param"], "trainers": ["NoOp", "Odd"], "runs_dir": str(tmp_path)}
    )

    unknown = "\n".join(api.estimate(config).unknown)

    assert re.search(r"`broken:t` cannot be opened: .*no such file", unknown)
    assert "the cost model of `Odd` failed: no such file" in unknown
    assert "numeric_param" not in unknown


ADVISING = """
    from tracebench_core.hookspecs import hookimpl
    from tracebench_core.specs import CostEstimate, Range, TaskSizes, TaskSpec, TrainerSpec

    def estimate(settings, shape):
        none = Range(low=0, likely=0, high=0)
        return CostEstimate(evaluations=none, llm_calls=none, proposals=none)

    def advise(settings, shape):
        cap = shape.budget.evaluations
        return [f"{cap} evaluations of {shape.train} examples"] if cap else []

    def build(*given):
        raise AssertionError("it was built")

    @hookimpl
    def tracebench_tasks():
        sizes = {"one": 3, "two": 3, "three": 5}
        return [
            TaskSpec(name=name, title="t", loader="fake_advising:build", sizes=TaskSizes(train=size))
            for name, size in sizes.items()
        ]

    @hookimpl
    def tracebench_trainers():
        wary = TrainerSpec(name="Wary", title="t", loader="fake_advising:build")
        return [wary.model_copy(update={"cost": "fake_advising:estimate", "advice": "fake_advising:advise"})]
"""


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ({}, []),
        (
            {"evaluations": 7},
            [
                "`Wary` on `advising:one`, `advising:two`: 7 evaluations of 3 examples",
                "`Wary` on `advising:three`: 7 evaluations of 5 examples",
            ],
        ),
    ],
)
def test_what_a_trainer_advises_reads_the_budget_and_is_told_by_plan_and_validate(
    install_plugin: Any, tmp_path: Any, budget: dict[str, int], told: list[str]
) -> None:
    install_plugin("advising", ADVISING)
    tasks = ["advising:one", "advising:two", "advising:three"]
    config = parse_config(
        {"tasks": tasks, "trainers": ["Wary"], "budget": budget, "seeds": [1, 2], "runs_dir": str(tmp_path)}
    )

    assert list(api.estimate(config).advice) == told
    assert [check.message for check in api.validate(config) if check.subject == "budget"] == told
