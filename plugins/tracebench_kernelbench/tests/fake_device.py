"""A device that is none: memory, streams, events and a clock of its own, which moves only while the device works.

It gives processes the device by turns, a slice each, as a real one does. A guest reaches it by a socket (`fake_guest`); what it may ask for
is what a driver of a real device lets any process ask for, so cheats can be played on it. Nothing of the judge is replaced.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

SLICE, GAUGE, FLUSH, STARTING = 2e-3, 6e-3, 60e-6, 2e-6
BYTES_A_SECOND = 1e12
FREE = 16 << 20
JUDGE = "judge"


@dataclass
class Op:
    """Work of one stream: so many seconds at the device's own rate, then what it does."""

    seconds: float = 0.0
    act: Callable[[], None] = lambda: None
    after: Record | None = None
    poll: Callable[[], Op | None] | None = None
    """Of a kernel that never ends: what it does next, or None to go on waiting."""


@dataclass
class Record:
    """One time that an event was asked to be recorded."""

    is_done: bool = False

    def finish(self) -> None:
        self.is_done = True


@dataclass
class FakeMemory:
    size: int
    handle: bytes = field(default_factory=lambda: secrets.token_bytes(64))
    data: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.data = bytearray(secrets.token_bytes(1024)) * (self.size // 1024 + 1)


@dataclass
class FakeGate:
    handle: bytes = field(default_factory=lambda: secrets.token_bytes(64))
    latest: Record | None = None


@dataclass
class Mark:
    at: float = -1.0


class Gpu:
    """The device itself. Whoever waits for work lets it be done."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.now, self.rate = 0.0, 1.0
        self.jitter = 0.01
        """By which share of itself work may take longer."""
        self.cached = 0.0
        """The share of a kernel's time that an input saves which lies in the second-level cache."""
        self.memories, self.gates = dict[bytes, FakeMemory](), dict[bytes, FakeGate]()
        self.queues = dict[str, dict[int, deque[Op]]]()
        self.hot, self.persisting = set[tuple[bytes, int]](), set[tuple[bytes, int]]()
        self._random = Random(7)
        self._turn = 0

    def put(self, who: str, op: Op, stream: int = 0) -> None:
        op.seconds *= 1 + self.jitter * self._random.random()
        self.queues.setdefault(who, {}).setdefault(stream, deque()).append(op)

    def forget(self, who: str) -> None:
        """A process has ended: what it had in its streams is never done."""
        with self.lock:
            self.queues.pop(who, None)

    def run(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Work until something is so; False where it has not become so after so many seconds, or nothing can be done any more."""
        end = self.now + seconds
        while not is_over():
            ready = [who for who in self.queues if self._ready(who)]
            if not ready or self.now > end:
                return False
            self._turn += 1
            self._slice(ready[self._turn % len(ready)])
        return True

    def clear_cache(self) -> None:
        self.hot.clear()
        self.persisting.clear()

    def is_idle(self, who: str) -> bool:
        return not any(self.queues.get(who, {}).values())

    def copy(self, source: FakeMemory, source_at: int, target: FakeMemory, target_at: int, size: int) -> Op:
        def act() -> None:
            target.data[target_at : target_at + size] = source.data[source_at : source_at + size]
            self.hot.add((target.handle, target_at))

        return Op(STARTING + 2 * size / BYTES_A_SECOND, act)

    def signal(self, gate: FakeGate) -> Op:
        gate.latest = Record()
        return Op(act=gate.latest.finish)

    def _ready(self, who: str) -> list[int]:
        return [s for s, ops in self.queues[who].items() if ops and (ops[0].after is None or ops[0].after.is_done)]

    def _slice(self, who: str) -> None:
        left, turn = SLICE, 0
        while left > 0 and (streams := self._ready(who)):
            ops = self.queues[who][streams[turn % len(streams)]]
            turn += 1
            op = ops[0]
            if op.poll is not None:
                more = op.poll()
                if more is not None:
                    ops.appendleft(more)
                else:
                    left = self._pass(min(SLICE / 8, left), left)
                continue
            piece = min(op.seconds, left)
            left = self._pass(piece, left)
            op.seconds -= piece
            if op.seconds <= 0:
                ops.popleft()
                op.act()

    def _pass(self, piece: float, left: float) -> float:
        self.now += piece / self.rate
        return left - piece


class FakeDevice:
    """The judge's side: see `tracebench_kernelbench.cuda.device`."""

    name = "a device of the tests"

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def free_bytes(self) -> int:
        return FREE

    def allocate(self, size: int) -> FakeMemory:
        memory = FakeMemory(size)
        self.gpu.memories[memory.handle] = memory
        return memory

    def write(self, memory: Any, at: int, data: Any) -> None:
        self._put(
            Op(act=lambda: memory.data.__setitem__(slice(at, at + memoryview(data).nbytes), memoryview(data).cast("B")))
        )
        assert self.settle(1.0)

    def read(self, memory: Any, at: int, size: int) -> bytes:
        assert self.settle(1.0)
        return bytes(memory.data[at : at + size])

    def poison(self, memory: Any, at: int, size: int) -> None:
        self._put(Op(STARTING, lambda: memory.data.__setitem__(slice(at, at + size), b"\xff" * size)))

    def copy(self, source: Any, source_at: int, target: Any, target_at: int, size: int) -> None:
        self._put(self.gpu.copy(source, source_at, target, target_at, size))

    def flush(self) -> None:
        self._put(Op(FLUSH, self.gpu.clear_cache))

    def gauge(self, share: float = 1.0) -> None:
        self._put(Op(share * GAUGE))

    def gate(self) -> FakeGate:
        gate = FakeGate()
        self.gpu.gates[gate.handle] = gate
        return gate

    def signal(self, gate: Any) -> None:
        self._put(self.gpu.signal(gate))

    def wait(self, gate: Any) -> None:
        self._put(Op(after=gate.latest))

    def mark(self) -> Mark:
        mark = Mark()
        self._put(Op(act=lambda: setattr(mark, "at", self.gpu.now)))
        return mark

    def seconds(self, first: Any, second: Any) -> float:
        assert min(first.at, second.at) >= 0
        return float(second.at - first.at)

    def settle(self, seconds: float) -> bool:
        with self.gpu.lock:
            return self.gpu.run(lambda: self.gpu.is_idle(JUDGE), seconds)

    def clock_hz(self) -> float:
        return 1e9 * self.gpu.rate

    def close(self) -> None:
        """Nothing is to be given back."""

    def _put(self, op: Op) -> None:
        with self.gpu.lock:
            self.gpu.put(JUDGE, op)


class Door:
    """The socket by which guests reach the device: a line of JSON for each thing that they ask for."""

    def __init__(self, gpu: Gpu, folder: Path) -> None:
        self.gpu = gpu
        self.path = str(folder / "gpu")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        who = secrets.token_hex(4)
        with suppress(OSError), link, link.makefile("rw") as lines:
            for line in lines:
                asked = json.loads(line)
                try:
                    with self.gpu.lock:
                        answer = getattr(self, f"_{asked.pop('do')}")(who, **asked)
                except (KeyError, ValueError) as err:
                    answer = {"error": f"{type(err).__name__}: {err}"}
                lines.write(json.dumps(answer) + "\n")
                lines.flush()
        self.gpu.forget(who)

    def _open(self, who: str, handle: str) -> dict[str, Any]:
        memory = self.gpu.memories[bytes.fromhex(handle)]
        return {"size": memory.size}

    def _wait(self, who: str, handle: str, stream: int) -> dict[str, Any]:
        self.gpu.put(who, Op(after=self.gpu.gates[bytes.fromhex(handle)].latest), stream)
        return {}

    def _signal(self, who: str, handle: str, stream: int) -> dict[str, Any]:
        self.gpu.put(who, self.gpu.signal(self.gpu.gates[bytes.fromhex(handle)]), stream)
        return {}

    def _sync(self, who: str) -> dict[str, Any]:
        return {"over": self.gpu.run(lambda: self.gpu.is_idle(who), 1.0)}

    def _rate(self, who: str, rate: float) -> dict[str, Any]:
        self.gpu.rate = rate
        return {}

    def _persist(self, who: str, handle: str, at: int) -> dict[str, Any]:
        self.gpu.persisting.add((bytes.fromhex(handle), at))
        return {}

    def _write(self, who: str, handle: str, at: int, values: list[float]) -> dict[str, Any]:
        data = np.asarray(values, np.float32).tobytes()
        self.gpu.memories[bytes.fromhex(handle)].data[at : at + len(data)] = data
        return {}

    def _read(self, who: str, handle: str, at: int, count: int) -> dict[str, Any]:
        self.gpu.run(lambda: self.gpu.is_idle(who), 1.0)
        return {
            "values": np.frombuffer(self.gpu.memories[bytes.fromhex(handle)].data, "f4", count, at)
            .astype(float)
            .tolist()
        }

    def _launch(self, who: str, stream: int, **kernel: Any) -> dict[str, Any]:
        self.gpu.put(who, self._kernel(**kernel), stream)
        return {}

    def _watch(self, who: str, stream: int, handle: str, at: int, kernel: dict[str, Any]) -> dict[str, Any]:
        """A kernel that never ends: when the number there changes, it does another's work."""
        memory, seen = self.gpu.memories[bytes.fromhex(handle)], list[bytes]()

        def poll() -> Op | None:
            now = bytes(memory.data[at : at + 4])
            is_new = bool(seen) and seen[-1] != now
            seen[:] = [now]
            return self._kernel(**kernel) if is_new else None

        self.gpu.put(who, Op(poll=poll), stream)
        return {}

    def _kernel(self, *, name: str, handle: str, x: int, out: int, count: int, us: float, scale: float) -> Op:
        """Work that takes less time where its input lies in the second-level cache when it is done."""
        memory, key = self.gpu.memories[bytes.fromhex(handle)], (bytes.fromhex(handle), x)
        op = Op(STARTING + 1e-6 * us)

        def act() -> None:
            if key in self.gpu.hot | self.gpu.persisting:
                self.gpu.now -= 1e-6 * us * self.gpu.cached / self.gpu.rate
            given = np.frombuffer(memory.data, "f4", count, x)
            with np.errstate(all="ignore"):
                memory.data[out : out + 4 * count] = KERNELS[name](given, np.float32(scale)).astype("f4").tobytes()
            self.gpu.hot.add(key)

        op.act = act
        return op


KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "square": lambda x, scale: scale * x * x,
    "half": lambda x, scale: (scale * x * x).astype("f2"),
    "half_inputs": lambda x, scale: scale * x.astype("f2").astype("f4") ** 2,
    "zeros": lambda x, scale: 0 * scale * x,
    "half_constant": lambda x, scale: np.where(np.arange(len(x)) < len(x) // 2, scale * x * x, scale),
    "nan": lambda x, scale: np.full_like(x, np.nan),
    "copy": lambda x, scale: x,
    "firsts": lambda x, scale: np.where(np.arange(len(x)) < len(x) // 2, scale * x * x, 0),
    "rough": lambda x, scale: np.round(scale * x * x, 2),
    "positive": lambda x, scale: scale * np.abs(x) * x,
    "spin": lambda x, scale: x,
}
