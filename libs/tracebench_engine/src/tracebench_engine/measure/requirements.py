"""Refuse what cannot run on this machine, with the command that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_core.errors import MissingRequirementError, PluginError
from tracebench_core.plugins import unmet_requirement
from tracebench_core.specs import Component, TaskSpec


def refuse_unmet(id_: str, spec: TaskSpec | Component, settings: Mapping[str, Any] | None = None) -> None:
    """Raise when what a spec describes cannot run on this machine."""
    if spec.broken:
        hint = "trace-bench list-trainers --all" if isinstance(spec, Component) else "trace-bench list-tasks --json"
        raise PluginError(f"`{id_}` is broken: {spec.broken}.", hint=hint)
    if missing := unmet_requirement(spec.requires, settings):
        raise MissingRequirementError(f"`{id_}` needs the {missing.kind} `{missing.name}`.", hint=missing.hint)
