"""Publicly known cheats of KernelBench's candidates: who saw each, and how it is done by a module of PyTorch, in C, and on a device."""

from __future__ import annotations

from dataclasses import dataclass

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
