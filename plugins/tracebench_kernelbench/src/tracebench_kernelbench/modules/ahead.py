"""Builds beforehand what a session of the sandbox cannot: a compiler is a child process, and a session starts none.

The candidate's own Python runs in the sandbox as a command, where compilers may be started. Machine code comes back, and the session whose
time is taken only loads it. What Inductor compiles is a library of the whole module, its weights included; what `load_inline` compiles are
libraries, which the candidate's source finds when it runs a second time, in the session.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.building import Built, build
from tracebench_kernelbench.modules.backends import Kind

_MEMORY_MB = 16_384
"""Of address space, most of which PyTorch's libraries take without using it."""
_MOST_BYTES = 128 << 20
_HEAD = """
import os, sys, traceback
os.environ.update(
    TORCHINDUCTOR_CACHE_DIR=os.path.abspath("cache"), TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_VEC_ISA_OK="1",
    TORCH_EXTENSIONS_DIR=os.path.abspath("extensions"), MAX_JOBS="1", USER="candidate",
    PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
)
import torch
torch.set_num_threads(1)

def make(seed):
    import before, candidate, problem
    torch.manual_seed(seed)
    init = problem.get_init_inputs()
    torch.manual_seed(seed)
    with torch.no_grad():
        return candidate.ModelNew(*init), problem.get_inputs
"""
_PACKAGE = """
def work(seed):
    from torch._inductor import config
    for name, value in {"precompile_headers": False, "compile_wrapper_opt_level": "O0"}.items():
        if hasattr(config.aot_inductor, name):  # what calls the kernels is compiled once and for one package
            setattr(config.aot_inductor, name, value)
    model, draw = make(seed)
    with torch.no_grad():
        exported = torch.export.export(model, tuple(draw()), strict=False)
        torch._inductor.aoti_compile_and_package(exported, package_path=os.path.abspath("built.pt2"))
    import pathlib, zipfile
    with zipfile.ZipFile("built.pt2") as archive:
        (library,) = (name for name in archive.namelist() if name.endswith(".so"))
        pathlib.Path("built").write_bytes(archive.read(library))
"""
_EXTENSION = """
def work(seed):
    import pathlib, zipfile
    make(seed)
    with zipfile.ZipFile("built", "w") as archive:
        for path in pathlib.Path("extensions").rglob("*.so"):
            archive.write(path, path.name)
"""
_TAIL = """
try:
    work({seed})
except BaseException as error:
    sys.exit("".join(traceback.format_exception_only(error))[-2500:])
"""
_PROGRAMS: Mapping[Kind, str] = {"package": _PACKAGE, "extension": _EXTENSION}


def build_ahead(
    sandbox: Sandbox, kind: Kind, source: str, code: str, *, before: str, seed: int, seconds: float
) -> Built:
    """Build a candidate for a problem's code and the shapes of its inputs; `before` runs before both.

    Raises:
        NotMeasured: when the compiler cannot be run.
    """
    files = {
        "candidate.py": source.encode(errors="replace").decode(),
        "before.py": before,
        "problem.py": code,
        "build.py": _HEAD + _PROGRAMS[kind] + _TAIL.format(seed=seed),
    }
    argv = [sys.executable, "-W", "ignore", "build.py"]
    return build(sandbox, argv, files, seconds=seconds, memory_mb=_MEMORY_MB, most_bytes=_MOST_BYTES)
