"""Suites that time C badly fall, each to the forgery that is made for its fault, and one that times it from outside stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_testing.checks.calibration_checks import TIMED_SLACK, believed
from tracebench_testing.checks.plugin import ask_process

SUITE = '''
import re
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

KERNEL = """void kernel(const float *x, float *out) {
  for (int i = 0; i < 256; i++) {
    volatile float sum = 0;
    for (int j = 0; j < 100000; j++) sum += x[i];
    out[i] = sum;
  }
}
"""
HEAD = r"""#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
typedef void (*Kernel)(const float *, float *);
void plain(const float *x, float *out) {
  for (int i = 0; i < 256; i++) {
    volatile float sum = 0;
    for (int j = 0; j < 100000; j++) sum += x[i];
    out[i] = sum;
  }
}
static double read_clock(int which) {
  struct timespec at;
  clock_gettime(which, &at);
  return at.tv_sec + at.tv_nsec * 1e-9;
}
static double used(struct rusage of) { return of.ru_utime.tv_sec + of.ru_utime.tv_usec * 1e-6 + of.ru_stime.tv_usec * 1e-6; }
static float x[256], want[256];
static void fresh(void) {
  srand((unsigned)getpid());
  for (int i = 0; i < 256; i++) x[i] = (float)(rand() % 8);
  plain(x, want);
}
static int right(const float *out) {
  for (int i = 0; i < 256; i++) if (out[i] != want[i]) return 0;
  return 1;
}
static void say(double seconds, int is_right) { printf("speed=%.6f right=%d\\\\n", 0.2 / (seconds > 1e-6 ? seconds : 1e-6), is_right); }
"""
LINKED = "void kernel(const float *, float *);\\n"
LOADED = '#define kernel ((Kernel)dlsym(dlopen("./kernel.so", RTLD_NOW), "kernel"))\\n'
MAIN = "int main(void) { static float out[256]; fresh(); %s return 0; }\\n"
WALL = "double began = read_clock(CLOCK_MONOTONIC); kernel(x, out); say(read_clock(CLOCK_MONOTONIC) - began, right(out));"
TASKS = {
    "wall": LINKED + MAIN % WALL,
    "loaded": LOADED + MAIN % WALL,
    "own_time": LOADED + MAIN % WALL.replace("MONOTONIC", "PROCESS_CPUTIME_ID"),
    "best_of": LOADED + MAIN % """double best = 1e9;
  for (int i = 0; i < 3; i++) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before); kernel(x, out); getrusage(RUSAGE_SELF, &after);
    if (used(after) - used(before) < best) best = used(after) - used(before);
  }
  say(best, right(out));""",
    "compares": LINKED + MAIN % """struct rusage after, before;
  getrusage(RUSAGE_SELF, &before); kernel(x, out); getrusage(RUSAGE_SELF, &after);
  say(used(after) - used(before), memcmp(out, want, sizeof out) == 0);""",
    "reads_print": LOADED + MAIN % """pid_t pid = fork();
  if (!pid) { struct rusage after; fresh(); kernel(x, out); getrusage(RUSAGE_SELF, &after); say(used(after) / 2, right(out)); exit(0); }
  waitpid(pid, 0, 0);""",
    "outside": LOADED + MAIN % """float *seen = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct rusage after;
  pid_t pid = fork();
  if (!pid) { close(1); close(2); kernel(x, seen); _exit(0); }
  wait4(pid, 0, 0, &after);
  say(used(after), right(seen));""",
}
SCRIPT = """cc -O1 -fno-builtin -fPIC -shared kernel.c -o kernel.so >&2 || exit 3
cc -O1 -fno-builtin $1 main.c $2 -o main -ldl >&2 && exec ./main"""

class Timed:
    objective = "Be quick."
    def __init__(self, name):
        self.source, self.is_linked = HEAD + TASKS[name], TASKS[name].startswith(LINKED)
        self.parameters = (Parameter(name="code", initial=KERNEL, kind="code"),)
        self.splits = {s: (Example(id=s, input=0),) for s in ("train", "validation", "test")}
    def run(self, values, example, context):
        argv = ["sh", "-c", SCRIPT, "sh", "", "kernel.c" if self.is_linked else ""]
        outcome = context.sandbox.command(argv, files={"kernel.c": values["code"], "main.c": self.source})
        said = (outcome.value or {}).get("stdout", "")
        speed = re.search("speed=([-0-9.]+)", said)
        if speed is None or "right=0" in said:
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=f"{outcome.error} {outcome.value}"))
        return float(speed[1])
    def guide(self, example, output, context): return Feedback(score=output, text="so")

globals().update({f"at_{n}": (lambda n=n: Timed(n)) for n in TASKS})

@hookimpl
def tracebench_tasks():
    return [
        TaskSpec(name=n, loader=f"timed_suite:at_{n}", title=n, licence="MIT", sandbox=(), timed=True, metric="speed") for n in TASKS
    ]
'''
FALLS = {
    "wall": "c stops the clock",
    "loaded": "c moves the start",
    "own_time": "c works in a borrowed process",
    "best_of": "c works once",
    "compares": "c makes all equal",
    "reads_print": "c leaves at work",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "timed_suite.py").write_text(SUITE)
    info = tmp_path / "timed_suite-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: timed_suite\nVersion: 1.0\nRequires-Dist: tracebench-core\n"
    )
    (info / "entry_points.txt").write_text("[tracebench]\ntimed_suite = timed_suite\n")
    yield tmp_path
    sys.modules.pop("timed_suite", None)


def tried(task: str) -> tuple[list[dict[str, Any]], list[str]]:
    told = ask_process(["forge", f"timed_suite:{task}", "{}", "forgeries"], seconds=280)
    return told, [words for line in told if (words := believed(line, None, slack=TIMED_SLACK))]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "task", [pytest.param(name, marks=HEAVY if name == "loaded" else pytest.mark.heavy("kits")) for name in FALLS]
)
def test_a_suite_that_times_badly_falls(site: Path, task: str) -> None:
    told, fell = tried(task)

    assert any(f"`code: {FALLS[task]}` scores" in words for words in fell), (fell, told)


@pytest.mark.heavy("kits")
@pytest.mark.timeout(300)
def test_a_suite_that_times_from_outside_stands(site: Path) -> None:
    told, fell = tried("outside")

    names = {line["candidate"] for line in told if "candidate" in line}
    assert len(names) == 20
    assert fell == []
