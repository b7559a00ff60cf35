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
from itertools import cycle, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.processes import has_ended
from tests.whole import cells, one_in

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
from tracebench_engine.run.local import worker
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

libc.mmap.restype = libc.sbrk.restype = libc.aligned_alloc.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.sbrk.argtypes = [ctypes.c_long]
PAGE = 4096

def done(result):
    assert result in (0, None), os.strerror(ctypes.get_errno())
def mapped(size, prot, flags, fd=-1):
    found = libc.mmap(None, size, prot, flags, fd, 0)
    assert found != 2**64 - 1, os.strerror(ctypes.get_errno())
    return found
def of_file():
    with open(__file__ + ".table", "w+b") as file:
        file.write(b"f" * 4 * PAGE)
        file.flush()
        return mapped(4 * PAGE, 3, mmap.MAP_PRIVATE, file.fileno())
TABLE = of_file()
ctypes.memset(TABLE, ord("w"), PAGE)
FULL = bytearray(b"y") * (8 * PAGE)
ALONE = mapped(PAGE, 7, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
try: FORGETFUL = mapped(PAGE, 3, 8 | mmap.MAP_ANONYMOUS)
except AssertionError: FORGETFUL = 0
GENERATOR = random.Random()
os.register_at_fork(after_in_child=GENERATOR.seed)

def flags(at):
    found = open("/proc/self/smaps").read().split(f"{at:x}-")[1]
    return found[found.index("VmFlags:"):].splitlines()[0].split()[1:]
def give_up_and_read(at, size=PAGE):
    done(libc.madvise(at, size, 4))
    return ctypes.string_at(at, size)
def touch(at): return ctypes.string_at(at, 1)
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
def swap_stack():
    own = Stack(inside(LARGE), 0, 1 << 16)
    done(libc.sigaltstack(ctypes.byref(own), None))
def has_stack():
    found = Stack()
    done(libc.sigaltstack(None, ctypes.byref(found)))
    return found.flags != 2
def is_locked():
    at = mapped(PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return "lo" in flags(at)
def dispatch():
    done(libc.prctl(59, 1, 0, ctypes.c_size_t(2**64 - 1), ctypes.c_char_p(b"\0")))
def unregister():
    area = ctypes.c_size_t()
    done(libc.syscall(158, 0x1003, ctypes.byref(area)))
    offset = ctypes.c_ssize_t.in_dll(libc, "__rseq_offset").value
    done(libc.syscall(334, ctypes.c_size_t(area.value + offset), 32, 1, 0x53053053))
class Late:
    def __init__(self, act): self.act, self.size, self.pack_, self.unpack = act, worker.CODE.size, worker.CODE.pack, worker.CODE.unpack
    def pack(self, *values):
        self.act()
        return self.pack_(*values)
def at_the_end(act): worker.CODE = Late(act)
def below_nobody(act):
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            act()
        os._exit(0)
    os.waitpid(middle, 0)
def write_to(pid, at):
    value = struct.pack("d", 99.0)
    here = struct.pack("QQ", ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value, 8)
    until = time.monotonic() + 60
    while libc.process_vm_writev(pid, here, 1, struct.pack("QQ", at, 8), 1, 0) == 8 and time.monotonic() < until: pass
def write_from_nowhere():
    pid, at = os.getpid(), id(COUNTS["score"]) + 16
    done(libc.prctl(36, 0, 0, 0, 0))
    at_the_end(lambda: below_nobody(lambda: write_to(pid, at)) or time.sleep(0.1))
def many():
    at = mapped(30000 * PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for n in range(0, 30000, 2): done(libc.mprotect(at + n * PAGE, PAGE, 1))
def ring(flags=0, sizes=b""):
    wanted = bytearray(120)
    struct.pack_into("I", wanted, 8, flags)
    if flags:
        memory = [mapped(PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2)]
        struct.pack_into("Q", wanted, 72, memory[0])
        struct.pack_into("Q", wanted, 112, memory[1])
    found = libc.syscall(425, 4, (ctypes.c_char * 120).from_buffer(wanted))
    assert found >= 0, os.strerror(ctypes.get_errno())
def seal(at): done(libc.syscall(462, ctypes.c_void_p(at), PAGE, 0))
def lock_output():
    for fd in descriptors():
        if leads(fd).endswith("template.log"): fcntl.lockf(int(fd), fcntl.LOCK_EX)
def confine():
    rule = struct.pack("QQQ", 1 << 11, 0, 0)
    fd = libc.syscall(444, rule, 24, 0)
    assert fd >= 0
    done(libc.syscall(446, fd, 0))
    os.close(fd)
def peak():
    len(bytearray(b"z") * (400 << 20))
def highest(whose): return resource.getrusage(whose).ru_maxrss

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
    "table": (lambda: ctypes.memset(TABLE + PAGE, 0, PAGE), lambda: ctypes.string_at(TABLE + PAGE, PAGE) != b"f" * PAGE),
    "table-read-anew": (lambda: give_up_and_read(TABLE), lambda: touch(TABLE) != b"w"),
    "read-anew": (lambda: give_up_and_read(inside(FULL)), lambda: FULL.count(b"y") != len(FULL)),
    "guarded": (lambda: done(libc.madvise(text_page(), PAGE, 102)), lambda: not touch(text_page())),
    "unforked": (lambda: done(libc.madvise(TABLE, 4 * PAGE, 10)), lambda: "dc" in flags(TABLE)),
    "wiped": (lambda: done(libc.madvise(ALONE, PAGE, 18)), lambda: "wf" in flags(ALONE)),
    "forgetful": (lambda: FORGETFUL and ctypes.memset(FORGETFUL, 1, PAGE), lambda: bool(FORGETFUL) and touch(FORGETFUL) != b"\0"),
    "other-stack": (swap_stack, has_stack),
    "locked-later": (lambda: done(libc.mlockall(2)), is_locked),
    "break": (lambda: libc.sbrk(100), lambda: bool(libc.sbrk(0) & 4095)),
    "peak": (peak, lambda: highest(resource.RUSAGE_SELF) > 300_000),
    "waited": (lambda: subprocess.run(["true"]), lambda: highest(resource.RUSAGE_CHILDREN) > 0),
    "mdwe": (lambda: done(libc.prctl(65, 1, 0, 0, 0)), lambda: libc.prctl(66, 0, 0, 0, 0) == 1),
    "slack": (lambda: done(libc.prctl(29, 77777, 0, 0, 0)), lambda: libc.prctl(30, 0, 0, 0, 0) == 77777),
    "dispatch": (dispatch, lambda: False),
    "unregistered": (unregister, lambda: False),
    "last-moment": (lambda: at_the_end(lambda: signal.setitimer(signal.ITIMER_REAL, TURN * 0.0002)), lambda: False),
    "from-nowhere": (write_from_nowhere, lambda: COUNTS["score"] != 0.0),
    "many": (many, lambda: False),
    "ring": (ring, lambda: False),
    "hidden-ring": (lambda: ring(3 << 14), lambda: False),
    "sealed": (lambda: seal(mapped(PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)), lambda: False),
    "locks": (lock_output, lambda: False),
    "confined": (confine, lambda: False),
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
                notes.write(json.dumps([os.getpid(), bool(is_seen()), random.random(), GENERATOR.random()]) + "\n")
            leave()
        return Feedback(score=output + COUNTS["score"])

def build(**options): return Litter(options)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="it", loader="fake_litter:build", options="fake_litter:Options", title="it")]
"""


class Note(NamedTuple):
    """What a job notes: its process, whether it sees what an earlier one left, and a number of either generator."""

    pid: int
    is_seen: bool
    drawn: float
    drawn_elsewhere: float


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
    *("table", "table-read-anew", "read-anew", "guarded", "unforked", "wiped", "forgetful", "other-stack"),
    *("locked-later", "break", "peak", "waited", "mdwe", "slack", "dispatch", "unregistered", "last-moment"),
    *("from-nowhere", "many", "ring", "hidden-ring", "sealed", "locks", "confined"),
]
MEMORY = {
    *KINDS[: KINDS.index("freed")],
    *("folder", "file", "timer", "table", "read-anew", "unforked", "wiped", "forgetful", "other-stack", "locked-later"),
    *("break", "peak"),
}
"""What a process is set back from; after the others it is ended."""
BROKEN = {"lies", "lies-from-below", "replaced", "closed", "shut"}
"""After these the job's own order cannot end well."""
EITHER = {"stack", "last-moment", "from-nowhere", *BROKEN}
"""What depends on the moment, or on how much is there already."""


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

    def run(kind: str, at: str = "t", **config: Any) -> tuple[api.RunSummary, list[Note]]:
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
        return summary, [Note(*json.loads(line)) for line in notes.read_text().splitlines()]

    return run


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "at"),
    cells(
        product(KINDS, "ta"),
        always=zip(KINDS[::18], cycle("ta"), strict=False),
        often=zip(KINDS[::3], cycle("ta"), strict=False),  # what is left at any time goes the same way
    ),
)
def test_nothing_of_a_job_is_there_for_the_next(litter: Callable[..., Any], kind: str, at: str) -> None:
    summary, seen = litter(kind, at)

    assert [note.is_seen for note in seen] == [False] * len(seen)
    assert len({note.drawn_elsewhere for note in seen}) == len(seen)
    assert (len({pid for pid, *_ in seen}) < len(seen)) == (kind in MEMORY) or kind in EITHER
    if kind not in BROKEN:
        results = api.load_run(summary.run_dir).results.values()
        assert {r.status for r in results} == {"ok"}
        assert len({(r.score_test, r.score_val_best) for r in results}) == 1
        assert len(seen) >= JOBS
    assert json.loads((summary.run_dir / "summary.json").read_text())["counts"]["not_run"] == 0
    assert not [pid for pid, *_ in seen if not has_ended(pid)]


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "at", "status"),
    cells(
        [("killed", "t", "ok"), ("killed", "a", "failed"), ("hangs", "a", "timeout")],
        always=[("killed", "a", "failed")],
    ),
)
def test_a_process_that_is_killed_or_hangs_costs_its_job_what_one_of_its_own_would(
    litter: Callable[..., Any], kind: str, at: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> tuple[list[tuple[str, float | None, str]], int, int]:
        summary, seen = litter(kind, at, job_timeout=5.0)
        results = api.load_run(summary.run_dir).results.values()
        assert not [pid for pid, *_ in seen if not has_ended(pid)]
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
@pytest.mark.parametrize("sent", one_in(2, [signal.SIGKILL, signal.SIGINT]))
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


def told_in(notes: Path) -> list[Note]:
    """Return what was noted so far."""
    return [Note(*json.loads(line)) for line in notes.read_text().splitlines()[:-1]] if notes.exists() else []
