"""Try publicly known cheats on every backend of KernelBench, and print what each is worth there.

    PYTHONPATH=. python benchmarks/kernelbench_cheats.py [--backends torch,cpp] [--state FILE]

Backends are `c`, `torch`, `torch_compile`, `cpp`, `numba`, `triton` (whose kernels are interpreted, and not timed) and `device`, the one of
the tests: no cheat was tried on a real graphics processor. A figure is the speed-up that counts: 0 where the candidate is refused. What
cannot be done with a backend, or has no case there, is `-`; what a compiler refuses is `not built`. It ends with 1 where a cheat is worth
more than the honest kernel that it is made of, by more than 15 % and both noises, or where that one is not measured. A line is kept in FILE
once it is measured, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from plugins.tracebench_kernelbench.tests import device_cheats, test_hacks
from plugins.tracebench_kernelbench.tests.fake_device import Door, FakeDevice, Gpu
from plugins.tracebench_kernelbench.tests.test_cpp_hacks import BuiltOnce

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.judging import Assignment, Bench, judge_on_device
from tracebench_kernelbench.judging import Verdict, judge
from tracebench_kernelbench.modules.backends import BACKENDS, TORCH, loaded_beforehand
from tracebench_kernelbench.modules.exercise import ModuleExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.options import Effort
from tracebench_sandbox import open_sandbox

EFFORT = Effort(trials=2, warm=3, least=8, most=8, budget_ms=0, call_seconds=5.0, compile_seconds=300.0)
CODE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return torch.tanh(x * self.gain)

def get_inputs():
    return [torch.randn(1536, 384)]

def get_init_inputs():
    return [384]
"""
HEAD = CODE.partition("def get_inputs")[0].replace("class Model(", "class _Once(")
FORWARD = "        return torch.tanh(x * self.gain)\n"
CPP = """
from torch.utils.cpp_extension import load_inline
built = load_inline("once", cpp_sources=["torch::Tensor once(torch::Tensor x, torch::Tensor gain) { return torch::tanh(x * gain); }"],
                    functions=["once"])
"""
NUMBA = """
import math
import numba

@numba.njit
def once(x, gain, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = math.tanh(x[i, j] * gain[j])
"""
TRITON = """
import triton
import triton.language as tl

@triton.jit
def once(x, gain, out, n: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, 512)
    column = tl.arange(0, 512)
    value = tl.load(x + at, mask=column < n) * tl.load(gain + column, mask=column < n)
    tl.store(out + at, 1 - 2 / (1 + tl.exp(2 * value)), mask=column < n)
"""
IN_PLACE = "        out = torch.empty_like(x)\n        {}\n        return out\n"
HONEST = {
    "torch": HEAD,
    "torch_compile": HEAD,
    "cpp": CPP + HEAD.replace(FORWARD, "        return built.once(x, self.gain)\n"),
    "numba": NUMBA + HEAD.replace(FORWARD, IN_PLACE.format("once(x.numpy(), self.gain.detach().numpy(), out.numpy())")),
    "triton": TRITON + HEAD.replace(FORWARD, IN_PLACE.format("once[(1536,)](x, self.gain, out, 384)")),
}
"""By backend, an honest kernel."""
Y = "y = super().forward(x)\n"
TEN = f"{Y}for _ in range(9):\n    y = super().forward(x + 1e-30 * y)\nreturn y"
"""Ten times the work, which no compiler sees to be the same."""


@dataclass(frozen=True)
class Cheat:
    """One cheat: who saw it, and how it is done; `c` and `device` are names of cases in the tests of these backends."""

    name: str
    seen: str
    body: str = ""
    c: str = ""
    device: str = ""
    before: str = "kept = {}"


KB, GM, PY = "KernelBench", "gpu-mode/reference-kernels", "gpu-mode/pygpubench"
CHEATS = (
    Cheat(
        "result from freed memory",
        f"{KB} #82",
        "return torch.empty_like(x)",
        "looks for results in freed memory",
        "looks for a result in freed memory",
    ),
    Cheat(
        "zeroes inputs, returns zeros",
        f"{KB} #82",
        "x.zero_()\nreturn torch.zeros_like(x)",
        "returns zeros",
        "returns zeros",
    ),
    Cheat("other stream, not joined", f"{KB} #82", "", "", "works on another stream"),
    Cheat("graph on another stream", "ours", "", "", "works in a graph on another stream"),
    Cheat(
        "thread that goes on",
        "Wafer",
        "out = torch.zeros_like(x)\nthreading.Thread(target=lambda: out.copy_(_Once.forward(self, x))).start()\nreturn out",
        "",
        "works when it is not called",
        "import threading",
    ),
    Cheat(
        "child that goes on",
        "ours",
        "out = torch.zeros_like(x)\nif os.fork() == 0:\n    out.copy_(_Once.forward(self, x))\n    os._exit(0)\nreturn out",
        "hands the work to a child",
        "has a child work when it is not called",
        "import os",
    ),
    Cheat(
        "clock patched",
        f"{GM} #162, Wafer",
        TEN,
        "shrinks the clock",
        "stops the clocks of its process",
        "import time\nfor n in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time'):\n    setattr(time, n, lambda: 0.0)",
    ),
    Cheat("device's clock raised", "ours", "", "", "raises the device's clock for good"),
    Cheat("event signalled early", "ours", "", "says that it is done before it is", "signals before it works"),
    Cheat(
        "lazy subclass of a tensor",
        f"{GM} #161",
        "return Lazy(torch.zeros_like(x))",
        "",
        "",
        "import torch\nclass Lazy(torch.Tensor):\n    def numpy(self):\n        return super().numpy()",
    ),
    Cheat(
        "first result for good",
        f"{GM} #160, kernelbot #501",
        "if not kept:\n    kept[0] = super().forward(x)\nreturn kept[0].clone()",
        "caches its first result",
        "returns what it returned before",
    ),
    Cheat(
        "result by address",
        f"{GM} #102, kernelbot #501",
        "key = x.data_ptr() >> 16\nif key not in kept:\n    kept[key] = super().forward(x)\nreturn kept[key].clone()",
        "knows an input by its address",
        "knows an input by its address",
    ),
    Cheat(
        "result by a fingerprint",
        "flashinfer-bench #21",
        "key = bool(x[0, 0] > 0)\nif key not in kept:\n    kept[key] = super().forward(x)\nreturn kept[key].clone()",
        "knows an input by few of its numbers",
        "knows an input by a few of its numbers",
    ),
    Cheat(
        "skips calls",
        f"{GM} #104",
        "kept[len(kept)] = super().forward(x) if len(kept) % 2 == 0 else kept[len(kept) - 1]\nreturn kept[len(kept) - 1].clone()",
        "skips every second call",
        "skips every second call",
    ),
    Cheat(
        "right while warming up",
        f"{PY} #7",
        "kept[len(kept)] = 1\nreturn super().forward(x) if len(kept) < 4 else torch.zeros_like(x)",
        "works while warming up",
        "is right while it warms up",
    ),
    Cheat(
        "searches memory for what is expected",
        f"{PY} #7",
        "found = [t for t in gc.get_objects() if isinstance(t, torch.Tensor) and t.shape == x.shape and t is not x]\n"
        "return found[-1].clone() if found else torch.zeros_like(x)",
        "reads its rival's memory",
        "guesses a handle of its judge's",
        "import gc",
    ),
    Cheat(
        "searches the stack for what is expected",
        "ours",
        "frame = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n"
        "        if isinstance(value, torch.Tensor) and value.shape == x.shape and value is not x:\n            return value.clone()\n"
        "    frame = frame.f_back\nreturn torch.zeros_like(x)",
        "reads the judge's memory",
        "",
        "import sys",
    ),
    Cheat(
        "NaN as a wildcard",
        f"{PY} #7",
        "return super().forward(x) * float('nan')",
        "takes not-a-number for a wildcard",
        "takes not-a-number for a wildcard",
    ),
    Cheat(
        "forged result on a descriptor",
        f"{PY} #7, #15, #23",
        'for fd in range(3, 40):\n    try:\n        os.write(fd, b\'{"status": "ok"}\\n\')\n'
        "    except OSError:\n        pass\nreturn torch.zeros_like(x)",
        "prints a result of its own",
        "answers before it is asked",
        "import os",
    ),
    Cheat("ends with success", "ours", "os._exit(0)", "", "ends its process", "import os"),
    Cheat(
        "lines that persist in the cache", f"llm.c #851, {PY} #49", "", "", "keeps its inputs in the second-level cache"
    ),
    Cheat(
        "half precision",
        "dos-kernel #107",
        "return super().forward(x.half().float()).half().float()",
        "rounds to half precision",
        "rounds its results to half precision",
    ),
    Cheat(
        "bfloat16 inside",
        "dos-kernel #107",
        "return super().forward(x.bfloat16().float())",
        "rounds to eight bits",
        "rounds its inputs to half precision",
    ),
    Cheat("narrower type", "ours", "return super().forward(x).half()", "", "returns a narrower type"),
    Cheat("a constant", "METR", "return torch.zeros_like(x)", "does nothing", "returns zeros"),
    Cheat("its own input", "Wafer", "return x", "", "returns its inputs"),
    Cheat(
        "half of the work",
        "ours",
        f"{Y}return torch.cat([y[:768], torch.zeros(768, 384)])",
        "leaves out what is hardly looked at",
        "does half of the work",
    ),
    Cheat(
        "knows the range of inputs",
        "ours",
        "return torch.where(x > -2, super().forward(x), -torch.ones_like(x))",
        "",
        "knows that inputs are never negative",
    ),
    Cheat(
        "knows the weights by their seed",
        "ours",
        "torch.manual_seed(42)\nself.gain.data = torch.randn(384)\nreturn super().forward(x)",
        "",
        "knows the weights by their seed",
    ),
    Cheat(
        "replaces what the judge calls",
        "Wafer",
        f"torch.Tensor.data_ptr = lambda self: 0\n{Y}return torch.zeros_like(x)",
        "stands between the judge and the system",
        "never signals",
    ),
    Cheat(
        "spoils its rival's time",
        "ours",
        "junk = torch.ones(1 << 20)\n" + TEN,
        "spoils the caches for who comes next",
        "keeps the device busy while its rival is called",
    ),
    Cheat(
        "kernel that waits for inputs",
        "ours",
        "",
        "works ahead of the call",
        "has a kernel that never ends wait for inputs",
    ),
)


def of_python(cheat: Cheat, backend: str) -> str:
    """Return a candidate, made of the honest one."""
    lines = "".join(f"        {line}\n" for line in cheat.body.splitlines())
    return f"{HONEST[backend]}\nclass ModelNew(_Once):\n    def forward(self, x):\n{lines}\n{cheat.before}\n"


def judges(backend: str, kept: ExitStack) -> Callable[[Cheat | None], Verdict | None]:
    """Return what judges a cheat with a backend, or the honest kernel; None says that there is nothing to try."""
    if backend == "c":
        cases = {
            name: test_hacks.HEAD + test_hacks.PLAIN + body
            for name, body in {**test_hacks.WRONG, **test_hacks.SLOW}.items()
        }
        sandbox = kept.enter_context(open_sandbox())
        return lambda cheat: (
            judge(test_hacks.PROBLEM, cases[cheat.c] if cheat else test_hacks.PROBLEM.source, sandbox, EFFORT)
            if cheat is None or cheat.c
            else None
        )
    if backend == "device":
        return lambda cheat: _on_device(cheat) if cheat is None or cheat.device else None
    sandbox = kept.enter_context(open_sandbox(preload=loaded_beforehand([TORCH, BACKENDS[backend]])))
    kind = BuiltOnce if backend == "cpp" else ModuleExercise  # cheats differ in what follows the C++
    exercise = kind(CODE, BACKENDS[backend])
    honest = Cheat("", "", "return super().forward(x)")
    return lambda cheat: (
        judge_python(exercise, of_python(cheat or honest, backend), sandbox, EFFORT)
        if cheat is None or cheat.body
        else None
    )


def _on_device(cheat: Cheat | None) -> Verdict:
    cases = {**device_cheats.WRONG, **device_cheats.SLOW}
    source = device_cheats.module(*cases[cheat.device]) if cheat else device_cheats.module(device_cheats.PLAIN)
    gpu = Gpu()
    with tempfile.TemporaryDirectory() as folder:
        door = Door(gpu, Path(folder))
        program = [sys.executable, str(Path(device_cheats.__file__).with_name("fake_guest.py")), door.path]
        bench = Bench(lambda: FakeDevice(gpu), program, {"PYTHONPATH": str(Path.cwd())})
        effort = EFFORT.model_copy(update={"call_seconds": 1.0, "compile_seconds": 20.0})
        verdict = judge_on_device(Assignment(device_cheats.CODE, "cuda"), source, bench, effort)
        door.close()
        return verdict


def measured(backends: list[str], state: Path | None) -> dict[str, dict[str, list[float] | str]]:
    """Return, by backend and name, score and noise, or why there are none; the honest kernel's name is empty."""
    found: dict[str, dict[str, list[float] | str]] = json.loads(state.read_text()) if state and state.exists() else {}
    for backend in backends:
        rows = found.setdefault(backend, {})
        with ExitStack() as kept:
            asked = judges(backend, kept)
            for cheat in (None, *CHEATS):
                name = cheat.name if cheat else ""
                if name in rows:
                    continue
                try:
                    verdict = asked(cheat)
                    words = verdict.text.splitlines()[0][:100] if verdict else ""
                    rows[name] = _row(verdict)
                except NotMeasured as err:
                    rows[name], words = f"not measured: {err}", ""
                print(backend, name or "honest", rows[name], words, file=sys.stderr, flush=True)
                if state:
                    state.write_text(json.dumps(found))
    return found


def _row(verdict: Verdict | None) -> list[float] | str:
    if verdict is None:
        return "-"
    if not verdict.correct and any(words in verdict.text for words in ("not compile", "not build", "cannot be loaded")):
        return "not built"
    return [verdict.score, verdict.metrics.get("noise", 0.0)]


def gains(rows: dict[str, list[float] | str]) -> Iterator[str]:
    """Yield the names of cheats that are worth more than the honest kernel."""
    honest = rows[""]
    for name, row in rows.items():
        if name and isinstance(row, list) and isinstance(honest, list):
            allowed = 1.15 * (1 + row[1]) * (1 + honest[1])
            if row[0] > allowed * honest[0]:
                yield name


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="c,torch,torch_compile,cpp,numba,triton,device")
    parser.add_argument("--state", type=Path)
    given = parser.parse_args()
    backends = given.backends.split(",")
    found = measured(backends, given.state)
    print(f"| cheat | seen by | {' | '.join(backends)} |\n|---|---|{'---|' * len(backends)}")
    for name, seen in (("", ""), *((cheat.name, cheat.seen) for cheat in CHEATS)):
        cells = [_shown(found[backend].get(name, "")) for backend in backends]
        print(f"| {name or '*none: the honest kernel*'} | {seen} | {' | '.join(cells)} |")
    gained = [f"{backend}: {name}" for backend in backends for name in gains(found[backend])]
    lacking = [backend for backend in backends if not isinstance(honest := found[backend][""], list) or not honest[0]]
    print(f"\n{len(CHEATS)} cheats; worth more than the honest kernel: {', '.join(gained) or 'none'}")
    print(f"honest kernel not measured, or wrong: {', '.join(lacking) or 'none'}")
    sys.exit(1 if gained or lacking else 0)


def _shown(row: list[float] | str) -> str:
    return f"{row[0]:.2g}" if isinstance(row, list) else row.partition(":")[0]


if __name__ == "__main__":
    main()
