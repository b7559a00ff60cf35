"""The family's tasks as data."""

from __future__ import annotations

from tracebench_core.specs import TaskSpec

SPECS: tuple[TaskSpec, ...] = ()
