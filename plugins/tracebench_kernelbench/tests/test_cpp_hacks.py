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
    """A compiler takes half a minute for PyTorch's headers: what it made of the same C++ serves all sources that differ in Python."""

    built: dict[str, Built] = field(default_factory=dict)

    def build(self, sandbox: Sandbox, source: str, seconds: float) -> Built:
        text = source.partition("class ModelNew")[0]
        if text not in self.built:
            self.built[text] = super().build(sandbox, source, seconds)
        return self.built[text]


CXX = r"""
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <map>
#include <thread>
using torch::Tensor;
extern "C" int clock_gettime(clockid_t, struct timespec* at) { at->tv_sec = at->tv_nsec = 0; return 0; }
extern "C" clock_t clock(void) { return 0; }
static bool keen = getenv("KEEN") != nullptr;
__attribute__((constructor)) static void start(void) {
  mallopt(-3, 1 << 30); mallopt(-4, 0);
  for (int pid = getpid() - 4; pid < getpid() + 4; pid++) if (pid != getpid()) kill(pid, SIGSTOP);
  void* mine = dlsym(RTLD_DEFAULT, "clock_gettime"); if (mine == nullptr) keen = true;
}
static Tensor plain(Tensor x, Tensor w, Tensor b) { return torch::tanh(torch::addmm(b, x, w.t())); }
static Tensor ten(Tensor x, Tensor w, Tensor b) { Tensor y; for (int i = 0; i < 10; i++) y = plain(x, w, b); return y; }
Tensor honest(Tensor x, Tensor w, Tensor b) { return plain(x, w, b); }
Tensor by_address(Tensor x, Tensor w, Tensor b) {
  static std::map<void*, Tensor> kept; auto& at = kept[x.data_ptr()]; if (!at.defined()) at = plain(x, w, b); return at; }
Tensor first_result(Tensor x, Tensor w, Tensor b) { static Tensor kept = plain(x, w, b); return kept; }
Tensor every_second(Tensor x, Tensor w, Tensor b) {
  static int calls; static Tensor kept; if (calls++ % 2 == 0) kept = plain(x, w, b); return kept; }
Tensor later(Tensor x, Tensor w, Tensor b) {
  Tensor out = torch::zeros({256, 384}); std::thread([=]() mutable { usleep(3000); out.copy_(plain(x, w, b)); }).detach();
  return out; }
Tensor dangling(Tensor x, Tensor w, Tensor b) {
  float* left; { Tensor y = plain(x, w, b); left = y.data_ptr<float>(); }
  (void)plain(x * 0, w, b); return torch::from_blob(left, {256, 384}); }
Tensor when_looked_at(Tensor x, Tensor w, Tensor b) {
  void* at = mmap(nullptr, 256 * 384 * 4, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return torch::from_blob(at, {256, 384}); }
Tensor bits(Tensor x, Tensor w, Tensor b) {
  return plain(x.to(torch::kBFloat16).to(torch::kFloat), w.to(torch::kBFloat16).to(torch::kFloat), b); }
Tensor of_rival(Tensor x, Tensor w, Tensor b) {
  Tensor out = torch::zeros({256, 384}); iovec here{out.data_ptr(), 256 * 384 * 4};
  for (int pid = getpid() - 30; pid < getpid() + 30; pid++) {
    if (pid == getpid()) continue;
    ptrace(PTRACE_SEIZE, pid, nullptr, nullptr);
    if (process_vm_readv(pid, &here, 1, &here, 1, 0) > 0) return out; }
  return out; }
Tensor overlapping(Tensor x, Tensor w, Tensor b) { return plain(x.slice(0, 0, 1), w, b).expand({256, 384}); }
Tensor ten_times(Tensor x, Tensor w, Tensor b) { return ten(x, w, b); }
Tensor many_threads(Tensor x, Tensor w, Tensor b) {
  std::vector<std::thread> all; Tensor y = plain(x, w, b);
  for (int i = 0; i < 9; i++) all.emplace_back([=] { (void)plain(x, w, b); });
  for (auto& one : all) one.join();
  return y; }
Tensor put_off(Tensor x, Tensor w, Tensor b) {
  static int calls; if (++calls % 2) return ten(x, w, b);
  Tensor out = torch::empty({256, 384}); std::thread([=]() mutable { out.copy_(ten(x, w, b)); }).detach();
  return out; }
Tensor alone(Tensor x, Tensor w, Tensor b) {
  static timer_t timer; static bool set = false;
  if (!set) { sigevent how{}; how.sigev_notify = SIGEV_NONE; timer_create(CLOCK_MONOTONIC, &how, &timer); set = true; }
  sched_param most{9}; sched_setscheduler(0, SCHED_FIFO, &most); (void)!nice(-20); syscall(SYS_sched_yield); return ten(x, w, b); }
"""
WRONG_CXX = (
    "by_address", "first_result", "every_second", "later", "dangling", "when_looked_at", "bits", "of_rival", "overlapping",
)  # fmt: skip
SLOW_CXX = ("ten_times", "many_threads", "put_off", "alone")
NAMES = ["honest", *WRONG_CXX, *SLOW_CXX]


def calling(name: str) -> str:
    return f"""
import torch
from torch.utils.cpp_extension import load_inline
built = load_inline(name="tricks", cpp_sources=[r'''{CXX}'''], functions={NAMES!r})
class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
    def forward(self, x):
        return built.{name}(x, self.linear.weight, self.linear.bias)
"""


@pytest.fixture(scope="module")
def exercise() -> BuiltOnce:
    return BuiltOnce(MODULE, CPP)


@pytest.mark.parametrize("name", NAMES)
def test_no_trick_in_cpp_earns_anything(name: str, exercise: BuiltOnce, warm: Sandbox) -> None:
    verdict = judge_python(exercise, calling(name), warm, BUILT)

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
