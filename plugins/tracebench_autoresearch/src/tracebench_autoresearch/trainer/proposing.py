"""Where edits come from: a model's reply, or a coding agent that works in a folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracebench_autoresearch.edits.applying import Proposal, read_proposal
from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.prompts import build_prompt
from tracebench_autoresearch.trainer.settings import AutoresearchSettings

Agent = Callable[[str, Mapping[str, str]], Proposal]
"""Edits files by itself, told what to do in words."""
log = logging.getLogger(__name__)


class Proposer:
    """Asks for the next experiment. What could not be used is told with the next question."""

    def __init__(self, problem: Bench, settings: AutoresearchSettings, agent: Agent | None) -> None:
        self._problem = problem
        self._agent = agent
        self._settings = settings
        self._notes: list[str] = []

    def propose(self, files: dict[str, str], *, tried: Sequence[str], last: str) -> Proposal | None:
        """Return an edit of `files`, or None when what came could not be used.

        Raises:
            BudgetExhausted: when a cap is reached.
            ModelError: when the model cannot be asked.
        """
        settings = self._settings
        notes, self._notes = self._notes, []
        messages = build_prompt(
            program=settings.program,
            objective=self._problem.objective,
            files=files,
            tried=tried[-settings.memory :] if settings.memory else (),
            last=last,
            notes=notes,
            form=self._agent is None,
        )
        try:
            if self._agent is not None:
                return self._agent("\n\n".join(str(message["content"]) for message in messages), files)
            sampling: dict[str, Any] = {} if settings.temperature is None else {"temperature": settings.temperature}
            return read_proposal(self._problem.complete(messages, role="optimizer", **sampling)[0].text, files)
        except UnusableEdit as err:
            self.refuse(str(err))
            return None

    def refuse(self, reason: str, *, duplicate: bool = False) -> None:
        """Count a proposal that is not measured, and tell the model why with the next question."""
        log.info("proposal not used: %s", reason)
        self._notes.append(f"Your last proposal was not run: {reason}.")
        self._problem.count_proposals(asked=1, duplicate=int(duplicate), invalid=int(not duplicate))
