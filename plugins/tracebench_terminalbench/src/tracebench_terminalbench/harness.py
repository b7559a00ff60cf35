"""Harbor as an environment of the run: found, its version checked, once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tracebench_core.contracts import EnvironmentContext
from tracebench_terminalbench.found import find_harbor


class HarborEnvironment:
    """The handle says where Harbor is: the fields of `found.Harbor`. Each job of Harbor ends with the evaluation that started it."""

    def __init__(self, *, command: str | None = None) -> None:
        self._command = command

    def open(self, context: EnvironmentContext) -> dict[str, Any]:
        """Find Harbor.

        Raises:
            MissingRequirementError: when it is not here, or of another version.
        """
        return asdict(find_harbor(self._command))

    def close(self) -> None:
        """Do nothing: finding Harbor opened nothing."""
