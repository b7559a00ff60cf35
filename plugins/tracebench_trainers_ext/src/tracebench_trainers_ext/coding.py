"""`Agent`: a coding agent as the optimizer, by a preset or by a command of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import TaskShape
from tracebench_trainers_ext.launch import ForeignTrainer
from tracebench_trainers_ext.settings.agent import AgentSettings

WORKDIR = "agent"
"""Of the job's folder for the adapter, the one in which the agent works; the adapter makes it."""


class CodingAgent(ForeignTrainer):
    """Fills in the agent's command, its environment and its settings, and has the adapter start it."""

    settings: AgentSettings

    def __init__(self, settings: AgentSettings) -> None:
        super().__init__("agent", None, settings)
        self._called = settings.agent or Path(settings.argv[0]).name
        self._shown: tuple[Path, ...] = ()

    @property
    def _name(self) -> str:
        return self._called

    def _prepare(self, problem: Problem, folder: Path) -> dict[str, Any]:
        from tracebench_engine.api.agents import (  # noqa: PLC0415 - in the job's process alone
            filled,
            find_preset,
            known_words,
            start_of,
        )

        settings = self.settings
        workdir, home = folder / WORKDIR, folder / "home"
        known = known_words(problem, workdir=workdir, home=home)
        argv = tuple(filled(word, known) for word in settings.argv)
        environ = {name: filled(value, known) for name, value in settings.env.items()}
        if settings.agent is not None:
            start = start_of(find_preset(settings.agent), problem, workdir=workdir, home=home)
            argv, environ = (*start.argv, *argv), {**start.environ, **environ}
            self._called, self._shown = start.name, start.shown
        return super()._prepare(problem, folder) | {"argv": argv, "env": environ}

    def _held(self) -> dict[str, Any]:
        held = super()._held()
        return held | {"shown": (*held["shown"], *self._shown), "silence": self.settings.silence}


def missing_agent(settings: AgentSettings, _shape: TaskShape) -> list[str]:
    """Return what is to be said where the agent of a config is not here, with the command that installs it."""
    from tracebench_engine.api.agents import find_agent, find_preset  # noqa: PLC0415 - where a config names an agent

    if settings.agent is None:
        return []
    try:
        find_agent(find_preset(settings.agent))
    except MissingRequirementError as missing:
        return [f"{missing} {missing.hint}"]
    return []
