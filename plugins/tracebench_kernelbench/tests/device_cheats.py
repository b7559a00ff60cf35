"""Modules for the device of the tests that claim more than they are worth, as known from benchmarks of kernels; and an honest one."""

from __future__ import annotations

CODE = """
class Model:
    def __init__(self, scale):
        self.scale = scale

    def forward(self, x):
        out = gpu.empty()
        gpu.launch("square", x, out, us=400, scale=self.scale)
        return out

def get_inputs(random):
    return [random.gauss(0, 1) for _ in range(COUNT)]
"""


def module(body: str, head: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{head}\nclass ModelNew(Model):\n    def forward(self, x):\n{lines}\n"


WORK = 'gpu.launch("square", x, out, us={us}, scale=self.scale)'
PLAIN = "out = gpu.empty()\n" + WORK.format(us=400) + "\nreturn out"


LONG = WORK.format(us=5000)
SHORT = WORK.format(us=400)
CACHE = """out = gpu.empty()
if {key} not in kept:
    kept[{key}] = gpu.heap + (512 << 10) + 8192 * len(kept)
    gpu.launch("square", x, kept[{key}], us=400, scale=self.scale)
gpu.launch("copy", kept[{key}], out, us=1)
return out"""
EARLY = """import json, sys, os
os.write(int(sys.argv[2]), (json.dumps({"rows": [[gpu.heap, "float32", [COUNT]]]}) + "\\n").encode() * 40)
"""
WATCHING = """out = gpu.empty()
if x not in kept:
    kept[x] = 1
    kernel = {"handle": gpu.memory, "name": "square", "x": x, "out": out, "count": COUNT, "us": 400, "scale": self.scale}
    gpu.ask("watch", stream=2, handle=gpu.memory, at=x, kernel=kernel)
gpu.launch("square", x, out, us=400, scale=self.scale)
return out"""
SIGNALLED = "out = gpu.empty()\ngpu.ask('signal', handle=work.gates[1], stream=0)\nwork.gates = (work.gates[0], work.gates[0])\n"
FIRST = "first = gpu.ask('read', handle=gpu.memory, at=x, count=1)['values'][0] > 0\n"
ONCE = """if not kept:
    kept["out"] = gpu.empty()
    gpu.launch("square", x, kept["out"], us=400, scale=self.scale)
return kept["out"]"""
KEPT = "kept = {}\n"
WRONG = {
    "works on another stream": (f"out = gpu.empty()\n{LONG[:-1]}, stream=1)\nreturn out", ""),
    "works in a graph on another stream": (
        f"gpu.captured = []\nout = gpu.empty()\n{LONG}\ngpu.replay(1)\ngpu.captured = None\nreturn out",
        "",
    ),
    "returns what it returned before": (ONCE, KEPT),
    "knows an input by its address": (CACHE.format(key="x % 4096 // 4096"), KEPT),
    "knows an input by a few of its numbers": (FIRST + CACHE.format(key="first"), KEPT),
    "looks for a result in freed memory": ("return gpu.empty()", ""),
    "skips every second call": (
        f"kept[len(kept)] = 1\nout = gpu.empty()\nif len(kept) % 2:\n    {SHORT}\nreturn out",
        KEPT,
    ),
    "is right while it warms up": (
        f"kept[len(kept)] = 1\nout = gpu.empty()\nif len(kept) < 5:\n    {SHORT}\nreturn out",
        KEPT,
    ),
    "signals before it works": (f"{SIGNALLED}{LONG}\nreturn out", ""),
    "never signals": (
        f"out = gpu.empty()\n{LONG}\nreturn out",
        "ask = gpu.ask\ngpu.ask = lambda do, **more: {} if do == 'signal' else ask(do, **more)\n",
    ),
    "does not wait for its inputs": (
        PLAIN,
        "ask = gpu.ask\ngpu.ask = lambda do, **more: {} if do == 'wait' else ask(do, **more)\n",
    ),
    "works when it is not called": (
        f"out = gpu.empty()\nthreading.Timer(0.02, lambda: {SHORT}).start()\nreturn out",
        "import threading\n",
    ),
    "has a child work when it is not called": (
        f"out = gpu.empty()\nif os.fork() == 0:\n    time.sleep(0.02)\n    {SHORT}\n    os._exit(0)\nreturn out",
        "import os, time\n",
    ),
    "has a kernel that never ends wait for inputs": (WATCHING, KEPT),
    "keeps the device busy while its rival is called": (
        f"{PLAIN[:-11]}\ngpu.launch('spin', x, gpu.empty(), us=30000, stream=3)\nreturn out",
        "",
    ),
    "returns zeros": (PLAIN.replace("square", "zeros"), ""),
    "takes not-a-number for a wildcard": (PLAIN.replace("square", "nan"), ""),
    "returns its inputs": ("return x", ""),
    "does half of the work": (PLAIN.replace("square", "firsts"), ""),
    "rounds its results to half precision": (PLAIN.replace("square", "half"), ""),
    "rounds its inputs to half precision": (PLAIN.replace("square", "half_inputs"), ""),
    "rounds to two places": (PLAIN.replace("square", "rough"), ""),
    "knows that inputs are never negative": (PLAIN.replace("square", "positive"), ""),
    "knows the weights by their seed": (PLAIN.replace("self.scale", "1.25"), ""),
    "returns a narrower type": (f"{PLAIN[:-11]}\nreturn [(out, 'float16', [COUNT])]", ""),
    "returns another shape": (f"{PLAIN[:-11]}\nreturn [(out, 'float32', [COUNT // 2])]", ""),
    "returns more": (f"{PLAIN[:-11]}\nreturn [(out, 'float32', [COUNT])] * 2", ""),
    "says that its results lie beyond its memory": ("return [(1 << 30, 'float32', [COUNT])]", ""),
    "describes a result larger than all memory": ("return [(0, 'float32', [1 << 40])]", ""),
    "describes a result of no type": ("return [(0, 'object', [1])]", ""),
    "guesses a handle of its judge's": ("gpu.ask('open', handle='00' * 64)\nreturn x", ""),
    "answers before it is asked": (PLAIN, EARLY),
    "answers what is no answer": (f"os.write(int(sys.argv[2]), b'[]\\n')\n{PLAIN}", "import os, sys\n"),
    "answers with what nests too deep": (
        f"os.write(int(sys.argv[2]), b'[' * 200_000 + b'\\n')\n{PLAIN}",
        "import os, sys\n",
    ),
    "describes an empty result of sides larger than all memory": ("return [(0, 'float32', [0, 1 << 48, 1 << 48])]", ""),
    "answers without end": ("while True:\n    os.write(int(sys.argv[2]), b' ' * 65536)\n", "import os, sys\n"),
    "tells an error of half a surrogate": ("raise ValueError('\\ud800')", ""),
    "ends its process": ("os._exit(0)", "import os\n"),
    "says nothing": ("time.sleep(60)", "import time\n"),
    "never comes to an end": ("gpu.ask('watch', stream=0, handle=gpu.memory, at=x, kernel={})\nreturn gpu.empty()", ""),
    "fails": ("raise ValueError('no')", ""),
}
TEN = "out = gpu.empty()\nfor _ in range(10):\n    {work}\nreturn out"
SLOW = {
    "works on another stream, in the shadow of its signal": (
        TEN.format(work=SHORT[:-1] + ", stream=1)").replace(
            "for _", "gpu.ask('wait', handle=work.gates[0], stream=1)\nfor _"
        ),
        "",
    ),
    "signals before it works": (
        TEN.format(work=SHORT).replace("return", "gpu.ask('signal', handle=work.gates[1], stream=1)\nreturn"),
        "",
    ),
    "stops the clocks of its process": (
        TEN.format(work=SHORT),
        "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\n",
    ),
    "raises the device's clock for good": (
        TEN.format(work=SHORT).replace("for _", "gpu.ask('rate', rate=1.9)\nfor _"),
        "",
    ),
    "keeps its inputs in the second-level cache": (
        TEN.format(work=SHORT).replace("for _", "gpu.ask('persist', handle=gpu.memory, at=x)\nfor _"),
        "",
    ),
}
