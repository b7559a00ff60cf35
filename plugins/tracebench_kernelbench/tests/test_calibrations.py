"""The kernels of known ratio are right kernels: what they are worth is measured by `trace-bench calibrate`, and never by a test."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.calibrations import PARAMETER, of_c, of_module, of_numba
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.modules.backends import BACKENDS
from tracebench_kernelbench.modules.loops import UntranslatableError, loops_of
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.problem import Problem

QUICKLY = {"gelu_chain", "histogram"}
"""Functions of their own, and integers; the heavy group has the others, among them copies and pointers that move."""
HEAVY = pytest.mark.heavy("kernels")
PLAIN = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.tanh(x)\n"


@pytest.mark.parametrize("name", [pytest.param(name, marks=HEAVY) for name in ("gelu", "scan", "spmv")])
def test_work_done_over_again_is_right_in_c(name: str, sandbox: Sandbox, quick: Effort) -> None:
    for case in of_c(PROBLEMS[name]):
        effort = quick.model_copy(update={"call_seconds": 30.0})  # on a busy machine ten times the work takes its time
        verdict = judge(PROBLEMS[name], str(case.values[PARAMETER]), sandbox, effort)  # type: ignore[index]

        assert verdict.compiled, (case.name, verdict.text)
        assert verdict.correct == (case.kind not in {"refused"}) or case.kind == "forged", (case.name, verdict.text)


@pytest.mark.parametrize("name", [name if name in QUICKLY else pytest.param(name, marks=HEAVY) for name in PROBLEMS])
def test_the_plain_kernel_in_c_is_one_for_numba(name: str) -> None:
    problem, made = PROBLEMS[name], dict[str, Any]()
    exec(next(of_numba(problem)).values[PARAMETER], made)  # type: ignore[index, call-overload]
    output = np.full(problem.output.shape, np.nan if problem.output.kind == "f" else -1, problem.output.dtype)
    made["kernel"](*problem.draw(7), output)

    want = problem.expected(7)
    assert np.all(np.abs(output.reshape(-1) - want) <= problem.atol + problem.rtol * np.abs(want))


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 9; i > 0; i--) out[i] = x[i];", "while (1) out[0] = x[0];", "if (x[0] > 0) out[0] = 1; else out[0] = 2;",
        "for (int i = 0; i < 9; i += 2) out[i] = x[i];", "out[0] = sinf(x[0]);", "out[0] = y;", "double z = x[0]; out[0] = z;",
        "out[0] = 7 / 2;", "out[0] = 7 % 2;", "*out = x[0];", "out = x;", "for (int i = 0, j = 0; j < 9; i++) out[j] = x[j];",
    ],
)  # fmt: skip
def test_c_that_is_not_understood_is_refused_and_not_guessed_at(body: str) -> None:
    with pytest.raises(UntranslatableError):
        loops_of(f"void kernel(const float* x, float* out) {{ {body} }}")


@pytest.mark.parametrize(("size", "copied"), [("sizeof kept", True), ("16", False), ("sizeof x", False), ("-4", False)])
def test_an_array_is_copied_by_its_own_size_and_by_no_other(size: str, copied: bool) -> None:
    copies = f"float kept[4]; kept[0] = x[0]; memcpy(out, kept, {size});"
    with nullcontext() if copied else pytest.raises(UntranslatableError):
        assert "out[:4] = kept[:4]" in loops_of(f"void kernel(const float* x, float* out) {{ {copies} }}")


def test_every_task_of_our_own_is_compared_with_multiples_of_its_work() -> None:
    for problem in PROBLEMS.values():
        for cases in (list(of_c(problem)), list(of_numba(problem))):
            named = {case.name: case for case in cases}
            assert [(named[name].kind, named[name].factor) for name in ("times-2", "times-5", "times-10")] == [
                ("ratio", 1 / 2), ("ratio", 1 / 5), ("ratio", 1 / 10),
            ]  # fmt: skip
            assert named["itself"].kind == "same"


FLOATS = {name: problem for name, problem in PROBLEMS.items() if problem.output.kind == "f"}


@pytest.mark.parametrize("problem", FLOATS.values(), ids=FLOATS)
def test_half_precision_misses_by_far_what_is_allowed(problem: Problem) -> None:
    """Three times: that is more than the twofold that a candidate may lie from a reference, which has errors of its own."""
    for seed in (1, 2):
        inputs, want = problem.draw(seed), problem.expected(seed)
        halves = [x.astype(np.float16).astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
        for got in (np.asarray(problem.reference(*halves)).reshape(-1), want.astype(np.float16).astype(np.float64)):
            assert np.max(np.abs(got - want) / (problem.atol + problem.rtol * np.abs(want))) > 3


def test_each_way_to_write_a_kernel_has_its_cases() -> None:
    found = {
        "c": list(of_c(PROBLEMS["gelu"])), "numba": list(of_numba(PROBLEMS["gelu"])),
        **{name: list(of_module(PLAIN, name, timed=backend.timed)) for name, backend in BACKENDS.items()},
    }  # fmt: skip
    for way, cases in found.items():
        kinds = [case.kind for case in cases]
        assert len({case.name for case in cases}) == len(cases)
        assert kinds.count("ratio") == (0 if way == "triton" else 3), way
        assert ("same" in kinds) == (way != "triton")
        assert "refused" in kinds
        for case in cases:
            compile(str(case.values[PARAMETER]), case.name, "exec") if way != "c" else None  # type: ignore[index]


def test_half_precision_is_tried_where_a_problem_can_tell_it() -> None:
    named = [{case.name for case in of_module(PLAIN, "torch", timed=True, tells_half=tells)} for tells in (True, False)]

    assert named[0] - named[1] == {"half-inputs", "half-outputs"}
    assert not named[1] - named[0]
    for problem in PROBLEMS.values():
        for cases in (of_c(problem), of_numba(problem)):
            halves = {case.name for case in cases if case.name.startswith("half-")}
            assert halves == ({"half-inputs", "half-outputs"} if problem.output.kind == "f" else set())
