"""Reads Lean's JSON messages; all front ends share their shape (Lean 4 `Lean.Message`, serialised)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_veribench.diagnostics import Diagnostic

_SEVERITIES = {"error": "error", "warning": "warning", "information": "information", "info": "information"}


def read_message(message: Mapping[str, Any]) -> Diagnostic:
    """Read `{severity, pos: {line, column}, data}`.

    Raises:
        NotMeasured: when it is something else.
    """
    try:
        return Diagnostic(
            _SEVERITIES[message["severity"]],  # type: ignore[arg-type]
            int(message["pos"]["line"]),
            int(message["pos"]["column"]),
            str(message["data"]),
        )
    except (KeyError, TypeError, ValueError) as err:
        raise NotMeasured(f"the checker's message is none of Lean's: {str(message)[:200]}") from err
