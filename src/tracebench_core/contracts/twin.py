"""The library's own program beside a trainer that is built on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Twin:
    """A program that visits without Trace-Bench what a trainer visits with it, when it is answered as the trainer was.

    It is started in an empty folder, and finds the module `recorded` on its path: the job's task and settings, and what was answered.
    """

    program: Path
    python: str
    """Path of the interpreter that holds the library."""
    library: str
    """The distribution's name; its version is told beside the verdict."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the program is told; by default what the job's trainer was."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Further variables of its environment, such as those that turn telemetry off."""
    any_order: str = ""
    """Why candidates may come in another order, in words; empty where they may not."""
