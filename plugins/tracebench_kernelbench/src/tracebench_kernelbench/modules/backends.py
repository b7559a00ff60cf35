"""Ways to write a candidate in Python: what it may import, what it is told, and whether its times mean anything here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from tracebench_core.errors import MissingRequirementError


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

    def missing(self) -> str | None:
        """Return the first module that is not installed; imports none."""
        return next((name for name in self.modules if find_spec(name) is None), None)

    def require(self) -> None:
        """Do nothing where every module is installed.

        Raises:
            MissingRequirementError: with the command that installs the first that is not.
        """
        if name := self.missing():
            raise MissingRequirementError(
                f"the backend `{self.name}` needs the package `{name}`", hint=f'pip install "{INSTALL[name]}"'
            )


INSTALL = {
    "torch": "tracebench-kernelbench[torch]",
    "numba": "tracebench-kernelbench[numba]",
    "triton": "tracebench-kernelbench[triton]",
}
TORCH = Backend("torch", "PyTorch", ("torch",), "PyTorch's operators may be fused, replaced and reordered.")
NUMBA = Backend(
    "numba",
    "Numba",
    ("numba",),
    "Loops are compiled by `numba.njit`; what is compiled on the first calls does not count.",
)
TRITON = Backend(
    "triton",
    "Triton (interpreter)",
    ("torch", "triton"),
    "Kernels are written for `triton.jit`. They are interpreted here: only whether they are right is judged, and no time is taken.",
    timed=False,
    environ={"TRITON_INTERPRET": "1"},
)
BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in (TORCH, NUMBA, TRITON)}
