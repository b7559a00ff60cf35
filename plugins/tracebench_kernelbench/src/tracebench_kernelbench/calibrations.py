"""Kernels of known ratio, and kernels that claim more than they are worth: by them a machine shows that it times rightly.

The same work done two, five and ten times over must be worth a half, a fifth and a tenth of it, and what stops a clock, a rival or the
allocator must be worth nothing. Figures are the ratio before the noise is regarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracebench_core.specs import Calibration, CalibrationKind
from tracebench_kernelbench.modules.loops import loops_of
from tracebench_kernelbench.problem import Array, Problem

PARAMETER = "kernel"
TIMES = (2, 5, 10)
_RAW: dict[str, Any] = {"metric": "speedup_raw", "noise": "noise"}
_RATIO: dict[str, Any] = {**_RAW, "rel_tol": 0.15}
"""Beside the noise of a quiet machine, 3 %, a tenth of the kernel's time may be no work of its own (`modules.stepping`)."""
_STOPPED = """
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* at) { at->tv_sec = at->tv_nsec = 0; return (int)clock & 0; }
clock_t clock(void) { return 0; }
"""
_KILLING = """
#include <signal.h>
#include <unistd.h>
__attribute__((constructor)) static void stop(void) {
  for (int pid = getpid() - 3; pid < getpid() + 3; pid++)
    if (pid != getpid()) kill(pid, SIGSTOP);
}
"""
_MALLOPT = """
#include <malloc.h>
__attribute__((constructor)) static void tune(void) { mallopt(-3, 1 << 30); mallopt(-1, 2147483647); mallopt(-4, 0); }
"""
_MOVING = '__asm__(".text\\n.skip 13, 0x90");\n'
"""Code that is never run, and lies before the kernel: the compiler puts functions in an order of its own."""
_HALF = """
#include <string.h>
static float as_half(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
  memcpy(&x, &bits, sizeof x);
  return x;
}
"""
"""Leaves ten bits after the point, as half precision does, and no more range than there was."""
_REORDERED = '#pragma GCC optimize("Ofast")\n'
"""Sums in any order, by any number of accumulators; products and sums as one operation."""
_IN_C = {"stopped-clock": _STOPPED, "stopped-rival": _KILLING, "mallopt": _MALLOPT}
_IN_PYTHON = {
    "mallopt": "import ctypes\n_c = ctypes.CDLL(None)\n_c.mallopt(-3, 1 << 30), _c.mallopt(-1, 2147483647), _c.mallopt(-2, 1 << 28)\n",
    "stopped-clock": "import time\nfor _n in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time'):\n"
    "    setattr(time, _n, lambda: 0.0), setattr(time, _n + '_ns', lambda: 0)\n",
    "stopped-rival": "import os, signal\nfor _pid in (os.getppid(), os.getpid() - 1, os.getpid() + 1):\n"
    "    try:\n        os.kill(_pid, signal.SIGSTOP)\n    except OSError:\n        pass\n",
    "other-core": "import os\ntry:\n    os.sched_setaffinity(0, range(os.cpu_count()))\nexcept OSError:\n    pass\n",
}
_INTAKE = """
_values, _said = None, None
def _judge_work():
    global _values, _said
    said = _judge_memory[4096:8192]
    if said != _said:
        _values, _said = _judge_inputs(), said
    _judge_tell(_judge_flat(_judge_model(*_values)))
"""
_AGAIN = """
class ModelNew(_Once):
    def forward(self, *inputs):
        y = super().forward(*inputs)
        for _ in range({more}):
            y = super().forward({inputs})
        return y
"""
_AFTER = "\nclass ModelNew(_Once):\n    def forward(self, *inputs):\n        y = super().forward(*inputs)\n        return {}\n"
_BEFORE = """
class ModelNew(_Once):
    def forward(self, *inputs):
        singles = [isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in inputs]
        return super().forward(*[x.half().float() if single else x for x, single in zip(inputs, singles)])
"""
_IN_DOUBLE = """
class ModelNew(_Once):
    def __init__(self, *given):
        super().__init__(*given)
        self.double()

    def forward(self, *inputs):
        y = super().forward(*[x.double() if isinstance(x, torch.Tensor) and x.dtype == torch.float32 else x for x in inputs])
        return y.float() if y.is_floating_point() else y
"""
"""What single precision rounds to, and no kernel in it comes nearer to."""
_KERNEL = """
def kernel({names}):
    {flat} = ({flat_of},)
    for _ in range({times}):
        once({flat})
"""
_PASSES, _MORE_PASSES = 16, 64
"""Times that a short kernel's work is done before multiples are made of it: beside so much it does not matter what a call takes that does
none, that the reference finds its data colder after a long call, nor what the second pass over the same data gains on the first."""
_QUICK = {
    "argmax", "conv1d_dilated", "conv2d", "matmul_batched", "max_pool", "moving_average", "pairwise_distances", "rmsnorm", "scan", "spmv",
}  # fmt: skip
"""Problems whose loops take Numba less than a fifth of a millisecond."""
_LEARNT = {"spmv"}
"""Problems in C whose second pass is less work than the first: the processor has learnt the branches by then."""


def of_c(problem: Problem) -> Iterator[Calibration]:
    """Yield the cases of a problem that is solved in C."""
    plain, passes = problem.source, _PASSES if problem.name in _LEARNT else 1
    yield _case("plain", "known", plain, expected=1.0, **_RATIO)
    yield _case("counts-as-1", "gold", plain, expected=1.0)
    yield _case("moved", "same", _MOVING + plain, other="plain", **_RATIO)
    yield from _multiples(plain, {times: _repeated(problem, times * passes) for times in (1, *TIMES)}, passes)
    for name, source in _IN_C.items():
        yield forged_case(name, plain + source)  # after it, so that the kernel lies where it lay
    yield _right("reordered", _REORDERED + plain)
    if problem.output.kind == "f":
        yield _wrong("half-inputs", _in_half(problem, problem.inputs))
        yield _wrong("half-outputs", _in_half(problem, [problem.output]))
    yield _case("nothing", "refused", problem.signature + " {}\n", words="in call 1")


def _in_half(problem: Problem, arrays: Sequence[Array]) -> str:
    """Return the plain kernel, with numbers of these arrays rounded to half precision before it, or after it where they are its output."""
    rounded = [array for array in arrays if array.kind == "f"]
    own = [array for array in rounded if array is not problem.output]
    kept = "".join(f"static float {array.name}_half[{array.count}]; " for array in own)
    loops = {
        array: f"for (int i = 0; i < {array.count}; i++) {array.name}{'_half' * (array in own)}[i] = as_half({array.name}[i]); "
        for array in rounded
    }
    given = ", ".join(array.name + "_half" * (array in own) for array in problem.arrays)
    before = "".join(loops[array] for array in own)
    after = loops.get(problem.output, "")
    return (
        f"{_HALF}\n#define kernel once\n{problem.source}\n#undef kernel\n"
        f"{problem.signature} {{ {kept}{before}once({given}); {after}}}\n"
    )


def _repeated(problem: Problem, times: int) -> str:
    given = ", ".join(array.name for array in problem.arrays)
    again = f'for (int again = 0; again < {times}; again++) {{ once({given}); __asm__ volatile("" ::: "memory"); }}'
    once = "__attribute__((noipa)) once"  # as it is, and not made one with the loop around it
    return f"#define kernel {once}\n{problem.source}\n#undef kernel\n{problem.signature} {{ {again} }}\n"


def of_module(plain: str, backend: str, *, timed: bool, tells_half: bool = True) -> Iterator[Calibration]:
    """Yield the cases of a problem that is solved by a PyTorch module, from its own one.

    `tells_half` says that its outputs tell half precision from single.
    """
    if timed:
        if backend == "torch_compile":  # a compiler may make more of it
            yield _case("plain", "order", plain, other="times-2", **_RATIO)
        else:
            yield _case("plain", "known", plain, expected=1.0, **_RATIO)
            yield _case("counts-as-1", "gold", plain, expected=1.0)
        yield from _multiples(plain, {times: _more(plain, times, backend) for times in TIMES})
        for name, head in _IN_PYTHON.items():
            yield forged_case(name, head + plain)
        if backend in {"torch", "numba"}:
            yield forged_case("own-intake", plain + _INTAKE)
    else:
        yield _case("plain", "gold", plain, expected=1.0)
    once = once_of(plain)
    yield refused_case("narrower", once + _AFTER.format("y.half() if y.is_floating_point() else y.to(torch.int8)"))
    yield refused_case("not-a-number", once + _AFTER.format("y * float('nan')"))
    if tells_half:
        yield _wrong("half-inputs", once + _BEFORE)
        yield _wrong("half-outputs", once + _AFTER.format("y.half().float() if y.dtype == torch.float32 else y"))
    if backend != "torch_compile":
        yield _right("in-double", once + _IN_DOUBLE)


def _more(plain: str, times: int, backend: str) -> str:
    """Return a module that does its work so often; a compiler must not see that it is the same."""
    once = once_of(plain)
    inputs = "inputs[0] + 1e-30 * y.flatten()[0], *inputs[1:]" if backend == "torch_compile" else "*inputs"
    return once + _AGAIN.format(more=times - 1, inputs=inputs)


def of_numba(problem: Problem) -> Iterator[Calibration]:
    """Yield the cases of a problem that is solved with Numba: the loops of its plain kernel in C, translated."""
    loops, passes = loops_of(problem.source), _MORE_PASSES if problem.name in _QUICK else _PASSES
    plain = loops + _calling(problem, 1)
    yield _case("plain", "order", plain, other="times-2", **_RATIO)
    yield from _multiples(plain, {times: loops + _calling(problem, times * passes) for times in (1, *TIMES)}, passes)
    for name, head in _IN_PYTHON.items():
        yield forged_case(name, head + plain)
    yield _right("reordered", plain.replace("@numba.njit", "@numba.njit(fastmath=True)"))
    names, out = ", ".join(array.name for array in problem.arrays), problem.output.name
    as_half = ".astype(np.float16).astype(F)"
    floats = ", ".join(array.name + as_half * (array.kind == "f") for array in problem.inputs)
    plainly = f"{plain.replace('def kernel(', 'def plainly(')}\n\ndef kernel({names}):\n    plainly("
    if problem.output.kind == "f":
        yield _wrong("half-inputs", f"{plainly}{floats}, {out})\n")
        yield _wrong("half-outputs", f"{plainly}{names})\n    {out}[...] = {out}{as_half}\n")
    yield _case("nothing", "refused", f"def kernel({names}):\n    pass\n", words="in call 1")


def _calling(problem: Problem, times: int) -> str:
    """Return what calls the loops so often: from Python, which no compiler looks through."""
    names = ", ".join(f"a{place}" for place in range(len(problem.arrays)))
    flat = ", ".join(f"a{place}.reshape(-1)" for place in range(len(problem.arrays)))
    return _KERNEL.format(names=names, flat=names, flat_of=flat, times=times)


def _multiples(plain: str, repeated: Mapping[int, str], passes: int = 1) -> Iterator[Calibration]:
    """Yield the plain kernel once more, and multiples of its work: of one pass, or of so many where one is too short to be a measure."""
    yield _case("itself", "same", plain, other="plain", **_RATIO)
    base = "plain"
    if passes > 1:
        base = "times-1"
        yield _case(base, "order", repeated[1], other="times-2", **_RATIO, source=f"{passes} passes")
    for times in TIMES:
        told = f"{times * passes} passes beside {passes}" if passes > 1 else "by construction"
        yield _case(f"times-{times}", "ratio", repeated[times], other=base, factor=1 / times, source=told, **_RATIO)


def forged_case(name: str, source: str) -> Calibration:
    """Return the case of a kernel that must be worth no more than the plain one."""
    return _case(name, "forged", source, other="plain", **_RATIO)


def _right(name: str, source: str) -> Calibration:
    return _case(name, "anchor", source)


def refused_case(name: str, source: str) -> Calibration:
    """Return the case of a kernel that must be worth nothing, whatever is said of it."""
    return _case(name, "refused", source)


def once_of(plain: str) -> str:
    """Return a problem's own module as the base class `_Once`, of which another is made."""
    return plain.replace("class ModelNew(", "class _Once(").replace("super(ModelNew", "super(_Once")


def _wrong(name: str, source: str) -> Calibration:
    return _case(name, "refused", source, words="expected")


def _case(name: str, kind: CalibrationKind, kernel: str, **more: Any) -> Calibration:
    return Calibration(name=name, kind=kind, values={PARAMETER: kernel}, **more)
