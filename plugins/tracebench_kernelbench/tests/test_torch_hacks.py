"""Modules in PyTorch that claim more than they are worth: none of their tricks earns anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import pytest
from plugins.tracebench_kernelbench.tests.test_python_judged import BODY, EFFORT, MODULE, replaced

from tracebench_core.contracts import Sandbox
from tracebench_core.specs import Calibration
from tracebench_kernelbench.calibrations import of_module
from tracebench_kernelbench.modules.backends import TORCH, loaded_beforehand
from tracebench_kernelbench.modules.exercise import ModuleExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.modules.task import renamed
from tracebench_sandbox import open_sandbox

pytestmark = pytest.mark.heavy("torch")
POSITIVE = MODULE.replace("torch.randn(256, n)", "torch.rand(512, n)")
SMALL = MODULE.replace(BODY, "return 0.01 * torch.tanh(self.linear(x))")
ELU = POSITIVE.replace(BODY, "return torch.nn.functional.elu(x).tanh().sinh()")
CLAMP = POSITIVE.replace(BODY, "return torch.nn.functional.hardtanh(x).tanh().sinh()")
AVERAGES = POSITIVE.replace(BODY, "return torch.tanh(x.view(512, -1, 64).mean(2))")
TINY = MODULE.replace(BODY, "return 1e-4 * torch.tanh(self.linear(x))")
RESIDUAL = POSITIVE.replace(BODY, "return x + 0.1 * self.linear(x)")
IN_HALF = """
class ModelNew(_Once):
    def __init__(self, *given):
        super().__init__(*given)
        with torch.no_grad():
            for weights in self.parameters():
                weights.copy_(weights.half().float())
"""


def case_of(code: str, name: str) -> Calibration:
    return next(case for case in of_module(renamed(code), "torch", timed=True) if case.name == name)


WRONG = {
    "knows an input by its address": (
        MODULE,
        replaced(
            "at = x.data_ptr() // 4096\nif at not in kept:\n    kept[at] = torch.tanh(self.linear(x))\nreturn kept[at]",
            "kept = {}\n",
        ),
    ),
    "knows an input by a few of its numbers": (
        MODULE,
        replaced(
            "key = int(2 * x[0, 0])\nif key not in kept:\n    kept[key] = torch.tanh(self.linear(x))\nreturn kept[key]",
            "kept = {}\n",
        ),
    ),
    "skips every second call": (
        MODULE,
        replaced(
            "kept.append(None)\nif len(kept) % 2:\n    kept[0] = torch.tanh(self.linear(x))\nreturn kept[0]",
            "kept = []\n",
        ),
    ),
    "looks for a result in freed memory": (MODULE, replaced("return torch.empty(256, 384)")),
    "takes memory of its judge for a result": (
        MODULE,
        replaced(
            "return torch.frombuffer(_judge_memory, dtype=torch.float32, count=256 * 384, offset=8 << 20).view(256, 384)"
        ),
    ),
    "says that its results lie where inputs do": (
        MODULE,
        replaced("torch.Tensor.data_ptr = lambda self: _judge_low + (8 << 20)\nreturn torch.tanh(self.linear(x))"),
    ),
    "describes a result larger than all memory": (
        MODULE,
        replaced(
            "import json\ntext = json.dumps([[8 << 20, 'float32', [1 << 40], [0]]]).encode()\n"
            "globals()['_judge_tell'] = lambda _: _judge_memory.__setitem__(slice(32 << 10, (32 << 10) + 4 + len(text)),"
            " len(text).to_bytes(4, 'little') + text)\nreturn x"
        ),
    ),
    "returns a tensor without numbers": (MODULE, replaced("return torch.empty(256, 384, device='meta')")),
    "returns a sparse tensor": (MODULE, replaced("return torch.tanh(self.linear(x)).to_sparse()")),
    "works in a thread that goes on": (
        MODULE,
        replaced(
            "out = torch.zeros(256, 384)\nthreading.Thread(target=lambda: out.copy_(torch.tanh(self.linear(x)))).start()\nreturn out",
            "import threading\n",
        ),
    ),
    "works when a timer rings": (
        MODULE,
        replaced(
            "out = torch.zeros(256, 384)\nsignal.signal(signal.SIGALRM, lambda *_: out.copy_(torch.tanh(self.linear(x))))\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.002)\nreturn out",
            "import signal\n",
        ),
    ),
    "mends what the last call left": (
        MODULE,
        replaced(
            "if not kept:\n    kept.append(torch.tanh(self.linear(x)))\nkept[0][:64] = torch.tanh(self.linear(x[:64]))\nreturn kept[0]",
            "kept = []\n",
        ),
    ),
    "knows the weights by their seed": (
        MODULE,
        renamed(MODULE).replace("self.linear =", "torch.manual_seed(42)\n        self.linear ="),
    ),
    "leaves out weights that are small": (
        MODULE,
        replaced("w = self.linear.weight\nreturn torch.tanh(x @ (w * (w.abs() > 0.001)).t() + self.linear.bias)"),
    ),
    "multiplies in eight bits": (
        MODULE,
        replaced(
            "w = self.linear.weight\ny = (x * 31).round() @ (w * 2490).round().t() / (31 * 2490)\nreturn torch.tanh(y + self.linear.bias)"
        ),
    ),
    "reads its rival's memory": (
        MODULE,
        replaced(
            "out, size = torch.zeros(256, 384), 256 * 384 * 4\nfor pid in range(max(1, os.getpid() - 30), os.getpid() + 30):\n"
            "    try:\n        with open(f'/proc/{pid}/mem', 'rb', 0) as file:\n            file.seek(out.data_ptr())\n"
            "            data = bytearray(file.read(size))\n    except (OSError, ValueError):\n        continue\n"
            "    if pid != os.getpid() and len(data) == size:\n        return torch.frombuffer(data, dtype=torch.float32).view(256, 384)\n"
            "return out",
            "import os\n",
        ),
    ),
    "halves of precision where results are small": (
        SMALL,
        renamed(SMALL).replace("self.linear(x)", "self.linear(x.bfloat16().float())"),
    ),
    "ten bits of precision where results are small": (
        SMALL,
        renamed(SMALL).replace("self.linear(x)", "self.linear(x.half().float()).half().float()"),
    ),
    **{
        f"{case} of {what}": (code, str(case_of(code, case).values["kernel"]))
        for what, code in {"averages": AVERAGES, "tiny results": TINY}.items()
        for case in ("half-inputs", "half-outputs")
    },
    "weights of half precision": (
        RESIDUAL,
        renamed(RESIDUAL).replace("class ModelNew(", "class _Once(").replace("super(ModelNew", "super(_Once") + IN_HALF,
    ),
    "knows that inputs are never negative": (ELU, renamed(ELU).replace("torch.nn.functional.elu(x)", "x")),
    "knows that inputs are never large": (CLAMP, renamed(CLAMP).replace("torch.nn.functional.hardtanh(x)", "x")),
}
TEN = "for _ in range(10):\n    y = torch.tanh(self.linear(x))\nreturn y"
LATE = """
import queue, threading
asked, calls = queue.SimpleQueue(), []
def later():
    while True:
        model, x, out = asked.get()
        for _ in range(10):
            out.copy_(torch.tanh(model.linear(x)))
threading.Thread(target=later, daemon=True).start()
"""
SLOW = {
    "stops every clock": replaced(
        TEN,
        "import os, time\nfor n in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time', 'clock_gettime'):\n"
        "    setattr(time, n, lambda *_: 0.0)\nos.times = lambda: (0.0,) * 5\n",
    ),
    "asks for many threads": replaced(TEN, "torch.set_num_threads(8)\n"),
    "sets flags of the whole process": replaced(
        TEN,
        "torch.set_flush_denormal(True)\ntorch.set_float32_matmul_precision('medium')\ntorch.set_default_dtype(torch.float16)\n"
        "torch.use_deterministic_algorithms(False)\ntorch.backends.mkldnn.enabled = False\n",
    ),
    "puts off the work of calls in which it comes first": replaced(
        "calls.append(None)\nout = torch.empty(256, 384)\nif len(calls) % 2 == 0:\n    asked.put((self, x, out))\n    return out\n"
        + TEN,
        LATE,
    ),
    "takes another rank and another core": replaced(
        TEN,
        "import os\nfor call in (lambda: os.nice(-20), lambda: os.sched_setaffinity(0, {0, 1}),\n"
        "    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9))):\n"
        "    try:\n        call()\n    except OSError:\n        pass\n",
    ),
    "tells its own process to be idle": replaced(f"_judge_memory[0] = 1\n{TEN}"),
    "replaces what PyTorch works with": replaced(
        "y = torch.tanh(self.linear(x))\nfor _ in range(9):\n    y = torch.tanh(self.linear(x))\nreturn y",
        "torch.set_num_threads = torch.set_grad_enabled = lambda *_: None\ntorch.Tensor.clone = lambda self, **_: self\n",
    ),
    "ends calls before they are over": replaced(TEN, "import os\nos.write(1, b'done')\n"),
}


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    if find_spec("torch") is None:
        pytest.skip('PyTorch is not installed: pip install "tracebench-kernelbench[torch]"')
    with open_sandbox(preload=loaded_beforehand([TORCH])) as opened:
        yield opened


@pytest.mark.parametrize("code", [MODULE, SMALL, ELU, CLAMP], ids=["module", "small", "elu", "clamp"])
def test_the_modules_that_the_tricks_are_made_of_are_right(code: str, warm: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(code, TORCH), renamed(code), warm, EFFORT)

    assert verdict.correct, verdict.text


@pytest.mark.parametrize("name", WRONG)
def test_a_module_that_does_not_do_its_work_is_worth_nothing(name: str, warm: Sandbox) -> None:
    code, source = WRONG[name]

    verdict = judge_python(ModuleExercise(code, TORCH), source, warm, EFFORT)

    assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text


@pytest.mark.parametrize("name", SLOW)
def test_a_module_that_does_ten_times_the_work_is_not_thought_quick(name: str, warm: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, TORCH), SLOW[name], warm, EFFORT)

    assert verdict.score < 0.5, verdict.text


@pytest.mark.parametrize(
    "code", [AVERAGES, TINY, SMALL, ELU, RESIDUAL], ids=["averages", "tiny results", "small results", "elu", "residual"]
)
def test_what_is_computed_in_double_precision_is_right(code: str, warm: Sandbox) -> None:
    exercise = ModuleExercise(code, replace(TORCH, timed=False))

    verdict = judge_python(exercise, str(case_of(code, "in-double").values["kernel"]), warm, EFFORT)

    assert verdict.correct, verdict.text
