"""Coding agents that were installed, each in an environment of its own: where they are, and what was installed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins.interpreters import READY, data_folder
from tracebench_core.specs import AgentSpec

VARIABLE = "TRACEBENCH_AGENTS"


def agents_folder() -> Path:
    """Return the folder of the installed agents: `$TRACEBENCH_AGENTS`, else one in the user's data folder."""
    return data_folder(VARIABLE, "agents")


def find_agent(spec: AgentSpec) -> Path:
    """Return where an agent's program is: in its own environment, or on `PATH` where nothing installs it.

    Raises:
        MissingRequirementError: when it is not there.
    """
    if not spec.is_installable:
        found = shutil.which(spec.program)
        if found is None:
            raise MissingRequirementError(
                f"The agent `{spec.name}` is not here: there is no `{spec.program}` on PATH. {spec.by_hand}",
                hint="trace-bench agents list",
            )
        return Path(found)
    home = agents_folder() / spec.name
    place = home / "bin" / spec.program
    if not (os.path.isfile(home / READY) and os.access(place, os.X_OK)):  # noqa: PTH113 - a path too long is none
        raise MissingRequirementError(
            f"The agent `{spec.name}` is not installed.", hint=f"trace-bench agents install {spec.name}"
        )
    return place


def agent_version(spec: AgentSpec) -> str:
    """Return which version was installed; nothing where that is not known."""
    try:
        found = json.loads((agents_folder() / spec.name / READY).read_text()).get("version", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""
