"""The problems: listed as they are, truly dependent on their inputs, and computed alike by numpy and by C."""

from __future__ import annotations

import pytest

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.catalog import OWN, listed
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.timing import LEAST_NOISE, compare


def test_the_catalogue_lists_the_problems_in_order() -> None:
    titles = {name: title for family in OWN.values() for name, title in family.items()}
    assert titles == {name: problem.title for name, problem in PROBLEMS.items()}
    assert list(titles) == list(PROBLEMS)
    assert [spec.name for spec in listed()] == [f"own/{name}" for name in titles]
    assert len(titles) >= 24


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_problem_is_passed_by_a_constant(name: str) -> None:
    assert not PROBLEMS[name].is_degenerate()


def _judge_itself(name: str, sandbox: Sandbox, effort: Effort) -> None:
    verdict = judge(PROBLEMS[name], PROBLEMS[name].source, sandbox, effort)
    assert verdict.status == "ok", verdict.text
    assert verdict.metrics["correct"] == 1.0


@pytest.mark.parametrize("name", ["argmax", "spmv"])
def test_the_plain_kernel_is_right(name: str, sandbox: Sandbox, quick: Effort) -> None:
    _judge_itself(name, sandbox, quick)


@pytest.mark.heavy("kernels")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_plain_kernel_is_right(name: str, sandbox: Sandbox, quick: Effort) -> None:
    _judge_itself(name, sandbox, quick.model_copy(update={"trials": 8}))


def test_a_speed_up_inside_the_noise_counts_as_one() -> None:
    inside = compare([1000, 1020, 980, 1010], [990, 1000, 1000, 1005])
    assert inside.score == 1.0
    assert inside.noise >= LEAST_NOISE
    twice = compare([2000, 2020, 1980, 2010], [990, 1000, 1000, 1005])
    assert twice.score == twice.raw == pytest.approx(2.0, rel=0.03)
    shaky = compare([1000, 4000, 500, 1500, 900], [1000, 900, 1400, 700, 1000])
    assert shaky.score == 1.0
    slower = compare([1000, 1001, 999], [2000, 2001, 1999])
    assert slower.score == pytest.approx(0.5, rel=0.01)
