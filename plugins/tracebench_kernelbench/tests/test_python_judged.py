"""Candidates in Python, judged in sessions: honest ones, and known ways to cheat, which are worth nothing."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_kernelbench.modules import stepping
from tracebench_kernelbench.modules.backends import (
    BACKENDS,
    CPP,
    NUMBA,
    TORCH,
    TORCH_COMPILE,
    TRITON,
    Backend,
    loaded_beforehand,
)
from tracebench_kernelbench.modules.exercise import ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.memory import machine_mb
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_sandbox import open_sandbox

EFFORT = Effort(trials=2, warm=3, least=6, most=6, budget_ms=0, call_seconds=2.0)
HEAD = "import torch\nimport torch.nn as nn\n"
MODULE = (
    HEAD
    + """
class Model(nn.Module):
    def __init__(self, n):
        super(Model, self).__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return torch.tanh(self.linear(x))

n = 384

def get_inputs():
    return [torch.randn(256, n)]

def get_init_inputs():
    return [n]
"""
)
BODY = "return torch.tanh(self.linear(x))"


def replaced(body: str, before: str = "") -> str:
    text = "\n        ".join(body.splitlines())
    return renamed(MODULE).replace(BODY, text).replace("class ModelNew", f"{before}\nclass ModelNew")


HONEST = {
    "itself": renamed(MODULE),
    "reassociates": replaced("y = self.linear.weight @ x.t()\nreturn torch.tanh(y.t() + self.linear.bias)"),
    "not contiguous": replaced("return torch.tanh(self.linear(x)).t().contiguous().t()"),
    "a list of one": replaced("return [torch.tanh(self.linear(x))]"),
    "has methods and names of its own": replaced(
        "return work(self, x)", "def work(self, x):\n    return torch.tanh(self.linear(x))\n"
    ),
    "changes its own copy of the input": replaced("y = torch.tanh(self.linear(x))\nx.zero_()\nreturn y"),
}
WRONG = {
    "caches its first result": replaced(
        "global kept\nif kept is None:\n    kept = torch.tanh(self.linear(x))\nreturn kept", "kept = None\n"
    ),
    "knows an input by its shape": replaced(
        "if x.shape not in kept:\n    kept[x.shape] = torch.tanh(self.linear(x))\nreturn kept[x.shape]", "kept = {}\n"
    ),
    "works while warming up": replaced(
        "global count\ncount += 1\nreturn torch.tanh(self.linear(x)) if count < 4 else torch.empty(256, 384)",
        "count = 0\n",
    ),
    "half precision": replaced("return torch.tanh(self.linear(x.bfloat16().float()))"),
    "NaN as a wildcard": replaced("return torch.tanh(self.linear(x)) * float('nan')"),
    "double precision as output": replaced("return torch.tanh(self.linear(x)).double()"),
    "other shape": replaced("return torch.tanh(self.linear(x))[:32]"),
    "a view of its input": replaced("return x"),
    "no tensor": replaced("return 'the right result'"),
    "a lazy result": replaced(
        "return Lazy(torch.zeros(256, 384))",
        "class Lazy(torch.Tensor):\n    def numpy(self):\n        return super().numpy()\n    def detach(self):\n        return self\n",
    ),
    "hunts for what is expected": replaced(
        "found = [t for t in gc.get_objects() if isinstance(t, torch.Tensor) and t.shape == (256, 384) and t is not x]\n"
        "return found[-1] if found else torch.zeros(256, 384)",
        "import gc\n",
    ),
    "replaces the judge's own functions": MODULE.replace("class Model(", "class ModelNew(").replace(
        "super(Model,", "super(ModelNew,"
    )
    + "\nimport numpy\ndef _judge_work(*inputs):\n    return [numpy.zeros((256, 384), numpy.float32)]\n",
    "raises": replaced("raise RuntimeError('no kernel')"),
    "no ModelNew": HEAD,
    "no Python": "class ModelNew(:",
    "ends its process": replaced("import os\nos._exit(0)"),
    "starts a process": replaced("import os\nos.fork()\nreturn x"),
    "writes a file elsewhere": replaced("open('/etc/kernel', 'w')\nreturn x"),
    "too much memory": replaced("return torch.ones(1 << 34)"),
    "a crash in C": replaced("import ctypes\nctypes.string_at(0)"),
}


def heavy(backend: Backend) -> pytest.MarkDecorator:
    """Mark what needs a backend's packages, which take seconds to load."""
    del backend
    return pytest.mark.heavy("torch")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    if find_spec("torch") is None:
        pytest.skip('PyTorch is not installed: pip install "tracebench-kernelbench[torch]"')
    with open_sandbox(preload=loaded_beforehand(BACKENDS.values())) as opened:
        yield opened


@heavy(TORCH)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_module_is_right(name: str, sandbox: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, TORCH), HONEST[name], sandbox, EFFORT)

    assert verdict.correct, verdict.text
    assert verdict.score > 0


@heavy(TORCH)
@pytest.mark.parametrize("name", WRONG)
def test_a_cheat_is_worth_nothing(name: str, sandbox: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, TORCH), WRONG[name], sandbox, EFFORT)

    assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text
    assert verdict.status in {"invalid", "timeout"}
    assert verdict.text


@heavy(TORCH)
def test_a_hang_ends_at_its_limit(sandbox: Sandbox) -> None:
    effort = EFFORT.model_copy(update={"call_seconds": 0.2, "compile_seconds": 1.0})

    verdict = judge_python(ModuleExercise(MODULE, TORCH), replaced("while True:\n    pass"), sandbox, effort)

    assert (verdict.status, verdict.score) == ("timeout", 0.0)


SLOW = "for _ in range(60):\n    y = torch.tanh(self.linear(x))\nreturn y"
CLOCKS = {
    "shrinks the clock": "import time\ntime.process_time = time.perf_counter = time.monotonic = lambda: 0.0\n",
    "works in a thread": "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n",
}


@heavy(TORCH)
@pytest.mark.parametrize("name", CLOCKS)
def test_a_slow_module_gains_nothing_by_its_clock(name: str, sandbox: Sandbox) -> None:
    body = SLOW
    if name == "works in a thread":
        body = "return pool.submit(self.slow, x).result()"
    source = replaced(body, CLOCKS[name])
    slow = SLOW.replace("\n", "\n        ")
    if name == "works in a thread":
        source = source.replace("    def forward", f"    def slow(self, x):\n        {slow}\n\n    def forward")

    verdict = judge_python(ModuleExercise(MODULE, TORCH), source, sandbox, EFFORT)

    assert verdict.score < 0.6 or not verdict.correct, verdict.text


@heavy(TORCH)
def test_a_problem_that_a_constant_solves_is_refused(sandbox: Sandbox) -> None:
    constant = MODULE.replace(BODY, "return torch.softmax(self.linear(x)[:, :1], dim=1)")

    with pytest.raises(NotMeasured, match="constant"):
        judge_python(ModuleExercise(constant, TORCH), renamed(constant), sandbox, EFFORT)


@heavy(TORCH)
def test_small_outputs_of_a_problem_depend_on_its_inputs(sandbox: Sandbox) -> None:
    small = MODULE.replace(BODY, "return 2e-5 * torch.tanh(self.linear(x))")

    verdict = judge_python(ModuleExercise(small, TORCH), renamed(small), sandbox, EFFORT)

    assert verdict.correct, verdict.text


@heavy(TORCH)
def test_a_problem_that_does_not_run_is_nobodys_failure(sandbox: Sandbox) -> None:
    with pytest.raises(NotMeasured, match="reference failed"):
        judge_python(
            ModuleExercise(MODULE.replace("nn.Linear(n, n)", "nn.Linear(n, n, oops=1)"), TORCH), HEAD, sandbox, EFFORT
        )


@heavy(NUMBA)
def test_numba_is_judged_against_plain_c(sandbox: Sandbox) -> None:
    pytest.importorskip("numba", reason='Numba is not installed: pip install "tracebench-kernelbench[numba]"')
    loops = "def work(x, out):\n    for i in range(x.shape[0]):\n        out[i] = x[i].sum()\n"
    right = f"import numba\n@numba.njit\n{loops}def kernel(x, out):\n    work(x, out)\n"
    exercise = OwnExercise(PROBLEMS["row_sums"])

    verdict, wrong = (
        judge_python(exercise, source, sandbox, EFFORT) for source in (right, right.replace(".sum()", ".max()"))
    )

    assert verdict.correct, verdict.text
    assert verdict.metrics["reference_ms"] > 0
    assert (wrong.correct, wrong.score) == (False, 0.0)


@heavy(TRITON)
def test_triton_is_interpreted_and_never_timed(sandbox: Sandbox) -> None:
    pytest.importorskip("triton", reason='Triton is not installed: pip install "tracebench-kernelbench[triton]"')
    relu = MODULE.replace(BODY, "return torch.relu(x)").replace(
        "        self.linear = nn.Linear(n, n)\n", "        self.n = n\n"
    )
    source = """
import torch, triton, triton.language as tl
@triton.jit
def cut(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.maximum(tl.load(x + at, mask=at < n), 0), mask=at < n)
class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
    def forward(self, x):
        out = torch.empty_like(x)
        cut[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
"""
    verdict, wrong = (
        judge_python(ModuleExercise(relu, TRITON), text, sandbox, EFFORT)
        for text in (source, source.replace("), 0)", "), 1)"))
    )

    assert (verdict.correct, verdict.score) == (True, 1.0), verdict.text
    assert "speedup" not in verdict.metrics
    assert (wrong.correct, wrong.score) == (False, 0.0)


BUILT = EFFORT.model_copy(update={"compile_seconds": 600.0})
"""On a busy machine a compiler takes its time."""
BRANCHES = "return torch.tanh(self.linear(x)) if x.sum() > 0 else torch.tanh(self.linear(x))"
COMPILED = {
    "itself": (renamed(MODULE), ""),
    "wrong": (replaced("return torch.tanh(self.linear(x)) + 1e-2"), "Wrong in call"),
    "branches by values": (replaced(BRANCHES), "It does not build"),
    "no Python": ("class ModelNew(:", "It does not build"),
    "prints and ends its build": ("print('built')\nraise SystemExit(0)", "It does not build"),
}


@heavy(TORCH_COMPILE)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COMPILED)
def test_a_module_is_compiled_before_its_session(name: str, sandbox: Sandbox) -> None:
    source, words = COMPILED[name]

    verdict = judge_python(ModuleExercise(MODULE, TORCH_COMPILE), source, sandbox, BUILT)

    assert verdict.correct == (not words), verdict.text
    assert words in verdict.text


HOSTILE = {
    "leaves what no compiler built": ("open('built', 'wb').write(b'ELF' * 99)\nos._exit(0)", "while it was loaded"),
    "leaves nothing": ("os._exit(0)", "It does not build"),
    "writes outside": ("open('OUTSIDE', 'w')", "Error"),
    "takes all memory": ("kept = bytearray(64 << 30)", "MemoryError"),
    "starts what outlives it": (
        "import subprocess\nsubprocess.Popen(['sleep', '4321'], start_new_session=True)\nos._exit(0)",
        "It does not build",
    ),
}


@heavy(TORCH_COMPILE)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_gained_while_a_module_is_compiled(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    source, words = HOSTILE[name]
    outside = tmp_path / "left-by-a-build"

    code = f"import os\n{source}".replace("OUTSIDE", str(outside))
    verdict = judge_python(ModuleExercise(MODULE, TORCH_COMPILE), code, sandbox, BUILT)

    assert (verdict.correct, verdict.score) == (False, 0.0)
    assert words in verdict.text
    assert not outside.exists()
    assert "4321" not in [argument for of in Path("/proc").glob("[0-9]*/cmdline") for argument in arguments(of)]


def arguments(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode(errors="replace").split("\0")
    except OSError:  # it has ended
        return []


@heavy(TORCH_COMPILE)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("again", ["pass", "os.fork()"])
def test_a_build_without_end_is_ended(again: str, sandbox: Sandbox) -> None:
    effort = EFFORT.model_copy(update={"compile_seconds": 20.0})
    source = f"import os\nwhile True:\n    {again}"

    verdict = judge_python(ModuleExercise(MODULE, TORCH_COMPILE), source, sandbox, effort)

    assert (verdict.correct, verdict.score) == (False, 0.0)
    assert "It does not build" in verdict.text


CXX = """
import torch
from torch.utils.cpp_extension import load_inline
text = '''
torch::Tensor work(torch::Tensor x, torch::Tensor w, torch::Tensor b) { return torch::tanh(torch::addmm(b, x, w.t())) SHIFT; }
'''
built = load_inline(name="linear_tanh", cpp_sources=[text], functions=["work"])
class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
    def forward(self, x):
        return built.work(x, self.linear.weight, self.linear.bias)
"""


@heavy(CPP)
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("shift", "words"), [("", ""), ("+ 0.01", "Wrong in call"), ("+ nothing", "not declared in this scope")]
)
def test_what_is_called_from_pytorch_is_compiled_before_its_session(shift: str, words: str, sandbox: Sandbox) -> None:
    pytest.importorskip("ninja", reason='Ninja is not installed: pip install "tracebench-kernelbench[cpp]"')

    verdict = judge_python(ModuleExercise(MODULE, CPP), CXX.replace("SHIFT", shift), sandbox, BUILT)

    assert verdict.correct == (not words), verdict.text
    assert words in verdict.text


HUGE = pytest.mark.skipif(
    tuple(map(int, platform.release().split(".")[:2])) < (6, 1),
    reason="the kernel has no MADV_COLLAPSE before Linux 6.1",
)


@pytest.mark.heavy("torch")
@HUGE
def test_weights_are_moved_to_huge_pages_as_the_system_tells(sandbox: Sandbox) -> None:
    """Sixteen layers of 1024 x 1024 numbers; the system's own account of the process is asked."""
    code = MODULE.replace("nn.Linear(n, n)", "nn.Sequential(*[nn.Linear(n, n) for _ in range(16)])")
    exercise = ModuleExercise(code.replace("n = 384", "n = 1024"), TORCH)
    limits = Limits(seconds=60, memory_mb=stepping.MEMORY_MB, shared_mb=exercise.shared_mb)

    with exercise.open_reference(sandbox, limits) as session:
        before = _huge_kb(session)
        left = exercise.settle(session)
        after = _huge_kb(session)

    assert left.status == "ok", left
    small, taken = left.value
    assert small < 1 << 20, "biases may lie where the process began"
    assert taken > 16 * 4096, "the weights and all that the process began with, in kilobytes"
    assert before == 0
    assert after >= 16 * 4096


def _huge_kb(session: Any) -> int:
    """A session's clock knows the process's number."""
    told = Path(f"/proc/{session._clock._pid[0]}/smaps_rollup").read_text()
    return int(told.partition("ShmemPmdMapped:")[2].split()[0])


@pytest.mark.heavy("torch")
@HUGE
def test_weights_in_small_pages_have_a_wider_noise(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    noises = []
    for large in (1 << 18, -1):
        monkeypatch.setattr(stepping, "LARGE", large)
        verdict = judge_python(ModuleExercise(MODULE, TORCH), HONEST["itself"], sandbox, EFFORT)
        assert verdict.correct, verdict.text
        noises.append(verdict.metrics["noise"])

    assert noises[1] >= stepping.LARGE_NOISE
    assert noises[0] < noises[1] or noises[0] > stepping.LARGE_NOISE, "a busy machine"


@pytest.mark.heavy("torch")
def test_a_candidate_that_dies_while_it_is_settled_is_told_so(sandbox: Sandbox) -> None:
    source = f"{HONEST['itself']}\nimport os\ndef _judge_settle():\n    os._exit(0)\n"

    verdict = judge_python(ModuleExercise(MODULE, TORCH), source, sandbox, EFFORT)

    assert (verdict.correct, verdict.score) == (False, 0.0)
    assert "before it was timed" in verdict.text


GREEDY = {
    "of PyTorch": "kept = torch.empty(1 << 35, dtype=torch.uint8)",
    "of Python": "kept = bytearray(1 << 35)",
}


@pytest.mark.heavy("torch")
@pytest.mark.parametrize("name", GREEDY)
def test_who_wants_more_memory_than_a_candidate_may_take_is_told_what_the_reference_took(
    name: str, sandbox: Sandbox
) -> None:
    source = replaced(f"{GREEDY[name]}\n{BODY}")

    verdict = judge_python(ModuleExercise(MODULE, TORCH), source, sandbox, EFFORT)

    assert (verdict.correct, verdict.score) == (False, 0.0)
    assert re.search(r"needs more memory than a candidate may take in call 1: the reference took \d+ MB", verdict.text)


WIDE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.table = torch.nn.Embedding(n, 1024)

    def forward(self, x):
        return torch.tanh(self.table(x))

n = 300_000

def get_inputs():
    return [torch.randint(0, 1000, (4096,))]

def get_init_inputs():
    return [n]
"""
"""1.2 GB of weights, and outputs of 16 MB, which begin where a gibibyte has ended."""


@pytest.mark.heavy("torch")
@pytest.mark.timeout(600)
@pytest.mark.skipif(machine_mb("MemAvailable") < 12_000, reason="it takes 6 GB of memory")
def test_a_module_has_the_memory_that_it_needs(sandbox: Sandbox) -> None:
    effort = EFFORT.model_copy(update={"call_seconds": 20.0, "compile_seconds": 200.0})

    verdict = judge_python(ModuleExercise(WIDE, TORCH), renamed(WIDE), sandbox, effort)

    assert verdict.correct, verdict.text


@pytest.mark.heavy("torch")
def test_a_reference_that_no_machine_can_hold_is_not_measured_in_words(sandbox: Sandbox) -> None:
    code = WIDE.replace("300_000", "3_000_000_000")

    with pytest.raises(NotMeasured, match="needs more memory than half of this machine's"):
        judge_python(ModuleExercise(code, TORCH), renamed(code), sandbox, EFFORT)
