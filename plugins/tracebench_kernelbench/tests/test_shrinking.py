"""Sizes that fit a CPU, found on a device that computes nothing: a package that has PyTorch's names, and counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracebench_kernelbench.modules import shrinking
from tracebench_kernelbench.modules.shrinking import MOST_BYTES, MOST_FLOPS, digest, measure, shrink

TORCH = """
from contextlib import contextmanager
from types import SimpleNamespace

modes, asked = [], []

class Tensor:
    def __init__(self, *shape, size=4):
        self.shape, self.size = shape, size
    def numel(self):
        count = 1
        for side in self.shape:
            count *= side
        return count
    def element_size(self):
        return self.size

def work(func, *args, flops=0, **kwargs):
    for mode in modes:
        if hasattr(mode, "flops"):
            mode.flops += flops
    for mode in modes:
        if hasattr(mode, "__torch_dispatch__"):
            return mode.__torch_dispatch__(func, (), args, kwargs or None)
    return func(*args)

@contextmanager
def device(name):
    asked.append(name)
    yield

no_grad = lambda: device("no_grad")

class Mode:
    def __enter__(self):
        modes.append(self)
        return self
    def __exit__(self, *_):
        modes.remove(self)

class Counter(Mode):
    def __init__(self, display):
        assert not display
        self.flops = 0
    def get_total_flops(self):
        return self.flops
"""
PARTS = {
    "torch/__init__.py": TORCH,
    "torch/utils/__init__.py": "",
    "torch/utils/_python_dispatch.py": "from torch import Mode as TorchDispatchMode\n",
    "torch/utils/flop_counter.py": "from torch import Counter as FlopCounterMode\n",
}
CODE = """
from torch import Tensor, work
N = 64
M = 32
small = 16

class Model:
    def __init__(self, n):
        self.weight = Tensor(n, size=8)
    def parameters(self):
        return [self.weight]
    def __call__(self, x, plain):
        half = work(lambda one: Tensor(N // 2), x, flops=3 * N)
        return work(lambda one: [Tensor(N), Tensor(M, size=2), "no tensor"], half, flops=4)

def get_inputs():
    return [Tensor(N, M), 0.5]

def get_init_inputs():
    return [N]
"""


@pytest.fixture(autouse=True)
def counting_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "packages"
    for name, text in PARTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "torch"}
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]
    sys.modules.update(before)


def test_a_call_takes_its_inputs_its_weights_and_the_largest_result() -> None:
    assert measure(CODE) == (4 * 64 * 32 + 8 * 64 + (4 * 64 + 2 * 32), 3 * 64 + 4)
    asked = sys.modules["torch"].asked
    assert asked == ["meta", "no_grad"]


def sized(taken: str, flops: str = "0", constants: str = "N = 4096\nM = 1024\n") -> str:
    """A problem whose inputs take so many bytes, and whose call is so much work."""
    return f"""
from torch import Tensor, work
{constants}
class Model:
    parameters = lambda self: []
    def __call__(self, x):
        return work(lambda one: None, x, flops={flops})

def get_inputs():
    return [Tensor({taken}, size=1)]

def get_init_inputs():
    return []
"""


def test_what_fits_stays_as_it_is_and_a_byte_more_is_halved() -> None:
    assert (MOST_BYTES, MOST_FLOPS) == (16 << 20, 5e8)
    assert shrink(sized("N * 4096")) == {}
    assert shrink(sized("N * 4096 + 1")) == {"N": 2048}
    assert shrink(sized("1", "5 * 10**8")) == {}
    assert shrink(sized("1", "5 * 10**8 // 2048 * N")) == {"N": 2048}


def test_the_half_that_is_worth_most_is_taken_the_first_name_where_two_are_worth_the_same() -> None:
    assert shrink(sized("8 * N * M")) == {"M": 512}
    assert shrink(sized("8 * N * N * M // 4096")) == {"N": 2048}
    assert shrink(sized("64 * N * M")) == {"M": 64}


def test_constants_below_32_shape_a_layer_and_stay() -> None:
    assert shrink(sized("N << 20", constants="N = 32\n")) == {"N": 16}
    assert shrink(sized("N << 20", constants="N = 31\n")) is None
    assert shrink(sized("N << 22", constants="N = 64\n")) is None, "16 are too many still, and are not halved"


def test_sizes_at_which_a_problem_does_not_run_are_passed_by() -> None:
    picky = sized("8 * N * M") + "\nassert M == 1024\n"
    assert shrink(picky) == {"N": 2048}
    broken = sized("8 * N * M") + "\nassert M < 1024\n"
    assert shrink(broken) == {"M": 512}, "at its own sizes it does not run"
    assert shrink(sized("8 * N * M") + "\nraise ValueError\n") is None
    assert shrink(sized("1 << 30")) is None, "no constant is worth anything"


def test_the_table_has_a_line_for_each_problem_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = sized("8 * N * M")
    codes = {
        "level2/10_B.py": wide,
        "level1/7_A.py": sized("1"),
        "level3/1_C.py": sized("1 << 30"),
        "level4/2_D.py": wide,
    }
    for place, code in codes.items():
        (tmp_path / "KernelBench" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "KernelBench" / place).write_text(code)
    monkeypatch.setattr(sys, "argv", ["shrinking", str(tmp_path)])

    shrinking.main()

    printed = capsys.readouterr()
    assert json.loads(printed.out) == [
        {"level": 1, "id": 7, "code": digest(sized("1")), "constants": {}},
        {"level": 2, "id": 10, "code": digest(wide), "constants": {"M": 512}},
    ]
    assert printed.out.count("\n") == 4
    assert [line.split()[-1] for line in printed.err.splitlines()] == ["{}", "512}", "None"]
    assert digest("x") == "2d711642b726b044"
