"""The code that runs inside of sessions: around a candidate, around a problem's own module, and around a plain kernel in C.

None of it is trusted where a candidate lives: whatever a candidate does to it changes that candidate's outputs, which are checked, and its
processor time, which the operating system counts.
"""

from __future__ import annotations

from collections.abc import Mapping

_OUTPUTS = """
def _judge_outputs(value):
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in _judge_outputs(part)]
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    raise TypeError(f"the output is a {type(value).__name__}, and no tensor")

def _judge_inputs(values):
    return [torch.from_numpy(value) if isinstance(value, np.ndarray) else value for value in values]
"""
_TORCH = f"""
import numpy as np
import torch
torch.set_num_threads(1)
{_OUTPUTS}
_judge_model = None

def _judge_build(seed, init, name):
    global _judge_model
    torch.manual_seed(seed)
    with torch.no_grad():
        _judge_model = globals()[name](*_judge_inputs(init))

def _judge_work(*inputs):
    with torch.no_grad():
        return _judge_outputs(_judge_model(*_judge_inputs(inputs)))
"""
_PACKAGE = f"""
import os
import numpy as np
import torch
torch.set_num_threads(1)
{_OUTPUTS}
_judge_package = None

def _judge_load(binary):
    global _judge_package
    with open("built.so", "wb") as file:
        file.write(binary)
    _judge_package = torch._C._aoti.AOTIModelContainerRunnerCpu(os.path.abspath("built.so"), 1)

def _judge_work(*inputs):
    with torch.no_grad():
        return _judge_outputs(_judge_package.run([v for v in _judge_inputs(inputs) if isinstance(v, torch.Tensor)]))
"""
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
import time

def _judge_init(seed):
    torch.manual_seed(seed)
    return [value.numpy() if isinstance(value, torch.Tensor) else value for value in get_init_inputs()]

def _judge_draw(seed):
    torch.manual_seed(seed)
    return [value.numpy() if isinstance(value, torch.Tensor) else value for value in get_inputs()]

def _judge_reference(*inputs):
    began = time.process_time()
    outputs = _judge_work(*inputs)
    return outputs, time.process_time() - began
"""
KERNEL = """
import numpy as np

def _judge_work(*inputs):
    out = np.full(_SHAPE, _EMPTY, dtype=_DTYPE)
    kernel(*inputs, out)
    return [out]
"""
_LIBRARY = """
import ctypes
import time
import numpy as np

def _judge_load(binary):
    global _judge_kernel
    with open("reference.so", "wb") as file:
        file.write(binary)
    _judge_kernel = ctypes.CDLL("./reference.so").kernel
    _judge_kernel.restype = None

def _judge_reference(*inputs):
    began = time.process_time()
    out = np.full(_SHAPE, _EMPTY, dtype=_DTYPE)
    _judge_kernel(*[ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out)])
    return [out], time.process_time() - began
"""


def around_module(environ: Mapping[str, str] | None) -> str:
    """Return what surrounds a candidate's `ModelNew`."""
    setting = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in (environ or {}).items())
    return f"import os\n{setting}{_TORCH}" if setting else _TORCH


def of_package() -> str:
    """Return the program of the session that runs a candidate which was compiled whole."""
    return _PACKAGE


def of_extension() -> str:
    """Return the program of the session in which a candidate's source finds its libraries, built beforehand."""
    return _TORCH + _EXTENSION


def of_problem(code: str) -> str:
    """Return the program of the session that draws inputs and runs a problem's own `Model`."""
    return f"{_TORCH}\n{code}\n{_SOURCE}"


def around_kernel(shape: tuple[int, ...], dtype: str) -> str:
    """Return what surrounds a candidate's `kernel(*inputs, out)`."""
    return _sizes(shape, dtype) + KERNEL


def of_library(shape: tuple[int, ...], dtype: str) -> str:
    """Return the program of the session that runs the plain kernel, built from C."""
    return _sizes(shape, dtype) + _LIBRARY


def _sizes(shape: tuple[int, ...], dtype: str) -> str:
    empty = "float('nan')" if dtype == "float32" else "-1"
    return f"_SHAPE, _DTYPE, _EMPTY = {shape!r}, {dtype!r}, {empty}\n"
