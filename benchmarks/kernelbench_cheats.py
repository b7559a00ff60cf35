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
from pathlib import Path

from kernelbench_cheat_list import CHEATS, Cheat
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
