"""The code that runs inside of sessions: around a candidate, around a problem's own module, and around a plain kernel in C.

None of it is trusted where a candidate lives: whatever a candidate does to it changes that candidate's outputs, which are checked, and its
processor time, which the operating system counts. The memory that is shared with the judge (`memory`) is descriptor 4.

Every process has the same allocator, which keeps what is freed: no candidate gains by setting its own. Around modules its heap goes on in
the shared memory, so that a tensor is where the judge can read it as soon as it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracebench_kernelbench.modules.memory import ARENA, HUGE, IDLE, INPUTS, PLACE, PLACES, SAID, SPARE, TOLD
from tracebench_kernelbench.problem import Problem

_ALLOCATOR = """
import ctypes, mmap, os
_judge_libc = ctypes.CDLL(None)
_judge_libc.mallopt(-4, 0)  # M_MMAP_MAX: no block is the system's own
_judge_libc.mallopt(-1, -1)  # M_TRIM_THRESHOLD: nothing that is freed goes back to it
"""
_HEAP = f"""
{_ALLOCATOR}
import resource
def _judge_share_heap(begin, size):
    libc, page = _judge_libc, {HUGE}
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    block = libc.malloc(size + 2 * page)
    first = -(-(block + 64) // page) * page  # where its memory may have huge pages
    fixed = 0x10  # MAP_FIXED
    if libc.mmap(first, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | fixed, 4, begin) != first:
        raise MemoryError("the heap cannot be shared")
    libc.free(block)  # it is at the end of the heap, so the next that is made begins in it
    while libc.malloc(1 << 16) < first:  # what is free before it is not used for anything large
        pass
    return first

_judge_memory = mmap.mmap(4, {ARENA})
_judge_low = ctypes.addressof(ctypes.c_char.from_buffer(_judge_memory))
_judge_size = os.fstat(4).st_size - {ARENA}
_judge_heap = _judge_share_heap({ARENA}, _judge_size)

def _judge_settle():
    libc, page = _judge_libc, {HUGE}
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_long]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    places = range(_judge_heap, libc.sbrk(0) - page + 1, page)
    whole = {{at for at in places if libc.madvise(at, page, 25) == 0}}  # MADV_COLLAPSE; of what was never used there is nothing
    left = 0
    for held in _judge_weights():
        begin, end = held.data_ptr(), held.data_ptr() + held.numel() * held.element_size()
        pages = [at for at in range(begin // page * page, end, page) if at not in whole]
        left += sum(min(end, at + page) - max(begin, at) for at in pages)
    return left, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def _judge_weights():
    return []
"""
_TENSORS = f"""
import json
import torch
torch.set_num_threads(1)
torch.set_grad_enabled(False)
_judge_said, _judge_values, _judge_kept, _judge_told = None, (), [], None

def _judge_inputs():
    global _judge_said, _judge_values
    said = _judge_memory[{SAID + 4}:{SAID + 4} + int.from_bytes(_judge_memory[{SAID}:{SAID + 4}], "little")]
    if said != _judge_said:
        values = json.loads(said)
        _judge_said, _judge_values = said, [v["value"] if type(v) is dict else _judge_tensor(*v) for v in values]
    return [value.detach() if type(value) is torch.Tensor else value for value in _judge_values]

def _judge_tensor(at, dtype, shape):
    dtype, count = getattr(torch, dtype), 1
    for size in shape:
        count *= size
    return torch.frombuffer(_judge_memory, dtype=dtype, count=count, offset=at).view(shape) if count else torch.empty(shape, dtype=dtype)

def _judge_flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _judge_flat(part)]
    raise TypeError(f"the output is a {{type(value).__name__}}, and no tensor")

def _judge_place(tensor):
    at = tensor.data_ptr()
    if 0 <= at - _judge_heap < _judge_size:
        return at - _judge_heap + {ARENA}
    return at - _judge_low if 0 <= at - _judge_low < {ARENA} else None

def _judge_readable(tensor, spare):
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    at = _judge_place(tensor) if tensor.numel() else 0
    if at is None:
        tensor = tensor.clone(memory_format=torch.contiguous_format)
        at = _judge_place(tensor)
    if at is None:
        size = tensor.numel() * tensor.element_size()
        if spare + size > {INPUTS}:
            raise MemoryError("an output lies outside of the shared memory")
        copy = torch.frombuffer(_judge_memory, dtype=tensor.dtype, count=tensor.numel(), offset=spare)
        tensor, at = copy.view(tensor.shape).copy_(tensor), spare
    return tensor, at

def _judge_tell(tensors):
    global _judge_kept, _judge_told
    kept, rows, spare = [], [], {SPARE}
    for tensor in tensors:
        tensor, at = _judge_readable(tensor, spare)
        if at is not None and {SPARE} <= at < {INPUTS}:
            spare = at + -(-tensor.numel() * tensor.element_size() // 64) * 64
        kept.append(tensor)
        rows.append((at, tensor.dtype, tensor.shape, tensor.stride()))
    _judge_kept = kept
    if rows != _judge_told:
        _judge_told = rows
        text = json.dumps([(at, str(dtype)[6:], shape, steps) for at, dtype, shape, steps in rows]).encode()
        _judge_memory[{TOLD}:{TOLD + 4} + len(text)] = len(text).to_bytes(4, "little") + text
"""
_WORK = f"""
def _judge_work():
    global _judge_kept
    if _judge_memory[{IDLE}]:
        _judge_inputs()
        _judge_tell(_judge_kept)
        return
    inputs, _judge_kept = _judge_inputs(), []
    _judge_tell(_judge_flat(_judge_call(inputs)))
"""
_TORCH = f"""
{_HEAP}{_TENSORS}
_judge_model = None

def _judge_build(seed, init, name):
    global _judge_model
    torch.manual_seed(seed)
    _judge_model = globals()[name](*[_judge_given(array, value) for array, value in init])

def _judge_plain(value):
    return (value.numpy(), None) if isinstance(value, torch.Tensor) else (None, value)

def _judge_given(array, value):
    return value if array is None else torch.from_numpy(array)

def _judge_weights():
    return [*_judge_model.parameters(), *_judge_model.buffers()]

def _judge_call(inputs):
    return _judge_model(*inputs)
{_WORK}"""
_PACKAGE = f"""
{_HEAP}{_TENSORS}
import os
_judge_package = None

def _judge_load(binary):
    global _judge_package
    with open("built.so", "wb") as file:
        file.write(binary)
    _judge_package = torch._C._aoti.AOTIModelContainerRunnerCpu(os.path.abspath("built.so"), 1)

def _judge_call(inputs):
    return _judge_package.run([value for value in inputs if isinstance(value, torch.Tensor)])
{_WORK}"""
_EXTENSION = """
import importlib.util, io, sys, types, zipfile
import torch.utils

def _judge_load(binary, source):
    with zipfile.ZipFile(io.BytesIO(binary)) as archive:
        archive.extractall("extensions")
    extension = types.ModuleType("torch.utils.cpp_extension")  # PyTorch's own reads the files of build tools
    extension.load_inline = extension.load = _judge_prebuilt
    sys.modules[extension.__name__] = torch.utils.cpp_extension = extension
    exec(compile(source, "candidate.py", "exec"), globals())

def _judge_prebuilt(name, *_args, **_options):
    spec = importlib.util.spec_from_file_location(name, f"extensions/{name}.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
_SOURCE = """
_judge_whole = []

def _judge_halve(half):
    with torch.no_grad():
        for weights, whole in _judge_whole:
            weights.copy_(whole)
        held = _judge_weights() if half else []
        _judge_whole[:] = [(weights, weights.clone()) for weights in held if weights.dtype == torch.float32]
        for weights, whole in _judge_whole:
            bits = whole.contiguous().view(torch.int32)
            weights.copy_(((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32))

def _judge_init(seed):
    torch.manual_seed(seed)
    return [_judge_plain(value) for value in get_init_inputs()]

def _judge_draw(seed):
    torch.manual_seed(seed)
    drawn = get_inputs()
    _judge_tell([value.contiguous() for value in drawn if isinstance(value, torch.Tensor)])
    return [None if isinstance(value, torch.Tensor) else (value,) for value in drawn]
"""
_ARRAYS = f"""
import numpy as np
_judge_memory = mmap.mmap(4, _judge_size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
_judge_arrays = [
    [
        np.frombuffer(_judge_memory, dtype, count=int(np.prod(shape)), offset=at + place * _judge_step).reshape(shape)
        for at, shape, dtype in _judge_rows
    ]
    for place in range({PLACES})
]
"""
KERNEL = f"""
def _judge_work():
    if not _judge_memory[{IDLE}]:
        kernel(*_judge_arrays[_judge_memory[{PLACE}]])
"""
_LIBRARY = f"""
def _judge_load(binary):
    global _judge_kernel, _judge_pointers
    with open("reference.so", "wb") as file:
        file.write(binary)
    _judge_kernel = ctypes.CDLL("./reference.so").kernel
    _judge_kernel.restype = None
    _judge_pointers = [[ctypes.c_void_p(array.ctypes.data) for array in arrays] for arrays in _judge_arrays]

def _judge_work():
    if not _judge_memory[{IDLE}]:
        _judge_kernel(*_judge_pointers[_judge_memory[{PLACE}]])
"""


def around_module(environ: Mapping[str, str] | None, *, before: str = "") -> str:
    """Return what surrounds a candidate's `ModelNew`; `before` runs before a candidate, as it does before a problem's module."""
    setting = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in (environ or {}).items())
    return f"import os\n{setting}{_TORCH}{before}" if setting else _TORCH + before


def of_package() -> str:
    """Return the program of the session that runs a candidate which was compiled whole."""
    return _PACKAGE


def of_extension(*, before: str = "") -> str:
    """Return the program of the session in which a candidate's source finds its libraries, built beforehand."""
    return _TORCH + before + _EXTENSION


def of_problem(code: str, *, before: str = "") -> str:
    """Return the program of the session that draws inputs and runs a problem's own `Model`."""
    return f"{_TORCH}{before}\n{code}\n{_SOURCE}"


def around_kernel(problem: Problem, begin: Sequence[int], step: int) -> str:
    """Return what surrounds a candidate's `kernel(*inputs, out)`, whose arrays begin there, and `step` bytes farther at each next place."""
    return _laid_out(problem, begin, step) + KERNEL


def of_library(problem: Problem, begin: Sequence[int], step: int) -> str:
    """Return the program of the session that runs the plain kernel, built from C, on arrays that begin there."""
    return _laid_out(problem, begin, step) + _LIBRARY


def _laid_out(problem: Problem, begin: Sequence[int], step: int) -> str:
    rows = [(at, array.shape, array.dtype) for at, array in zip(begin, problem.arrays, strict=True)]
    size = begin[0] + PLACES * step
    return f"{_ALLOCATOR}_judge_rows, _judge_step, _judge_size = {rows!r}, {step}, {size}\n{_ARRAYS}"
