"""Ways to write a candidate in Python: what it may import, what it is told, and whether its times mean anything here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from shutil import which
from typing import Literal

from tracebench_core.errors import MissingRequirementError

Kind = Literal["package", "extension"]
"""What is built before a session: a library of the whole module, or what the candidate's source loads by itself."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One way; a candidate runs in a session of the sandbox, in a process that has `modules` loaded."""

    name: str
    title: str
    modules: tuple[str, ...]
    advice: str
    """What the objective says of it."""
    timed: bool = True
    """False where times say nothing: a correct candidate then counts 1."""
    environ: Mapping[str, str] | None = None
    sessions: int = 1
    """Processes, one after the other, in which a candidate is timed: several where its code lies elsewhere in each."""
    ahead: Kind | None = None
    """What is built before a session opens, in the sandbox too; None for nothing."""
    tools: tuple[str, ...] = ()
    """Commands that building needs."""
    besides: tuple[str, ...] = ()
    """Loaded with `modules`: what they would load at work only, with other packages, which a session could not open any more."""

    def missing(self) -> str | None:
        """Return the first module or command that is not installed; imports none."""
        modules = (name for name in self.modules if find_spec(name) is None)
        tools = (name for name in self.tools if find_tool(name) is None)
        return next(chain(modules, tools), None)

    def require(self) -> None:
        """Do nothing where everything is installed.

        Raises:
            MissingRequirementError: with the command that installs the first that is not.
        """
        if name := self.missing():
            kind = "command" if name in self.tools else "package"
            raise MissingRequirementError(f"the backend `{self.name}` needs the {kind} `{name}`", hint=INSTALL[name])


def find_tool(name: str) -> str | None:
    """Return the path of a command, which pip may have put beside this interpreter."""
    return which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


INSTALL = {
    "torch": 'pip install "tracebench-kernelbench[torch]"',
    **dict.fromkeys(("numba", "pycparser"), 'pip install "tracebench-kernelbench[numba]"'),
    "triton": 'pip install "tracebench-kernelbench[triton]"',
    "ninja": 'pip install "tracebench-kernelbench[cpp]"',
    "g++": "sudo apt-get install g++",
}
TORCH = Backend("torch", "PyTorch", ("torch",), "PyTorch's operators may be fused, replaced and reordered.")
TORCH_COMPILE = Backend(
    "torch_compile",
    "PyTorch, compiled",
    ("torch",),
    "The module is exported whole (`torch.export`) and compiled by Inductor beforehand, for these shapes, without graph breaks and without "
    "control flow that depends on values.",
    ahead="package",
    tools=("g++",),
)
CPP = Backend(
    "cpp",
    "C++ called from PyTorch",
    ("torch",),
    "Functions in C++ are compiled by `torch.utils.cpp_extension.load_inline`, whose build does not count.",
    ahead="extension",
    tools=("g++", "ninja"),
)
NUMBA = Backend(
    "numba",
    "Numba",
    ("numba",),
    "Loops are compiled by `numba.njit`; what is compiled on the first calls does not count.",
    sessions=7,
    besides=(f"{__package__}.warm_numba",),
)
TRITON = Backend(
    "triton",
    "Triton (interpreter)",
    ("torch", "triton"),
    "Kernels are written for `triton.jit`. They are interpreted here: only whether they are right is judged, and no time is taken.",
    timed=False,
    environ={"TRITON_INTERPRET": "1"},
)
BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in (TORCH, TORCH_COMPILE, CPP, NUMBA, TRITON)}


def loaded_beforehand(backends: Iterable[Backend]) -> tuple[str, ...]:
    """Return what a session has loaded: NumPy, PyTorch where a backend needs it, and what the backends that are installed load."""
    here = [backend for backend in backends if backend.modules == ("torch",) or backend.missing() is None]
    return tuple(dict.fromkeys(["numpy", *(name for backend in here for name in (*backend.modules, *backend.besides))]))
