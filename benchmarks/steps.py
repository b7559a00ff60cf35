"""What one step of a session costs, beside two bare processes and beside no process: `python benchmarks/steps.py [--blocks 5]`.

* the floor is a bare round trip: two Python processes that send 32 bytes to and fro over a socket, on one core; beside it over pipes, over
  shared memory with an eventfd each way, and over a socket with a core each;
* a step is a call of a session, from a caller's `session.call` to its outcome, with small values and with an array of 20;
* as an evaluation makes it, the call passes the evaluation's gate, too.

Milliseconds by the clock are the least of interleaved blocks, with the median; those of processors are of both processes together, as the
kernel counts them.
Run it where the machine has other work, too: a step that is as fast there is one that wakes no second core.
"""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from tracebench_core.specs import Limits, Outcome
from tracebench_engine.measure.bounded import Gate
from tracebench_engine.measure.sandbox import EvaluationSandbox
from tracebench_sandbox import isolation, open_sandbox

CODE = "def f(item, bins):\n    return bins - item\n"
WORD = b"x" * 32
TIMES = 2000
GOAL = 0.06


Ways = tuple[Callable[[], None], Callable[[], None]]


def over_socket() -> Ways:
    """Return what either side does over a socket."""
    ours, theirs = socket.socketpair()

    def ask() -> None:
        ours.send(WORD)
        ours.recv(64)

    def answer() -> None:
        theirs.send(theirs.recv(64))

    return ask, answer


def over_pipes() -> Ways:
    """Return what either side does over two pipes."""
    (there, ask_at), (back, answer_at) = os.pipe(), os.pipe()

    def ask() -> None:
        os.write(ask_at, WORD)
        os.read(back, 64)

    def answer() -> None:
        os.write(answer_at, os.read(there, 64))

    return ask, answer


def over_memory() -> Ways:
    """Return what either side does over shared memory, woken by an eventfd each way."""
    page, asked, answered = memoryview(mmap.mmap(-1, 4096)), os.eventfd(0), os.eventfd(0)

    def ask() -> None:
        page[:32] = WORD
        os.eventfd_write(asked, 1)
        os.eventfd_read(answered)
        bytes(page[64:96])

    def answer() -> None:
        os.eventfd_read(asked)
        page[64:96] = bytes(page[:32])
        os.eventfd_write(answered, 1)

    return ask, answer


@contextmanager
def echo(ways: Callable[[], Ways], cores: set[int]) -> Iterator[Callable[[], None]]:
    """Yield a round trip to a process that sends back what it gets, on one of these cores."""
    ask, answer = ways()
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, cores)
        while True:
            answer()
    yield ask
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def timed(work: Callable[[], object]) -> float:
    """Return milliseconds of one of many."""
    start = time.perf_counter()
    for _ in range(TIMES):
        work()
    return (time.perf_counter() - start) / TIMES * 1000


def processors(work: Callable[[], Outcome]) -> float:
    """Return milliseconds of processors that one step of a session takes of both processes."""
    before = time.thread_time()
    theirs = sum(work().cpu_seconds or float("nan") for _ in range(TIMES))
    return (time.thread_time() - before + theirs) / TIMES * 1000


def trips(blocks: int) -> dict[str, float]:
    """Return milliseconds of bare round trips, the first of which is the floor."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})
    seen: dict[str, list[float]] = {}
    try:
        with (
            echo(over_socket, {cores[0]}) as near,
            echo(over_socket, {cores[-1]}) as far,
            echo(over_pipes, {cores[0]}) as pipes,
            echo(over_memory, {cores[0]}) as memory,
        ):
            works = {
                "bare round trip on one core": near,
                "the same over pipes": pipes,
                "the same over shared memory": memory,
                "a bare one between two cores": far,
            }
            for _ in range(blocks):
                for name, work in works.items():
                    seen.setdefault(name, []).append(timed(work))
    finally:
        os.sched_setaffinity(0, set(cores))
    return {name: min(found) for name, found in seen.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=5)
    blocks = parser.parse_args().blocks
    print(f"{isolation().sentence}; load {os.getloadavg()[0]:.1f}")
    array, limits, namespace = np.arange(20.0), Limits(seconds=600), dict[str, Callable[..., object]]()
    exec(CODE, namespace)
    with open_sandbox(preload=["numpy"]) as sandbox:
        sandbox.call(CODE, "f", 1, 2)
        within = EvaluationSandbox(sandbox, Gate())
        with sandbox.session(CODE, "f", limits=limits) as bare, within.session(CODE, "f", limits=limits) as held:
            works: dict[str, Callable[[], Outcome]] = {
                "step, small values": lambda: bare.call(1, 2),
                "step, array of 20": lambda: bare.call(1.0, array),
                "the same in an evaluation": lambda: held.call(1.0, array),
            }
            for work in works.values():
                timed(work)
            seen: dict[str, list[float]] = {name: [] for name in works}
            for _ in range(blocks):
                for name, work in works.items():
                    seen[name].append(timed(work))
            floors = trips(blocks)
            near = next(iter(floors.values()))
            here = min(timed(lambda: namespace["f"](1.0, array)) for _ in range(blocks))
            for name, floor in floors.items():
                print(f"{name:30s}{floor:8.4f} ms    x{floor / near:.1f}")
            print(f"{'the call in this process':30s}{here:8.4f} ms")
            for name, work in works.items():
                best = min(seen[name])
                cost = min(processors(work) for _ in range(blocks))
                middle = statistics.median(seen[name])
                print(
                    f"{name:30s}{best:8.4f} ms    x{best / near:.1f}    median {middle:.4f}    processors {cost:.4f}    (goal: {GOAL} ms)"
                )


if __name__ == "__main__":
    main()
