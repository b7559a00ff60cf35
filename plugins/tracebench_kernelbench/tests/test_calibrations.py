"""The kernels of known ratio are right kernels: what they are worth is measured by `trace-bench calibrate`, and never by a test."""

from __future__ import annotations

import pytest

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.calibrations import PARAMETER, of_c, of_module, of_numba
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.modules.backends import BACKENDS
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS

PLAIN = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.tanh(x)\n"


@pytest.mark.parametrize("name", ["gelu", "scan", "spmv"])
def test_work_done_over_again_is_right_in_c(name: str, sandbox: Sandbox, quick: Effort) -> None:
    for case in of_c(PROBLEMS[name]):
        verdict = judge(PROBLEMS[name], str(case.values[PARAMETER]), sandbox, quick)  # type: ignore[index]

        assert verdict.compiled, (case.name, verdict.text)
        assert verdict.correct == (case.kind not in {"refused"}) or case.kind == "forged", (case.name, verdict.text)


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
    assert list(of_numba(PROBLEMS["spmv"])) == []
