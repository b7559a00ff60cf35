"""The eighteen tasks whose candidates build, pack, rank or schedule, each at a small size."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.code_task import CodeTask

ONE = {"n_train": 1, "n_validation": 1, "n_test": 1, "n_instance": 2}
SMALL: dict[str, dict[str, Any]] = {
    "circle_packing": {},
    "online_bin_packing_local": {**ONE, "n_items": 60},
    "optimization/admissible_set": {"train": [[9, 6]], "validation": [[12, 9]], "test": [[12, 8]]},
    "optimization/online_bin_packing": {**ONE, "n_items": 60},
    "optimization/online_bin_packing_2O": {**ONE, "n_items": 60},
    "optimization/pymoo_moead": {**ONE, "n_instance": 1, "n_gen": 3},
    "optimization/tsp_gls_2O": {**ONE, "problem_size": 25, "perturbations": 8},
    "optimization/tsp_construct": {**ONE, "problem_size": 20},
    "optimization/cvrp_construct": {**ONE, "problem_size": 20},
    "optimization/ovrp_construct": {**ONE, "problem_size": 20},
    "optimization/vrptw_construct": {**ONE, "problem_size": 20},
    "optimization/jssp_construct": {**ONE, "n_jobs": 6, "n_machines": 4},
    "optimization/bp_1d_construct": {**ONE, "n_items": 40},
    "optimization/bp_2d_construct": {**ONE, "n_instance": 3, "n_items": 30},
    "optimization/set_cover_construct": {**ONE, "n_instance": 4},
    "optimization/cflp_construct": {**ONE, "n_customers": 25},
    "optimization/qap_construct": {**ONE, "n_facilities": 10},
    "optimization/knapsack_construct": {**ONE, "n_items": 25},
}


def load(name: str, **options: Any) -> CodeTask:
    """Build a task as the engine does."""
    module, _, attribute = BY_NAME[name].loader.partition(":")
    task = getattr(import_module(module), attribute)(**options)
    assert isinstance(task, CodeTask)
    return task


@pytest.fixture(scope="session", params=one_in(3, SMALL))
def task(request: pytest.FixtureRequest) -> CodeTask:
    """One task after another, small."""
    return load(request.param, **SMALL[request.param])


@pytest.fixture(scope="session")
def build() -> Any:
    """Return the loader of tasks by name."""
    return load
