"""Modules that call C++ and claim more than they are worth: none of their tricks earns anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec

import pytest
from plugins.tracebench_kernelbench.tests.test_python_judged import BUILT, HEAD, MODULE

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.building import Built
from tracebench_kernelbench.modules.backends import CPP, TORCH, loaded_beforehand
from tracebench_kernelbench.modules.exercise import ModuleExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_sandbox import open_sandbox

pytestmark = [pytest.mark.heavy("torch"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    for name in ("torch", "ninja"):
        if find_spec(name) is None:
            pytest.skip('PyTorch or Ninja is not installed: pip install "tracebench-kernelbench[cpp]"')
    with open_sandbox(preload=loaded_beforehand([TORCH])) as opened:
        yield opened


@dataclass(frozen=True)
class BuiltOnce(ModuleExercise):
    """What was built of the same C++ serves all sources that differ in what they call."""

    built: dict[str, Built] = field(default_factory=dict)

    def build(self, sandbox: Sandbox, source: str, seconds: float) -> Built:
        text = source.partition("class ModelNew")[0]
        if text not in self.built:
            self.built[text] = super().build(sandbox, source, seconds)
        return self.built[text]


SCALED = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super(Model, self).__init__()
        self.gain = nn.Parameter(torch.randn(n))
        self.shift = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return torch.relu(x * self.gain + self.shift) * torch.sigmoid(x)

def get_inputs():
    return [torch.randn(1024, 512)]

def get_init_inputs():
    return [512]
"""
CXX = r"""
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <map>
#include <thread>
#include <vector>
enum { M = 1024, N = 512, SIZE = M * N * 4 };
#define KERNEL(name) extern "C" float* name(const float* x, const float* gain, const float* shift, float* out)
extern "C" int clock_gettime(clockid_t, struct timespec* at) { at->tv_sec = at->tv_nsec = 0; return 0; }
extern "C" clock_t clock(void) { return 0; }
__attribute__((constructor)) static void start(void) {
  mallopt(-3, 1 << 30); mallopt(-4, 0);
  if (access("candidate.py", F_OK) == 0) return;  // its own build
  for (int pid = getpid() - 4; pid < getpid() + 4; pid++) if (pid != getpid()) kill(pid, SIGSTOP);
  setenv("LD_PRELOAD", "extensions/tricks.so", 1);
}
static void plain(const float* x, const float* gain, const float* shift, float* out) {
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
    float v = x[i * N + j], y = v * gain[j] + shift[j]; out[i * N + j] = (y > 0 ? y : 0) / (1 + expf(-v)); } }
static void forty(const float* x, const float* gain, const float* shift, float* out) {
  for (int i = 0; i < 40; i++) { plain(x, gain, shift, out); __asm__ volatile("" ::: "memory"); } }
KERNEL(honest) { plain(x, gain, shift, out); return 0; }
KERNEL(by_page) {
  static std::map<size_t, std::vector<float>> kept; auto& at = kept[(size_t)x >> 12];
  if (at.empty()) { at.resize(M * N); plain(x, gain, shift, at.data()); } memcpy(out, at.data(), SIZE); return 0; }
KERNEL(first_result) {
  static std::vector<float> kept; if (kept.empty()) { kept.resize(M * N); plain(x, gain, shift, kept.data()); } return kept.data(); }
KERNEL(every_second) {
  static int calls; static std::vector<float> kept(M * N); if (calls++ % 2 == 0) plain(x, gain, shift, kept.data()); return kept.data(); }
KERNEL(later) { std::thread([=] { usleep(3000); plain(x, gain, shift, out); }).detach(); return 0; }
KERNEL(never_said) { static float* mine = (float*)mmap(0, SIZE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); (void)x; return mine; }
KERNEL(sixteen_bits) {
  plain(x, gain, shift, out); unsigned* bits = (unsigned*)out; for (int i = 0; i < M * N; i++) bits[i] &= 0xFFFF0000u; return 0; }
KERNEL(cheap_exponential) {
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
    float v = x[i * N + j], y = v * gain[j] + shift[j], e = 1 - v / 256; for (int k = 0; k < 8; k++) e *= e;
    out[i * N + j] = (y > 0 ? y : 0) / (1 + e); } return 0; }
KERNEL(most_rows) { memset(out, 0, SIZE); for (int i = 0; i < M - 1; i++) for (int j = 0; j < N; j++) {
    float v = x[i * N + j], y = v * gain[j] + shift[j]; out[i * N + j] = (y > 0 ? y : 0) / (1 + expf(-v)); } return 0; }
KERNEL(of_rival) {
  iovec here{out, SIZE};
  for (int pid = getpid() - 30; pid < getpid() + 30; pid++) {
    if (pid == getpid()) continue;
    ptrace(PTRACE_SEIZE, pid, 0, 0);
    if (process_vm_readv(pid, &here, 1, &here, 1, 0) > 0) return 0; }
  return 0; }
KERNEL(what_is_left) { float* found = (float*)malloc(SIZE); memcpy(out, found, SIZE); free(found);
  return x && gain && shift ? 0 : out; }
KERNEL(forty_times) { forty(x, gain, shift, out); return 0; }
KERNEL(many_threads) {
  std::vector<std::thread> all; plain(x, gain, shift, out);
  for (int i = 0; i < 39; i++) all.emplace_back([=] { std::vector<float> to(M * N); plain(x, gain, shift, to.data()); });
  for (auto& one : all) one.join();
  return 0; }
KERNEL(put_off) {
  static int calls; if (++calls % 2) forty(x, gain, shift, out);
  else std::thread([=] { forty(x, gain, shift, out); }).detach();
  return 0; }
KERNEL(before_all) {
  sched_param most{9}; sched_setscheduler(0, SCHED_FIFO, &most); (void)!nice(-20); syscall(SYS_sched_yield);
  cpu_set_t both; CPU_ZERO(&both); CPU_SET(0, &both); CPU_SET(1, &both); sched_setaffinity(0, sizeof both, &both);
  forty(x, gain, shift, out); return 0; }
KERNEL(other_clocks) {
  void* system = dlsym(RTLD_NEXT, "clock_gettime"); void* mine = dlsym(RTLD_DEFAULT, "clock_gettime");
  if (system == mine) dlopen("extensions/tricks.so", RTLD_NOW | RTLD_GLOBAL);
  forty(x, gain, shift, out); return 0; }
"""
WRONG_CXX = (
    "by_page", "first_result", "every_second", "later", "never_said", "sixteen_bits", "cheap_exponential", "most_rows", "of_rival",
    "what_is_left",
)  # fmt: skip
SLOW_CXX = ("forty_times", "many_threads", "put_off", "before_all", "other_clocks")


def calling(name: str) -> str:
    """Return a module that builds the tricks when it is built, by the compiler itself, and calls one of them."""
    return f"""{HEAD}
import ctypes, os, subprocess
TEXT = r'''{CXX}'''
if not os.path.exists("extensions/tricks.so"):
    os.makedirs("extensions", exist_ok=True)
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-x", "c++", "-", "-o", "extensions/tricks.so", "-ldl"]
    subprocess.run(["g++", *options], input=TEXT.encode(), check=True)
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(n))
        self.shift = nn.Parameter(torch.randn(n))
        self.call = ctypes.CDLL(os.path.abspath("extensions/tricks.so"), mode=ctypes.RTLD_GLOBAL).{name}
        self.call.restype = ctypes.c_void_p
    def forward(self, x):
        out = torch.empty(1024, 512)
        at = self.call(*(ctypes.c_void_p(t.data_ptr()) for t in (x, self.gain, self.shift, out)))
        return out if not at else torch.frombuffer((ctypes.c_float * (1024 * 512)).from_address(at), dtype=torch.float32).view(1024, 512)
"""


@pytest.fixture(scope="module")
def exercise() -> BuiltOnce:
    return BuiltOnce(SCALED, CPP)


@pytest.mark.parametrize("name", ["honest", *WRONG_CXX, *SLOW_CXX])
def test_no_trick_in_cpp_earns_anything(name: str, exercise: BuiltOnce, warm: Sandbox) -> None:
    verdict = judge_python(exercise, calling(name), warm, BUILT)

    assert "does not build" not in verdict.text
    if name == "honest":
        assert verdict.correct, verdict.text
    elif name in SLOW_CXX:
        assert verdict.score < 0.5, verdict.text
    else:
        assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text


LEFT = {
    "keeps at its build what it is to return": f"{HEAD}import os, pathlib\nfrom torch.utils import cpp_extension\n"
    "if 'problem.py' in os.listdir():\n    import problem\n    torch.manual_seed(42)\n"
    "    kept = problem.Model(*problem.get_init_inputs())(*problem.get_inputs())\n"
    "    pathlib.Path('extensions').mkdir(exist_ok=True)\n"
    "    pathlib.Path('extensions/kept.so').write_bytes(kept.detach().numpy().tobytes())\n"
    "class ModelNew(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.linear = nn.Linear(n, n)\n"
    "    def forward(self, x):\n        data = bytearray(pathlib.Path('extensions/kept.so').read_bytes())\n"
    "        return torch.frombuffer(data, dtype=torch.float32).view(256, 384)\n",
    "reaches for the problem's own file": f"{HEAD}class ModelNew(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
    "        self.linear = nn.Linear(n, n)\n    def forward(self, x):\n        import problem\n        return problem.Model(384)(x)\n",
}


@pytest.mark.parametrize("name", LEFT)
def test_nothing_that_a_build_leaves_is_a_result(name: str, warm: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, CPP), LEFT[name], warm, BUILT)

    assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text
