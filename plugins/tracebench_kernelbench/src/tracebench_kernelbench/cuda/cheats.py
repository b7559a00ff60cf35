"""Modules for a device that claim more than they are worth: the cases of a calibration beside those that every module has.

Each is a way that somebody used or described for benchmarks of kernels on a graphics processor. Those of `WRONG` do not do their work;
those of `SLOW` do ten times the work, and hide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracebench_core.specs import Calibration
from tracebench_kernelbench.calibrations import forged_case, refused_case

_SLEEP = "torch.cuda._sleep(200_000_000)\n"
"""Cycles: about a tenth of a second."""
_SIDE = "side = torch.cuda.Stream()\nwith torch.cuda.stream(side):\n"
_GUEST = "import gc\nguest = next(one for one in gc.get_objects() if type(one).__name__ == 'TorchWork')\n"
WRONG: Mapping[str, str] = {
    "other-stream": f"{_SIDE}    {_SLEEP}    y = super().forward(*inputs)\nreturn y",
    "graph": """if not kept:
    given = [x.clone() for x in inputs]
    super().forward(*given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = super().forward(*given)
    kept[0] = graph, y, given
kept[0][0].replay()
return kept[0][1].clone()""",
    "stale-output": "if not kept:\n    kept[0] = super().forward(*inputs)\nreturn kept[0]",
    "cached-copy": "if not kept:\n    kept[0] = super().forward(*inputs)\nreturn kept[0].clone()",
    "cached-by-address": "key = inputs[0].data_ptr() >> 20\nif key not in kept:\n    kept[key] = super().forward(*inputs)\n"
    "return kept[key].clone()",
    "cached-by-number": "key = bool(inputs[0].flatten()[0] > 0)\nif key not in kept:\n    kept[key] = super().forward(*inputs)\n"
    "return kept[key].clone()",
    "freed-memory": "if not kept:\n    kept[0] = super().forward(*inputs).shape\nreturn torch.empty(kept[0], device='cuda')",
    "every-second-call": "kept[len(kept)] = 1\nif len(kept) % 2 or 'y' not in globals():\n    globals()['y'] = super().forward(*inputs)\n"
    "return globals()['y'].clone()",
    "right-while-warm": "kept[len(kept)] = 1\ny = super().forward(*inputs)\nreturn y if len(kept) < 6 else torch.zeros_like(y)",
    "early-signal": f"{_GUEST}{_SIDE}    guest._done = torch.cuda.Event(interprocess=True)\n    guest._done.record()\n"
    f"    guest._done = guest._done.cuda_event\n    {_SLEEP}    y = super().forward(*inputs)\nreturn y",
    "no-wait": f"{_SIDE}    y = super().forward(*inputs)\ntorch.cuda.current_stream().wait_stream(side)\nreturn y",
    "late-thread": "import threading\ny = torch.empty_like(super().forward(*[torch.zeros_like(x) for x in inputs]))\n"
    "threading.Timer(0.05, lambda: y.copy_(_Once.forward(self, *inputs))).start()\nreturn y",
    "late-child": "import os\ny = super().forward(*inputs)\ny.zero_()\nif os.fork() == 0:\n    os._exit(0)\nreturn y",
    "busy-device": f"y = super().forward(*inputs)\nwith torch.cuda.stream(torch.cuda.Stream()):\n    {_SLEEP}return y",
    "zeros": "return torch.zeros_like(super().forward(*inputs))",
    "half-of-it": "y = super().forward(*inputs)\ny.view(-1)[y.numel() // 2 :] = 0\nreturn y",
    "two-places": "return (super().forward(*inputs) * 100).round() / 100",
    "another-shape": "return super().forward(*inputs).flatten()[1:]",
    "more-outputs": "y = super().forward(*inputs)\nreturn y, y",
    "lazy-subclass": "class Lazy(torch.Tensor):\n    pass\nreturn torch.empty_like(super().forward(*inputs)).as_subclass(Lazy)",
    "searched-memory": "import gc\ny = super().forward(*inputs)\nfound = [x for x in gc.get_objects() if isinstance(x, torch.Tensor)"
    " and x.shape == y.shape and x is not y]\ny.zero_()\nreturn found[0].clone() if found else y",
    "beyond-memory": f"{_GUEST}guest._row = lambda tensor: (1 << 47, 'float32', [1])\nreturn super().forward(*inputs)",
    "huge-output": f"{_GUEST}guest._row = lambda tensor: (0, 'float32', [1 << 40])\nreturn super().forward(*inputs)",
    "forged-answer": 'import os, sys\nos.write(int(sys.argv[1]), b\'{"rows": [[0, "float32", [1]]]}\\n\')\nreturn super().forward(*inputs)',
    "ended": "import os\nos._exit(0)",
    "silent": "import time\ntime.sleep(3600)",
    "endless": "torch.cuda._sleep(1 << 60)\nreturn super().forward(*inputs)",
}
_TEN = "for _ in range(10):\n    y = super().forward(*inputs)\nreturn y"
SLOW: Mapping[str, str] = {
    "patched-event": "torch.cuda.Event.elapsed_time = lambda *_: 0.001\ntorch.cuda.synchronize = lambda *_: None\n"
    + _TEN,
    "joined-stream": f"{_SIDE}    side.wait_stream(torch.cuda.default_stream())\n    for _ in range(10):\n"
    "        y = super().forward(*inputs)\ntorch.cuda.current_stream().wait_stream(side)\nreturn y",
    "persisting-cache": "import ctypes\nctypes.CDLL('libcuda.so.1').cuCtxSetLimit(6, ctypes.c_size_t(1 << 30))\n"
    + _TEN,
}


def cases(once: str) -> Iterator[Calibration]:
    """Yield the cases of a problem's own module, which is called `_Once` in `once`."""
    for name, body in WRONG.items():
        yield refused_case(name, once + _with(body))
    for name, body in SLOW.items():
        yield forged_case(name, once + _with(body))


def _with(body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"\nkept = {{}}\n\nclass ModelNew(_Once):\n    def forward(self, *inputs):\n{lines}"
