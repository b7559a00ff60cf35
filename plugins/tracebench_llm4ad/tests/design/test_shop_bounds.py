"""The bound of a job shop: heads, work and tails of every machine as they are counted by hand, and never above the best schedule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tracebench_llm4ad.constructive.jssp import JobShop, JsspEvaluator
from tracebench_llm4ad.constructive.options import JsspOptions


def evaluator(jobs: int, machines: int) -> JsspEvaluator:
    return JsspEvaluator(JsspOptions(n_jobs=jobs, n_machines=machines))


def by_hand(instance: JobShop) -> int:
    """The longest job, or the machine whose least head, work and least tail are most."""
    rows = [
        [*zip(map(int, m), map(int, t), strict=True)] for m, t in zip(instance.machines, instance.times, strict=True)
    ]
    bounds = [sum(time for _, time in row) for row in rows]
    for machine in range(len(rows[0])):
        heads, works, tails = [], [], []
        for row in rows:
            at = [each for each, _ in row].index(machine)
            heads.append(sum(time for _, time in row[:at]))
            works.append(row[at][1])
            tails.append(sum(time for _, time in row[at + 1 :]))
        bounds.append(min(heads) + sum(works) + min(tails))
    return max(bounds)


@pytest.mark.parametrize(("jobs", "machines"), [(2, 2), (2, 5), (6, 2), (3, 3), (6, 4), (20, 10)])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_that_of_jobs_and_machines(jobs: int, machines: int, seed: int) -> None:
    shop = evaluator(jobs, machines)
    instance = shop.generate(np.random.default_rng(seed))
    assert shop.bound(instance) == by_hand(instance)


@pytest.mark.parametrize("seed", range(10))
def test_no_schedule_is_shorter_than_the_bound(seed: int) -> None:
    shop = evaluator(3, 2)
    instance = shop.generate(np.random.default_rng(seed))
    orders = {*itertools.permutations([0, 0, 1, 1, 2, 2])}
    assert shop.bound(instance) <= min(shop.judge(instance, [*order]).value for order in orders)


def test_a_machine_that_all_jobs_reach_late_and_leave_early_is_bounded_by_head_and_tail() -> None:
    instance = JobShop(np.array([[0, 1, 2], [2, 1, 0]]), np.array([[4, 50, 3], [5, 60, 7]]))
    assert evaluator(2, 3).bound(instance) == 4 + 110 + 3
