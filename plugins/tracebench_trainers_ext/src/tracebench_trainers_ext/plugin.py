"""The plugin's hooks: specs only."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.registry import Registry
from tracebench_core.specs import PythonSpec, StubFormatSpec, TrainerSpec
from tracebench_trainers_ext.agents import AGENTS
from tracebench_trainers_ext.libraries import PYTHONS
from tracebench_trainers_ext.specs import TRAINER_SPECS


@hookimpl
def tracebench_trainers() -> tuple[TrainerSpec, ...]:
    """Offer other libraries' optimizers."""
    return TRAINER_SPECS


@hookimpl
def tracebench_register(registry: Registry) -> None:
    """Offer coding agents."""
    registry.add(*AGENTS)


@hookimpl
def tracebench_stub_formats() -> list[StubFormatSpec]:
    """Teach models that are scripts the libraries' prompts for a new value."""
    names = ("textgrad", "gepa", "dspy", "adalflow", "evolved")
    return [StubFormatSpec(name=f"ext-{n}", loader=f"tracebench_trainers_ext.stub_formats:{n}") for n in names]


@hookimpl
def tracebench_pythons() -> tuple[PythonSpec, ...]:
    """Offer interpreters for the libraries: one for those that agree, one for each that does not."""
    return PYTHONS
