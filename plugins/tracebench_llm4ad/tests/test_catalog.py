"""What the suite says of itself before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from pydantic import BaseModel, ValidationError

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.catalog import SPECS
from tracebench_llm4ad.plugin import tracebench_suite, tracebench_tasks

CONSTRUCTIVE = ["tsp", "cvrp", "ovrp", "vrptw", "jssp", "bp_1d", "bp_2d", "set_cover", "cflp", "qap", "knapsack"]
NAMES = {
    "circle_packing",
    "online_bin_packing_local",
    *(
        f"optimization/{name}"
        for name in ["admissible_set", "online_bin_packing", "online_bin_packing_2O", "pymoo_moead", "tsp_gls_2O"]
    ),
    *(f"optimization/{name}_construct" for name in CONSTRUCTIVE),
    *(
        f"machine_learning/{name}"
        for name in ["acrobot", "car_mountain", "car_mountain_continue", "moon_lander", "pendulum"]
    ),
    *(
        f"science_discovery/{name}"
        for name in ["bactgrow", "feynman_srsd", "ode_1d", "oscillator1", "oscillator2", "stresstrain"]
    ),
}


def resolve(reference: str) -> object:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def test_the_suite_offers_the_tasks_that_users_know() -> None:
    offered = [spec.name for spec in tracebench_tasks() if "co_bench" not in spec.groups]
    assert len(offered) == len(NAMES)
    assert set(offered) == NAMES
    assert tracebench_suite().owns_bare_ids


def test_listing_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "pymoo", "gymnasium", "sympy", "numba")
    program = f"import sys, tracebench_llm4ad.plugin as p; p.tracebench_tasks(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_options_are_a_model_with_defaults_and_refuse_the_unknown(spec: TaskSpec) -> None:
    assert spec.options is not None
    model = resolve(spec.options)
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    model()
    with pytest.raises(ValidationError, match="timeout_second\n"):
        model(timeout_second=3)


@pytest.mark.parametrize("family", ["basic", "constructive", "control", "science"])
def test_a_familys_options_are_light(family: str) -> None:
    program = f"import sys, tracebench_llm4ad.{family}.options; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_what_a_task_requires_comes_with_the_line_that_installs_it(spec: TaskSpec) -> None:
    for requirement in spec.requires:
        assert requirement.hint.startswith('pip install "tracebench-llm4ad[')
    if all(find_spec(requirement.name) for requirement in spec.requires):
        assert callable(resolve(spec.loader))
