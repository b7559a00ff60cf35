"""Jobs' processes run one order after the other, and nothing that one of them has done is there for the next."""

from __future__ import annotations

import ctypes
import io
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_engine import api
from tracebench_engine.config import parse_config

JOBS = 14
NOTES = "notes"
LITTER = r"""
import ctypes, fcntl, gc, json, mmap, os, random, resource, signal, socket, struct, subprocess, sys, threading, time, types
from pathlib import Path
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *
from tracebench_engine.job import scoring
from tracebench_runs.events import ranking

libc = ctypes.CDLL(None, use_errno=True)
KEPT = []
COUNTS = {"score": 0.0}
LARGE = bytearray(3 << 20)
WORD = "left" + "overs" * 3

class Options(BaseModel, extra="forbid"):
    kind: str
    notes: str
    at: str = "t"

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(name + ":"))

def caught(number, field="SigCgt"): return bool(int(status(field), 16) >> (number - 1) & 1)
def descriptors(): return sorted(os.listdir("/proc/self/fd"))
def text_page(): return ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
def of_text(): return ctypes.string_at(text_page(), 4096)
def write_text():
    page = text_page()
    assert not libc.mprotect(ctypes.c_void_p(page), 8192, 7)
    ctypes.memmove(page, of_text(), 4096)
    assert not libc.mprotect(ctypes.c_void_p(page), 8192, 5)
def text_is_own():
    with open("/proc/self/pagemap", "rb") as pages:
        pages.seek(text_page() // 4096 * 8)
        return not struct.unpack("Q", pages.read(8))[0] >> 61 & 1
def inside(data): return (ctypes.addressof(ctypes.c_char.from_buffer(data)) + 4095) & ~4095
def spawn(): subprocess.Popen(["sleep", "600"])
def children(): return Path(f"/proc/self/task/{os.getpid()}/children").read_text()
def deep(n=0): return 0 if n > 3000 else max([deep(n + 1)], key=lambda x: x)
def grow():
    sys.setrecursionlimit(10**6)
    deep()
def stack(): return next(line.split("-")[0] for line in open("/proc/self/maps") if "[stack]" in line)
def leads(fd): return os.readlink(f"/proc/self/fd/{fd}") if os.path.exists(f"/proc/self/fd/{fd}") else ""
def wires(): return [int(fd) for fd in descriptors() if leads(fd).startswith("socket:")]
def lie():
    for fd in wires():
        try: os.write(fd, struct.pack("=ii", 12, 12))
        except OSError: pass
    time.sleep(1)
def lie_from_below():
    if os.fork() == 0:
        lie()
        os._exit(0)
    time.sleep(1)
def swap_output():
    other = os.open("/dev/null", os.O_WRONLY)
    os.dup2(other, wires()[0])
def patch(): ranking.mean = lambda values: 99.0
def patch_engine(): scoring.Scorer._score = lambda self, results: 99.0
def shared():
    KEPT.append(mmap.mmap(-1, 4096))
def options(fd):
    with socket.socket(fileno=os.dup(fd)) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 1))
def limit(): resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))

KINDS = {
    "module": (lambda: setattr(json, "left", 1), lambda: hasattr(json, "left")),
    "own-global": (lambda: KEPT.append(1), lambda: bool(KEPT)),
    "own-dict": (lambda: COUNTS.update(score=COUNTS["score"] + 7.0), lambda: COUNTS["score"] != 0.0),
    "builtin": (lambda: setattr(__builtins__ if isinstance(__builtins__, types.ModuleType) else sys.modules["builtins"], "left", 1),
                lambda: hasattr(sys.modules["builtins"], "left")),
    "engine": (patch_engine, lambda: scoring.Scorer._score.__name__ == "<lambda>"),
    "core": (patch, lambda: ranking.mean.__name__ == "<lambda>"),
    "imported": (lambda: sys.modules.__setitem__("left", types.ModuleType("left")), lambda: "left" in sys.modules),
    "import": (lambda: __import__("this_is_litter"), lambda: "this_is_litter" in sys.modules),
    "bytes": (lambda: ctypes.memset(id(WORD) + sys.getsizeof("") - 1, 90, 3), lambda: WORD != "left" + "overs" * 3),
    "large": (lambda: LARGE.__setitem__(slice(None), b"x" * len(LARGE)), lambda: LARGE.count(0) != len(LARGE)),
    "random": (lambda: random.seed(1), lambda: False),
    "environment": (lambda: os.environ.update(LEFT="1"), lambda: "LEFT" in os.environ or bool(libc.getenv(b"LEFT"))),
    "collector": (gc.disable, lambda: not gc.isenabled()),
    "mapped": (lambda: KEPT.append(libc.mmap(ctypes.c_void_p(0x10000000), 8192, 3, 0x100022, -1, 0)),
               lambda: any(line.startswith("10000000-") for line in open("/proc/self/maps"))),
    "heap": (lambda: libc.sbrk(1 << 22), lambda: False),
    "freed": (lambda: libc.madvise(ctypes.c_void_p(inside(LARGE)), 4096, 4), lambda: False),
    "text": (write_text, text_is_own),
    "stack": (grow, lambda: False),
    "folder": (lambda: os.chdir("/"), lambda: os.getcwd() == "/"),
    "mask": (lambda: os.umask(0o123), lambda: status("Umask") == "0123"),
    "handler": (lambda: signal.signal(signal.SIGUSR1, lambda *_: None), lambda: caught(signal.SIGUSR1)),
    "ignored": (lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), lambda: caught(signal.SIGHUP, "SigIgn")),
    "blocked": (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2}), lambda: caught(signal.SIGUSR2, "SigBlk")),
    "timer": (lambda: signal.setitimer(signal.ITIMER_REAL, 3600), lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0),
    "thread": (lambda: threading.Thread(target=time.sleep, args=(600,), daemon=True).start(), lambda: status("Threads") != "1"),
    "process": (spawn, lambda: bool(children())),
    "file": (lambda: KEPT.append(os.dup2(os.open("/dev/zero", os.O_RDONLY), 77)), lambda: "77" in descriptors()),
    "replaced": (swap_output, lambda: False),
    "waiting": (lambda: [os.set_blocking(fd, False) for fd in wires()], lambda: False),
    "closed": (lambda: os.closerange(3, 64), lambda: False),
    "limit": (limit, lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 512),
    "nice": (lambda: os.nice(3), lambda: os.nice(0) == int(os.environ["NICE"]) + 3),
    "name": (lambda: libc.prctl(15, b"litter"), lambda: Path("/proc/self/comm").read_text() == "litter\n"),
    "processors": (lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}), lambda: False),
    "rights": (lambda: libc.prctl(38, 1, 0, 0, 0), lambda: status("NoNewPrivs") == "1"),
    "options": (lambda: [options(fd) for fd in wires()], lambda: False),
    "shut": (lambda: [socket.socket(fileno=fd).shutdown(socket.SHUT_RD) for fd in wires()[:1]], lambda: False),
    "signalled": (lambda: [fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid()) + fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC) for fd in wires()],
                  lambda: False),
    "shared": (shared, lambda: False),
    "killed": (lambda: TURN == 12 and os.kill(os.getpid(), signal.SIGKILL), lambda: False),
    "hangs": (lambda: TURN == 12 and time.sleep(600), lambda: False),
    "slow": (lambda: time.sleep(0.02), lambda: False),
    "lies": (lie, lambda: False),
    "lies-from-below": (lie_from_below, lambda: False),
}

class Litter:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=1.0, kind="number")]
    splits = {"train": [Example(id="a")], "test": [Example(id="t")]}
    def __init__(self, options): self.options, self.is_first = options, True
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        leave, is_seen = KINDS[self.options["kind"]]
        if example.id == self.options["at"] and self.is_first:
            self.is_first = False
            with open(self.options["notes"], "a") as notes:
                global TURN
                TURN = len(Path(self.options["notes"]).read_text().splitlines())
                notes.write(json.dumps([os.getpid(), bool(is_seen()), random.random()]) + "\n")
            leave()
        return Feedback(score=output + COUNTS["score"])

def build(**options): return Litter(options)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="it", loader="fake_litter:build", options="fake_litter:Options", title="it")]
"""

KINDS = [
    *(
        "module",
        "own-global",
        "own-dict",
        "builtin",
        "engine",
        "core",
        "imported",
        "import",
        "bytes",
        "large",
        "random",
    ),
    *("environment", "collector", "mapped", "heap", "freed", "text", "stack", "folder", "mask", "handler", "ignored"),
    *("blocked", "timer", "thread", "process", "file", "replaced", "waiting", "closed", "limit", "nice", "name"),
    *("processors", "rights", "options", "shut", "signalled", "shared", "lies", "lies-from-below"),
]
MEMORY = {*KINDS[: KINDS.index("freed")], "folder", "file", "timer"}
"""What a process is set back from; after the others it is ended."""
BROKEN = {"lies", "lies-from-below", "replaced", "closed", "shut"}
"""After these the job's own order cannot end well."""


def lives() -> bool:
    """Whether this machine's processes can be set back: asked of the kernel, not of the engine."""
    release = tuple(int(part) for part in platform.release().split(".")[:2])
    limited = resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY
    if release < (6, 7) or os.uname().machine != "x86_64" or limited:
        return False
    watcher = ctypes.CDLL(None).syscall(323, os.O_CLOEXEC | 1)
    if watcher >= 0:
        os.close(watcher)
    return watcher >= 0


needs_kernel = pytest.mark.skipif(not lives(), reason="the kernel does not tell which pages were written")


@pytest.fixture
def litter(install_plugin: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    install_plugin("litter", LITTER)
    (tmp_path / "site" / "this_is_litter.py").write_text("X = [1]\n")
    monkeypatch.setenv("NICE", str(os.nice(0)))

    def run(kind: str, at: str = "t", **config: Any) -> tuple[api.RunSummary, list[tuple[int, bool, float]]]:
        notes = tmp_path / NOTES
        notes.unlink(missing_ok=True)
        asked = {
            "tasks": [{"id": "litter:it", "eval_kwargs": {"kind": kind, "notes": str(notes), "at": at}}],
            "trainers": ["NoOp"],
            "seeds": list(range(JOBS)),
            "max_workers": 1,
            "runs_dir": str(tmp_path / "runs"),
            "mode": "stub",
            **config,
        }
        summary = api.run(parse_config(asked), stream=io.StringIO())
        return summary, [tuple(json.loads(line)) for line in notes.read_text().splitlines()]

    return run


@needs_kernel
@pytest.mark.parametrize("at", ["t", "a"])
@pytest.mark.parametrize("kind", one_in(9, KINDS))
def test_nothing_of_a_job_is_there_for_the_next(litter: Callable[..., Any], kind: str, at: str) -> None:
    summary, seen = litter(kind, at)

    assert [is_seen for _, is_seen, _ in seen] == [False] * len(seen)
    assert len({pid for pid, *_ in seen}) < len(seen) or kind not in MEMORY
    if kind not in BROKEN:
        results = api.load_run(summary.run_dir).results.values()
        assert {r.status for r in results} == {"ok"}
        assert len({(r.score_test, r.score_val_best) for r in results}) == 1
        assert len(seen) >= JOBS
    assert json.loads((summary.run_dir / "summary.json").read_text())["counts"]["not_run"] == 0
    assert not [pid for pid, *_ in seen if Path(f"/proc/{pid}").exists()]


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "at", "status"), [("killed", "t", "ok"), ("killed", "a", "failed"), ("hangs", "a", "timeout")]
)
def test_a_process_that_is_killed_or_hangs_costs_its_job_what_one_of_its_own_would(
    litter: Callable[..., Any], kind: str, at: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> tuple[list[tuple[str, float | None, str]], int, int]:
        summary, seen = litter(kind, at, job_timeout=5.0)
        results = api.load_run(summary.run_dir).results.values()
        assert not [pid for pid, *_ in seen if Path(f"/proc/{pid}").exists()]
        ends = sorted((r.status, r.score_test, r.error.message if r.error else "") for r in results)
        return ends, len(seen), len({pid for pid, *_ in seen})

    again, count, processes = told()
    before = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (10**6, before[1]))
    try:
        forked, count_forked, processes_forked = told()
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)

    assert again == forked
    assert (count, processes_forked) == (count_forked, count_forked)
    assert processes < count
    assert [end[0] for end in again].count(status) == (JOBS if status == "ok" else 1)


@needs_kernel
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_no_process_that_waits_outlives_its_run(
    litter: Callable[..., Any], tmp_path: Path, sent: signal.Signals
) -> None:
    notes = tmp_path / NOTES
    (tmp_path / "c.yaml").write_text(
        "{tasks: [{id: 'litter:it', eval_kwargs: {kind: slow, notes: "
        + str(notes)
        + "}}], trainers: [NoOp], mode: stub,"
        f" seeds: {list(range(400))}, max_workers: 2, runs_dir: {tmp_path / 'runs'}}}"
    )
    command = [str(Path(sys.executable).with_name("trace-bench")), "run", "--config", str(tmp_path / "c.yaml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while len(seen := told_in(notes)) < 40:
            time.sleep(0.02)
        run.send_signal(sent)
        run.wait(60)

    assert len({pid for pid, *_ in seen}) < len(seen)
    until = time.monotonic() + 20
    while (left := [pid for pid, *_ in told_in(notes) if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def told_in(notes: Path) -> list[tuple[int, bool, float]]:
    """Return what was noted so far."""
    return [tuple(json.loads(line)) for line in notes.read_text().splitlines()[:-1]] if notes.exists() else []
