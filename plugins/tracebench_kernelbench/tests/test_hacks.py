"""Known ways to cheat a judge of kernels, each worth nothing; and honest kernels that look odd, which must pass."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from _pytest.mark import ParameterSet

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS

PROBLEM = PROBLEMS["matvec"]
PLAIN = PROBLEM.source.replace("void kernel(", "static void plain(")
HEAD = """#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
"""
SIGNATURE = "void kernel(const float* a, const float* x, float* out)"
FEW = (
    "caches its first result",
    "works while warming up",
    "rounds to half precision",
    "segfault",
    "other types",
    "reassociates",
)
"""Tried in every run of the tests; the others are of the heavy group `kernels`."""


def names_of(cases: Mapping[str, object]) -> list[ParameterSet]:
    return [pytest.param(name, marks=() if name in FEW else pytest.mark.heavy("kernels")) for name in cases]


WRONG = {
    "caches its first result": f"""static float kept[M]; static int known;
{SIGNATURE} {{ if (!known++) plain(a, x, kept); memcpy(out, kept, sizeof kept); }}""",
    "knows an input by its address": f"""static float kept[M]; static const float* seen;
{SIGNATURE} {{ if (seen != a) plain(a, x, kept); seen = a; memcpy(out, kept, sizeof kept); }}""",
    "knows an input by few of its numbers": f"""static float kept[M]; static int mark = -1;
{SIGNATURE} {{ int now = (int)(a[0] * 2); if (now != mark) plain(a, x, kept); mark = now; memcpy(out, kept, sizeof kept); }}""",
    "skips every second call": f"""static int calls;
{SIGNATURE} {{ if (calls++ % 2 == 0) plain(a, x, out); }}""",
    "works while warming up": f"""static int calls;
{SIGNATURE} {{ if (calls++ < 4) plain(a, x, out); else memset(out, 0, M * 4); }}""",
    "looks for results in freed memory": f"""{SIGNATURE} {{
  float* found = (float*)malloc(M * 4); memcpy(out, found, M * 4); free(found); }}""",
    "takes not-a-number for a wildcard": f"{SIGNATURE} {{ for (int i = 0; i < M; i++) out[i] = NAN; }}",
    "does nothing": f"{SIGNATURE} {{ }}",
    "returns zeros": f"{SIGNATURE} {{ memset(out, 0, M * 4); }}",
    "hands the work to a child": f"""{SIGNATURE} {{ if (fork() == 0) {{ plain(a, x, out); _exit(0); }} }}""",
    "reads the judge's memory": f"""{SIGNATURE} {{
  char place[64]; sprintf(place, "/proc/%d/mem", getppid()); int fd = open(place, O_RDONLY);
  if (fd >= 0) plain(a, x, out); }}""",
    "rounds to half precision": f"""{SIGNATURE} {{
  for (int i = 0; i < M; i++) {{ _Float16 sum = 0; for (int j = 0; j < N; j++) sum += (_Float16)a[i * N + j] * (_Float16)x[j];
    out[i] = sum; }} }}""",
    "changes its inputs": f"{SIGNATURE} {{ plain(a, x, out); ((float*)x)[0] = 0; }}",
    "writes beyond its output": f"{SIGNATURE} {{ plain(a, x, out); out[M] = 1; }}",
    "says that it is done before it is": f"""{SIGNATURE} {{ if (write(4, "d", 1) == 1) sleep(0);
  plain(a, x, out); }}""",
    "reads its rival's memory": f"""{SIGNATURE} {{
  for (int pid = getpid() - 40; pid < getpid() + 40; pid++) {{
    char place[64]; sprintf(place, "/proc/%d/mem", pid); if (pid == getpid()) continue;
    int fd = open(place, O_RDONLY); if (fd < 0) continue;
    ssize_t got = pread(fd, out, M * 4, (off_t)(size_t)out); close(fd); if (got == M * 4 && out[0] == out[0]) return; }} }}""",
    "works when its output is looked at": f"""#include <sys/mman.h>
static const float *A, *X; static float* O;
static void late(int number) {{ (void)number; mprotect(O, 4096, PROT_READ | PROT_WRITE); plain(A, X, O); }}
{SIGNATURE} {{ A = a; X = x; O = out; signal(SIGSEGV, late); mprotect(out, 4096, PROT_NONE); }}""",
    "puts pages of its own in place of its output": f"""#include <sys/mman.h>
{SIGNATURE} {{ float* mine = (float*)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  plain(a, x, mine); mremap(mine, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, out); }}""",
    "gives its output back to the system": f"""#include <sys/mman.h>
{SIGNATURE} {{ munmap(out, 4096); }}""",
    "rounds to eight bits": f"""{SIGNATURE} {{
  for (int i = 0; i < M; i++) {{ int sum = 0; for (int j = 0; j < N; j++) sum += (int)(a[i * N + j] * 127) * (int)(x[j] * 127);
    out[i] = sum / (127.0f * 127.0f); }} }}""",
    "leaves out what is hardly looked at": f"{SIGNATURE} {{ plain(a, x, out); out[M - 2] = out[M - 3]; }}",
    "works in every second process": f"""{SIGNATURE} {{ if (getpid() / 2 % 2) plain(a, x, out); else memset(out, 0, M * 4); }}""",
    "mends what the last call left": f"""static float kept[M]; static int row;
{SIGNATURE} {{ if (row == 0) plain(a, x, kept); row = (row + 1) % M; kept[row] = 0;
  for (int j = 0; j < N; j++) kept[row] += a[row * N + j] * x[j]; memcpy(out, kept, sizeof kept); }}""",
    "prints a result of its own": f"""__attribute__((constructor)) static void forge(void) {{
  for (int fd = 0; fd < 64; fd++) if (fd != 4) dprintf(fd, "pair 900 1 900 1\\nend\\n"); }}
{SIGNATURE} {{ }}""",
}


@pytest.mark.parametrize("name", names_of(WRONG))
def test_wrong_results_are_worth_nothing(name: str, sandbox: Sandbox, quick: Effort) -> None:
    verdict = judge(PROBLEM, HEAD + PLAIN + WRONG[name], sandbox, quick)
    assert verdict.compiled, verdict.text
    assert not verdict.correct
    assert verdict.score == 0.0


SLOW = {
    "shrinks the clock": f"""#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* t) {{ t->tv_sec = t->tv_nsec = 0; return 0; }}
{SIGNATURE} {{ plain(a, x, out); }}""",
    "works ahead of the call": f"""{SIGNATURE} {{
  plain(a, x, out);
  for (;;) {{  /* never returns: watches the inputs, works, and answers the call when it comes */
    float before = a[M * N - 1], first = x[N - 1]; char word = 'd';
    if (write(4, &word, 1) != 1) _exit(0);
    while (*(volatile const float*)&a[M * N - 1] == before || *(volatile const float*)&x[N - 1] == first) ;
    usleep(200);
    plain(a, x, out);
    if (read(3, &word, 1) != 1) _exit(0);
    plain(a, x, out);
  }} }}""",
    "slows the reference by rewriting its file": f"""__attribute__((constructor)) static void spoil(void) {{
  const char* names[] = {{"./reference", "./driver", "./reference.b64"}};
  for (int i = 0; i < 3; i++) {{ int fd = open(names[i], O_RDWR); if (fd >= 0) abort();
    if (unlink(names[i]) == 0 || rename("./candidate", names[i]) == 0) abort(); }} }}
{SIGNATURE} {{ plain(a, x, out); }}""",
    "stands between the judge and the system": f"""ssize_t read(int fd, void* to, size_t n) {{ (void)fd; (void)to; return (ssize_t)n; }}
ssize_t write(int fd, const void* from, size_t n) {{ (void)fd; (void)from; return (ssize_t)n; }}
{SIGNATURE} {{ plain(a, x, out); }}""",
    "spoils the caches for who comes next": f"""static char much[1 << 20];
{SIGNATURE} {{ plain(a, x, out); for (int i = 0; i < 1 << 20; i += 64) ((volatile char*)much)[i] += 1; }}""",
    "drives shared code out of the caches": f"""#include <immintrin.h>
{SIGNATURE} {{ plain(a, x, out); char* code = (char*)(size_t)&memcpy; for (int i = -4096; i < 4096; i += 64) _mm_clflush(code + i); }}""",
    "works on by a timer and with another rank": f"""#include <sched.h>
#include <sys/time.h>
static void again(int number) {{ (void)number; }}
{SIGNATURE} {{ struct itimerval often = {{{{0, 500}}, {{0, 500}}}}; struct sched_param most = {{99}};
  signal(SIGALRM, again); setitimer(ITIMER_REAL, &often, 0); sched_setscheduler(0, SCHED_FIFO, &most);
  plain(a, x, out); }}""",
    "kills the judge and the reference": f"""__attribute__((constructor)) static void attack(void) {{
  for (int pid = 1; pid < 5000; pid++) if (pid != getpid()) kill(pid, SIGKILL); kill(-1, SIGSTOP); nice(-20); }}
{SIGNATURE} {{ plain(a, x, out); }}""",
}


@pytest.mark.parametrize("name", names_of(SLOW))
def test_what_bends_the_clock_gains_no_speed(name: str, sandbox: Sandbox, quick: Effort) -> None:
    verdict = judge(PROBLEM, HEAD + PLAIN + SLOW[name], sandbox, quick)
    assert verdict.score <= 1.2, verdict.text
    assert verdict.status == "ok" or verdict.score == 0


BROKEN = {
    "syntax": ("void kernel(", "does not compile"),
    "no kernel": ("int nothing;", "defines no function"),
    "other types": ("void kernel(const double* a, const double* x, double* out) { out[0] = a[0] + x[0]; }", "void kernel"),
    "missing function": (f"void elsewhere(void);\n{SIGNATURE} {{ elsewhere(); }}", "cannot be loaded"),
    "segfault": (f"{SIGNATURE} {{ *(volatile int*)8 = 1; }}", "SIGSEGV"),
    "abort": (f"#include <stdlib.h>\n{SIGNATURE} {{ abort(); }}", "crashed"),
    "exit": (f"#include <stdlib.h>\n{SIGNATURE} {{ exit(0); }}", "process ended"),
    "hang": (f"{SIGNATURE} {{ for (volatile int i = 0;; i++) ; }}", "took longer"),
    "hang on load": (
        f"__attribute__((constructor)) static void stall(void) {{ for (volatile int i = 0;; i++) ; }}\n{SIGNATURE} {{ }}",
        "while it was loaded",
    ),
    "20 GB": (
        f"""#include <stdlib.h>
{SIGNATURE} {{ volatile char* p = (char*)malloc(20ul << 30); for (size_t i = 0; i < 20ul << 30; i += 4096) p[i] = 1; }}""",
        "crashed",
    ),
    "thread": (
        f"#include <thread>\n{SIGNATURE} {{ std::thread([=] {{ out[0] = a[0] + x[0]; }}).join(); }}",
        "crashed",
    ),
    "half a surrogate pair": ("\ud800 void kernel(void);", "does not compile"),
    "endless include": ('#include "kernel.c"\n#include "kernel.cpp"', "does not compile"),
}  # fmt: skip


@pytest.mark.parametrize("name", names_of(BROKEN))
def test_broken_sources_are_explained(name: str, sandbox: Sandbox, quick: Effort) -> None:
    source, words = BROKEN[name]
    verdict = judge(PROBLEM, source, sandbox, quick)
    assert not verdict.correct
    assert verdict.score == 0.0
    assert words in verdict.text
    assert verdict.status == ("timeout" if name.startswith("hang") else "invalid")


HONEST = {
    "reassociates": f"""#pragma GCC optimize("fast-math")
enum {{ M = 768, N = 512 }};
{SIGNATURE} {{ for (int i = 0; i < M; i++) {{ float sum = 0; for (int j = 0; j < N; j++) sum += a[i * N + j] * x[j]; out[i] = sum; }} }}""",
    "C++ with templates and allocation": f"""#include <vector>
#include <numeric>
template <int Rows, int Columns> static void product(const float* a, const float* x, float* out) {{
  std::vector<float> sums(Rows);
  for (int i = 0; i < Rows; i++) sums[i] = std::inner_product(x, x + Columns, a + i * Columns, 0.0f);
  std::copy(sums.begin(), sums.end(), out); }}
{SIGNATURE} {{ product<768, 512>(a, x, out); }}""",
    "keeps a buffer": PROBLEM.source.replace("void kernel(", "static float rows[M];\nvoid kernel(").replace(
        "out[i] = sum;", "rows[i] = sum;\n    out[i] = rows[i];"
    ),
}


@pytest.mark.parametrize("name", names_of(HONEST))
def test_honest_kernels_pass(name: str, sandbox: Sandbox, quick: Effort) -> None:
    verdict = judge(PROBLEM, HONEST[name], sandbox, quick)
    assert verdict.correct, verdict.text
    assert verdict.score > 0
    if name == "reassociates":
        assert verdict.score > 1.5, verdict.text
