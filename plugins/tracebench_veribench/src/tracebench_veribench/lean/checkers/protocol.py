"""What every Lean front end offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracebench_core.contracts import Sandbox
from tracebench_veribench.diagnostics import Diagnostic


class CheckTimeout(Exception):  # noqa: N818 - an outcome of the candidate
    """Lean did not finish the file within its limits."""


class LeanChecker(Protocol):
    """Elaborates one file and says what Lean said."""

    def check(self, text: str, sandbox: Sandbox) -> Sequence[Diagnostic]:
        """Return all messages, in file order.

        Raises:
            CheckTimeout: when the file needs more time or memory than allowed.
            NotMeasured: when Lean cannot be asked or its answer cannot be read.
        """
        ...
