"""The way from a model's suggestion to a candidate: typed, checked, and with a memory of what was refused."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.ids import canonical_json, did_you_mean
from tracebench_core.proposing.conversion import RefusedValue, convert
from tracebench_core.proposing.patches import apply_patch, is_patch
from tracebench_core.proposing.rendering import cut
from tracebench_core.specs import Values

log = logging.getLogger(__name__)
LONGEST_NAME = 100
"""Characters of a name that a model is told again."""


class Intake:
    """Takes suggestions for one proposer. What it refuses is counted in the job's record and told to the model next time.

    The counts are the numbers `proposal_malformed` (replies without a readable suggestion), `proposal_refused` (single values)
    and `proposal_unchanged` (suggestions that leave everything as it is), logged to the current step as they happen.
    """

    def __init__(self, problem: Problem, *, patches: bool = False) -> None:
        """With `patches`, a patch may stand for a text or a program; applied ones are counted as `patch_applied`."""
        self._problem = problem
        self._patches = patches
        self._parameters = {p.name: p for p in problem.parameters}
        self._notes: list[str] = []

    def take(self, base: Values, suggestion: Mapping[str, Any]) -> Values | None:
        """Return `base` with the suggested values that may be evaluated, or None when that changes nothing."""
        values = dict(base)
        refused = 0
        for name, written in suggestion.items():
            if reason := self._put(values, name, written):
                refused += 1
                self._note(f"The value that you suggested for `{cut(name, LONGEST_NAME)}` was refused: {reason}.")
        if refused:
            self._problem.log("proposal_refused", refused)
        if canonical_json(values) != canonical_json(base):
            self._problem.count_proposals(asked=1, usable=1)
            return values
        if refused:
            self._problem.count_proposals(asked=1, invalid=1)
        else:
            self._note("Your last suggestion changed nothing.")
            self._problem.log("proposal_unchanged", 1)
            self._problem.count_proposals(asked=1, duplicate=1)
        return None

    def malformed(self, reason: str) -> None:
        """Record a reply that held no readable suggestion."""
        self._note(f"Your last reply could not be used: {reason}.")
        self._problem.log("proposal_malformed", 1)
        self._problem.count_proposals(asked=1, invalid=1)

    def notes(self) -> list[str]:
        """Return what the model has to be told, once."""
        notes, self._notes = self._notes, []
        return notes

    def _put(self, values: Values, name: str, written: Any) -> str:
        parameter = self._parameters.get(name)
        if parameter is None:
            return f"there is no parameter of that name.{did_you_mean(name, self._parameters)}".rstrip(".")
        try:
            if self._patches and parameter.kind in {"text", "code"} and isinstance(written, str) and is_patch(written):
                written = apply_patch(str(values[name]), written)
                self._problem.log("patch_applied", 1)
            value = convert(parameter, written)
        except RefusedValue as err:
            return str(err)
        reason = self._problem.check({**values, name: value}).rstrip(".")
        if not reason:
            values[name] = value
        return reason

    def _note(self, note: str) -> None:
        log.info("%s", note)
        if note not in self._notes:
            self._notes.append(note)
