"""What a server is asked to judge: the bodies that clients of KernelBench send, and the order that a worker gets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tracebench_kernelbench.catalog import OWN
from tracebench_kernelbench.level4.prepared import is_name
from tracebench_kernelbench.modules.source import LEVELS, at_cpu_sizes, find_problems
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.settings import SETTINGS

Backend = Literal["torch", "torch_compile", "cpp", "numba", "triton"]
_NAMES = [name for family in OWN.values() for name in family]
_PREFIXES = ("kernelbench:", "own/")
_NUMBA = "numba/"
BUILD_SECONDS = 240.0
"""That building a module may take where its request says nothing: of the 300 that upstream's client gives a job."""


class Order(BaseModel):
    """One candidate, and what it is compared with: a problem of our own in C or Numba, or a module in PyTorch."""

    model_config = ConfigDict(extra="forbid")

    source: str
    problem: str = ""
    """The name of one of our own; empty for a module."""
    reference: str = ""
    """The code of a module `Model`, with its inputs; empty for one of our own."""
    backend: Backend | None = None
    """What the candidate is written with; None: C for a problem of our own."""
    effort: Effort = Effort()
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By their names, configurations of models that the reference wraps."""
    root: str = ""
    """The server's root, below which models are prepared."""


class Submission(BaseModel):
    """The body of `/evaluate`. What else a client sends is not looked at.

    `ref_arch_src` is the module to compare with; without it `level` 1 to 4 and `problem_id` name one below the server's root, and level 0
    or `problem` one of our own.
    """

    model_config = ConfigDict(extra="ignore")

    problem: str | None = None
    problem_id: int | None = None
    sample_id: int = 0
    level: int | None = 0
    custom_cuda: str
    """The source; the name is the API's."""
    ref_arch_src: str = ""
    backend: Backend | None = None
    """None: told from the source, `load_inline`, `triton` or `numba`; else PyTorch."""
    profile: Literal["original", "cpu"] = "original"
    """Sizes of a module below the server's root."""
    timeout: float | None = Field(default=None, gt=0, le=3600)
    effort: Effort | None = None
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """For a module of level 4: by the name that it says, what a model's `config.json` holds; its weights are then made from a seed."""

    @field_validator("models")
    @classmethod
    def _have_types(cls, models: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, config in models.items():
            if not is_name(name):
                raise ValueError(f"`{name[:80]}` is no name of a model")
            if not isinstance(config.get("model_type"), str):
                raise ValueError(f"the configuration of `{name}` says no `model_type`")  # noqa: TRY004 - of a body's text
        return models

    def order(self, *, build_seconds: float = BUILD_SECONDS) -> Order:
        """Return what a worker is to do; building a module may take `build_seconds` where `effort` says nothing.

        Raises:
            ValueError: when there is no such problem.
        """
        if self.ref_arch_src.strip():
            return self._of_module(self.ref_arch_src, build_seconds)
        if self.problem is None and self.level in LEVELS:
            return self._of_module(self._found(int(self.level or 0)), build_seconds)
        name = self.problem or ""
        for prefix in _PREFIXES:
            name = name.removeprefix(prefix)
        if self.problem is None and not self.level and self.problem_id is not None:
            name = _NAMES[self.problem_id] if 0 <= self.problem_id < len(_NAMES) else ""
        backend: Backend | None = "numba" if name.startswith(_NUMBA) or self.backend == "numba" else None
        name = name.removeprefix(_NUMBA)
        if name not in _NAMES:
            raise ValueError(
                f"there is no such problem here: give `ref_arch_src`, or `level` 1 to 4 and `problem_id`, or `problem` (`{_NAMES[0]}`, …), "
                f"or `level` 0 and `problem_id` 0 to {len(_NAMES) - 1}"
            )
        return Order(problem=name, backend=backend, source=self.custom_cuda, effort=self.effort or Effort())

    def _of_module(self, code: str, build_seconds: float) -> Order:
        if "class Model" not in code:
            raise ValueError("`ref_arch_src` defines no `class Model`")
        effort = self.effort or Effort(compile_seconds=build_seconds)
        return Order(
            reference=code,
            backend=self.backend or told_backend(self.custom_cuda),
            source=self.custom_cuda,
            effort=effort,
            models=self.models,
            root="" if SETTINGS.root is None else str(SETTINGS.root),
        )

    def _found(self, level: int) -> str:
        root = SETTINGS.root
        if root is None:
            raise ValueError(
                f"level {level} is not here: send the module as `ref_arch_src`, or start the server with --root (or KERNELBENCH_ROOT)"
            )
        numbered = {p.number: p for p in find_problems(root) if p.level == level}
        if self.problem_id not in numbered:
            raise ValueError(f"the server's root holds no level {level}, problem {self.problem_id}")
        code = numbered[self.problem_id].read()
        if self.profile == "original":
            return code
        try:
            return at_cpu_sizes(level, self.problem_id, code)
        except LookupError as err:
            raise ValueError(str(err.args[0])) from err


def told_backend(source: str) -> Backend:
    """Return what a candidate seems to be written with."""
    marks: tuple[tuple[str, Backend], ...] = (
        ("load_inline", "cpp"),
        ("triton", "triton"),
        ("numba", "numba"),
        ("torch.compile", "torch_compile"),
    )
    return next((backend for mark, backend in marks if mark in source), "torch")


def sent(order: Order) -> dict[str, Any]:
    """Return an order as the body that asks for it."""
    named = f"{_NUMBA}{order.problem}" if order.backend == "numba" else order.problem
    what = {"ref_arch_src": order.reference} if order.reference else {"problem": named}
    chosen: dict[str, Any] = {"backend": order.backend} if order.reference and order.backend else {}
    chosen |= {"models": order.models} if order.models else {}
    return {"custom_cuda": order.source, "effort": order.effort.model_dump(), **what, **chosen}
