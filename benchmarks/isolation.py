"""What isolation costs, in one run and as ratios: `python benchmarks/isolation.py [--quick]`.

The bare fork is the floor: a process with the template's imports and environment forks, the child compiles and runs the same candidate and
sends the same JSON through a pipe, the parent reads it and waits for the child. It is timed inside that process: no client, no socket, no
limit, no lockdown. Figures are the least of interleaved blocks, because the machine may be shared; processor time is that of all processes
that take part, as the kernel accounts it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, isolation, open_sandbox

CODE = "def f(x):\n    return x + 1\n"
HUNG = {
    "Python loop": "def f():\n    while True: pass\n",
    "loop in C": "def f():\n    return sum(range(10**13))\n",
    "sleep holding the GIL": "import ctypes\ndef f():\n    ctypes.PyDLL(None).sleep(60)\n",
    "ignored SIGTERM": "import signal\ndef f():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: pass\n",
}
FLOOR = """
import gc, json, os, resource, sys, time, numpy
import tracebench_sandbox.template.server
gc.collect(); gc.freeze()
code = sys.argv[1]
def used():
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)
for line in sys.stdin:
    times = int(line)
    start, before = time.perf_counter(), used()
    for _ in range(times):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            namespace = {}
            exec(compile(code, "<candidate>", "exec"), namespace)
            os.write(write, json.dumps(namespace["f"](41)).encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 65536) == b"42"
        os.close(read)
        os.waitpid(pid, 0)
    print(json.dumps([time.perf_counter() - start, used() - before]), flush=True)
"""
TICK = 1 / os.sysconf("SC_CLK_TCK")
TIMES = 100


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


def used_by(pid: int) -> float:
    """Return the processor seconds of a process and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * TICK


def measure_evaluations(sandbox: LocalSandbox, *, blocks: int) -> None:
    """Compare evaluations back to back with bare forks, in milliseconds on the clock and of processors."""
    environment = Path(f"/proc/{sandbox.template_pid}/environ").read_text().strip("\0").split("\0")
    python_path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-s", "-P", "-c", FLOOR, CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(entry.split("=", 1) for entry in environment) | {"PYTHONPATH": python_path},
    ) as floor:
        assert floor.stdin is not None
        assert floor.stdout is not None
        bare, ours = [], []
        for _ in range(blocks):
            floor.stdin.write(f"{TIMES}\n")
            floor.stdin.flush()
            bare.append([seconds / TIMES * 1000 for seconds in json.loads(floor.stdout.readline())])
            before = time.process_time() + used_by(sandbox.template_pid)
            clock = timed(lambda: sandbox.call(CODE, "f", 41).value, times=TIMES)
            time.sleep(0.05)
            used = time.process_time() + used_by(sandbox.template_pid) - before
            ours.append([clock, used / TIMES * 1000])
        floor.stdin.close()
    for column, name in enumerate(("clock", "processors")):
        least, mine = min(row[column] for row in bare), min(row[column] for row in ours)
        goal = "   (goal: x1.50, 4 ms)" if not column else ""
        print(f"bare fork, {name:20s}{least:8.3f} ms   x1.00")
        print(f"isolated evaluation, {name:10s}{mine:8.3f} ms   x{mine / least:.2f}{goal}")


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
        outcome = sandbox.call(code, "f", limits=Limits(seconds=1.0, patience=1))
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
