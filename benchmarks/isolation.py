"""What isolation costs, in one run and as ratios: `python benchmarks/isolation.py [--quick]`.

The bare fork is the floor: the same interpreter with the same imports forks, runs the same candidate and sends the same JSON through a
pipe, with no limit, no lockdown and no client. Figures are the least mean of interleaved blocks, because the machine may be shared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tracebench_core.sandbox import LocalSandbox, isolation, open_sandbox
from tracebench_core.specs import Limits

CODE = "def f(x):\n    return x + 1\n"
HUNG = {
    "Python loop": "def f():\n    while True: pass\n",
    "loop in C": "def f():\n    return sum(range(10**13))\n",
    "sleep holding the GIL": "import ctypes\ndef f():\n    ctypes.PyDLL(None).sleep(60)\n",
    "ignored SIGTERM": "import signal\ndef f():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: pass\n",
}
FLOOR = """
import gc, json, os, sys, numpy
import tracebench_core.sandbox.server
gc.collect(); gc.freeze()
code = sys.argv[1]
for line in sys.stdin:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        namespace = {}
        exec(compile(code, "<candidate>", "exec"), namespace)
        os.write(write, json.dumps(namespace["f"](int(line))).encode())
        os._exit(0)
    os.close(write)
    answer = os.read(read, 65536)
    os.close(read)
    os.waitpid(pid, 0)
    print(answer.decode(), flush=True)
"""


def timed(work: Callable[[], object], *, times: int) -> float:
    """Return milliseconds per call."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times * 1000


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB, counted page by page."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) / 1024


def measure_evaluations(sandbox: LocalSandbox, *, blocks: int) -> None:
    """Compare an evaluation with the bare fork."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with subprocess.Popen(
        [sys.executable, "-c", FLOOR, CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as floor:
        assert floor.stdin is not None
        assert floor.stdout is not None

        def bare() -> None:
            floor.stdin.write("41\n")  # type: ignore[union-attr]
            floor.stdin.flush()  # type: ignore[union-attr]
            assert floor.stdout.readline() == "42\n"  # type: ignore[union-attr]

        def isolated() -> None:
            assert sandbox.call(CODE, "f", 41).value == 42

        bare()
        isolated()
        pairs = [(timed(bare, times=40), timed(isolated, times=40)) for _ in range(blocks)]
        floor.stdin.close()
    least, ours = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    print(f"bare fork                      {least:8.3f} ms   x1.00")
    print(f"isolated evaluation            {ours:8.3f} ms   x{ours / least:.2f}   (goal: x1.20, 4 ms)")


def measure_inputs(sandbox: LocalSandbox, *, blocks: int) -> None:
    """Time many inputs of one candidate, and steps of a session."""
    inputs = [(n,) for n in range(5000)]
    many = min(timed(lambda: sandbox.call_many(CODE, "f", inputs), times=1) for _ in range(blocks)) / len(inputs)
    print(f"one of 5,000 inputs            {many:8.4f} ms           (goal: 0.05 ms)")
    import numpy as np  # noqa: PLC0415 - only what is measured here needs it

    array = np.arange(20.0)
    with sandbox.session("def f(item, bins):\n    return bins - item\n", "f", limits=Limits(seconds=60)) as session:
        small = min(timed(lambda: session.call(1, 2), times=2000) for _ in range(blocks))
        arrays = min(timed(lambda: session.call(1.0, array), times=2000) for _ in range(blocks))
    print(f"session step, small values     {small:8.4f} ms           (goal: 0.06 ms)")
    print(f"session step, array of 20      {arrays:8.4f} ms")


def measure_growth(sandbox: LocalSandbox, *, pid: int) -> None:
    """Measure what 1,000 evaluations leave in the client and the template."""
    before = resident(os.getpid()), resident(pid)
    for n in range(1000):
        sandbox.call(CODE, "f", n)
    after = resident(os.getpid()), resident(pid)
    print(f"growth over 1,000: client      {after[0] - before[0]:8.2f} MB           (goal: 3 MB)")
    print(f"growth over 1,000: template    {after[1] - before[1]:8.2f} MB           (goal: 3 MB)")


def measure_hung(sandbox: LocalSandbox) -> None:
    """Measure how long after its limit a hung candidate is gone."""
    for name, code in HUNG.items():
        start = time.perf_counter()
        outcome = sandbox.call(code, "f", limits=Limits(seconds=1.0))
        over = time.perf_counter() - start - 1.0
        print(f"hung, {name:24s} {over * 1000:8.1f} ms over     (goal: 250 ms)   {outcome.status}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    blocks = 3 if parser.parse_args().quick else 12
    print(f"{isolation().sentence}; Python {sys.version.split()[0]}; load {os.getloadavg()[0]:.1f}")
    with open_sandbox(preload=["numpy"]) as sandbox:
        sandbox.call(CODE, "f", 1)
        template = sandbox.template_pid
        measure_evaluations(sandbox, blocks=blocks)
        measure_inputs(sandbox, blocks=min(blocks, 5))
        measure_growth(sandbox, pid=template)
        measure_hung(sandbox)


if __name__ == "__main__":
    main()
