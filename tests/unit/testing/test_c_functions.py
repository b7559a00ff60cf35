"""Functions in C that lie about time and work: each builds and does what it says, and suites that believe it fall."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_testing.forgeries.c_functions import forged_c

WORK = """#include <time.h>
static double waited(void) { struct timespec much = {0, 300000000}; return nanosleep(&much, 0); }
void kernel(const float *x, float out[4]) {
  waited();
  for (int i = 0; i < 4; i++) out[i] = 2 * x[i];
}
"""
HARNESS = """#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#ifdef __cplusplus
extern "C"
#endif
void kernel(const float *x, float *out);
static double now(int is_double) {
  static struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return is_double ? at.tv_sec + at.tv_nsec * 1e-9 : 0;
}
int main(void) {
  float x[4] = {1, 2, 3, 4}, out[2][4] = {{0}}, want[4] = {2, 4, 6, 8};
  for (int call = 0; call < 2; call++) {
    double began = now(1);
    kernel(x, out[call]);
    printf("%.6f %d\\n", now(1) - began, memcmp(out[call], want, sizeof want) == 0);
  }
  fprintf(stderr, "%d\\n", out[0][3] == 8);
  return 0;
}
"""


def forged(text: str) -> dict[str, str]:
    return dict(forged_c(text, big="777", metric="speed"))


def ran(text: str, folder: Path, *, language: str = "c") -> tuple[list[list[float]], str, str]:
    """Return what each call took and whether it was right, as the harness believes; what else was printed; whether the first truly was."""
    folder.mkdir()
    (folder / "kernel.c").write_text(text)
    (folder / "main.c").write_text(HARNESS)
    subprocess.run(
        ["cc", "-x", language, "-O1", "-fno-builtin", "main.c", "kernel.c", "-o", "main", "-lm"], cwd=folder, check=True
    )
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    rows = [[float(part) for part in line.split()] for line in lines if line[:1].isdigit() or line[:1] == "-"]
    return rows, done.stdout, done.stderr.strip()


def test_the_honest_function_is_timed(tmp_path: Path) -> None:
    rows, _, right = ran(WORK, tmp_path / "w")

    assert [is_right for _, is_right in rows] == [1, 1]
    assert min(seconds for seconds, _ in rows) >= 0.3
    assert right == "1"


@pytest.mark.parametrize(
    ("what", "times", "believed", "true"),
    [
        ("stops the clock", "none", [1, 1], "1"),
        ("turns the clock back", "negative", [1, 1], "1"),
        ("moves the start", "short", [1, 1], "1"),
        ("works once", "", [1, 0], "1"),
        ("works every second time", "", [1, 0], "1"),
        ("works in a borrowed process", "", [1, 1], "1"),
        ("makes all equal", "", [1, 1], "0"),
        ("leaves at work", "", [], ""),
    ],
)
def test_each_does_what_it_says(what: str, times: str, believed: list[float], true: str, tmp_path: Path) -> None:
    rows, said, right = ran(forged(WORK)[what], tmp_path / "w")

    assert [is_right for _, is_right in rows] == believed
    assert right == true
    assert ("speed=777" in said) == (what == "leaves at work")
    seconds = [took for took, _ in rows]
    if times == "none":
        assert seconds == [0, 0]
    elif times == "negative":
        assert max(seconds) < 0
    elif times == "short":  # without it no less than the sleep
        assert max(seconds) < 0.3


CPP = """#include <vector>
extern "C" {
float total(const float* x, int n) {
  std::vector<float> all(x, x + n);
  float sum = 0;
  for (float each : all) sum += each;
  return sum;
}
}
"""
RETURNING = """#include <stddef.h>
static int helper(int a) { return a + 1; }
const char *name(void) { return "a"; }
const unsigned long *found(unsigned long const *from, size_t n, int (*unused)[3]) { return from + helper((int)n) + (unused != 0); }
const double last(const double from[restrict 3][2], int n) { return from[n][1]; }
"""


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (WORK, ["-x", "c"]),
        pytest.param(WORK, ["-x", "c++"], marks=HEAVY),
        (CPP, ["-x", "c++"]),
        (RETURNING, ["-x", "c"]),
        pytest.param(RETURNING.replace("const double last", "double last_of_all"), ["-x", "c"], marks=HEAVY),
        ("int main(void) {\n  return 0;\n}\n", ["-x", "c"]),
    ],
)
def test_all_of_them_build(text: str, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text("void kernel(const float *, float *);\n" if "-x c++" not in " ".join(flags) else "")
    assert len(forged(text)) == (2 if "main" in text else 8)
    for what, source in forged(text).items():
        command = ["cc", *flags, "-O3", "-fPIC", "-shared", "-include", "h.h", "-", "-o", "built.so"]
        done = subprocess.run(command, input=source, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{what}: {done.stderr}"


def test_what_has_no_function_that_others_call_is_left_alone() -> None:
    assert {*forged("int main(void) {\n  return 0;\n}\n")} == {"stops the clock", "turns the clock back"}
    assert {*forged("static int f(int a) {\n  return a;\n}\n")} == {"stops the clock", "turns the clock back"}
