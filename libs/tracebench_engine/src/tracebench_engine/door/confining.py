"""How the programs of one job are to be held, from what its run says; how each is held goes to the job's log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracebench_core.errors import RunDirError
from tracebench_core.specs import Cage, JobOrder, ProgramsConfig
from tracebench_engine.door.control_registry import control_folder
from tracebench_runs.journal.keys import state_folder


@dataclass(frozen=True, slots=True)
class JobConfinement:
    """The engine's `Confinement`; see the contract."""

    told: Callable[[str, Cage], None]
    require: Literal["auto", "strong", "process"] = "auto"
    limits: ProgramsConfig = field(default_factory=ProgramsConfig)
    runs: tuple[Path, ...] = ()
    """The folders that hold runs, salts among them."""

    @property
    def processes(self) -> int | None:
        """Most processes and threads of one program."""
        return self.limits.processes

    @property
    def memory_mb(self) -> int | None:
        """Most megabytes of one program."""
        return self.limits.memory_mb

    @property
    def hidden(self) -> tuple[Path, ...]:
        """Where runs lie, where the keys of their journals do, and where those under way can be told things."""
        try:
            return (*self.runs, state_folder(), control_folder())
        except RunDirError:  # then no run can be told anything
            return (*self.runs, state_folder())


def confinement_of(order: JobOrder, told: Callable[[str, Cage], None]) -> JobConfinement:
    """Return how an order's programs are to be held."""
    config = order.sandbox
    return JobConfinement(told, config.require, config.programs, (Path(order.run_dir).resolve().parent,))
