"""The program of a guest on the device of the tests: `python fake_guest.py DEVICE_SOCKET JUDGE_DESCRIPTOR`.

A module asks `gpu` for work, as one of PyTorch asks CUDA. A candidate has the whole process, this file included.
"""

from __future__ import annotations

import json
import random
import socket
import sys
from collections.abc import Sequence
from typing import Any

from tracebench_kernelbench.cuda.serving import Row, serve

COUNT = 2048


class Gpu:
    """What a process may ask a device for."""

    def __init__(self, path: str) -> None:
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        self._lines = link.makefile("rw")
        self.memory, self.heap, self.next = "", 0, 0
        self.captured: list[dict[str, Any]] | None = None

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self._lines.write(json.dumps({"do": do, **more}) + "\n")
        self._lines.flush()
        answer = json.loads(self._lines.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return dict(answer)

    def empty(self, size: int = 4 * COUNT) -> int:
        at, self.next = self.next, self.next + size
        return at

    def launch(
        self, name: str, x: int, out: int, *, us: float, stream: int = 0, scale: float = 1.0, count: int = COUNT
    ) -> None:
        kernel = {
            "handle": self.memory,
            "name": name,
            "x": x,
            "out": out,
            "count": count,
            "us": us,
            "scale": scale,
            "stream": stream,
        }
        if self.captured is not None:
            self.captured.append(kernel)
        else:
            self.ask("launch", **kernel)

    def replay(self, stream: int) -> None:
        for kernel in self.captured or []:
            self.ask("launch", **{**kernel, "stream": stream})


class FakeWork:
    """See `serving.Work`."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.module, self.whole = gpu, None, 0.0
        self.gates = ("", "")

    def open(self, *, memory: bytes, go: bytes, done: bytes, size: int, inputs: int) -> None:
        self.gpu.memory, self.gpu.heap = memory.hex(), inputs
        self.gates = (go.hex(), done.hex())
        self.gpu.ask("open", handle=self.gpu.memory)

    def load(self, *, code: str, source: str, name: str, seed: int) -> None:
        names: dict[str, Any] = {"gpu": self.gpu, "work": self, "COUNT": COUNT}
        exec(code, names)
        exec(source, names)
        self.gpu.next = self.gpu.heap
        self.module = names[name](random.Random(seed).uniform(0.5, 2.0))
        self.problem = names

    def draw(self, seed: int) -> tuple[Sequence[Row], Sequence[Any]]:
        values = self.problem["get_inputs"](random.Random(seed))
        at = self.gpu.heap + (256 << 10)
        self.gpu.ask("write", handle=self.gpu.memory, at=at, values=values)
        return [(at, "float32", [len(values)])], [None]

    def call(self, rows: Sequence[Row], plain: Sequence[Any]) -> Sequence[Row]:
        go, done = self.gates
        self.gpu.ask("wait", handle=go, stream=0)
        self.gpu.next = self.gpu.heap
        out = self.module.forward(rows[0][0])  # type: ignore[attr-defined]
        told = out if isinstance(out, list) else [(out, "float32", [COUNT])]
        self.gpu.ask("signal", handle=done, stream=0)
        return told

    def halve(self, *, half: bool) -> None:
        import numpy as np

        self.whole, weight = (self.module.scale, float(np.float16(self.module.scale))) if half else (0.0, self.whole)  # type: ignore[attr-defined]
        self.module.scale = weight  # type: ignore[attr-defined]


if __name__ == "__main__":
    serve(int(sys.argv[2]), FakeWork(Gpu(sys.argv[1])))
