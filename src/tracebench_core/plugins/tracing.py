"""`TRACEBENCH_TRACE_HOOKS=1` writes every hook call to standard error: which hook, whose implementations, what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pluggy

VARIABLE = "TRACEBENCH_TRACE_HOOKS"
LONGEST = 120


def trace_hooks(manager: pluggy.PluginManager) -> None:
    """Begin to write calls, where the variable asks for it."""
    if os.environ.get(VARIABLE) != "1":
        return

    def before(_name: str, _impls: Sequence[pluggy.HookImpl], _arguments: Mapping[str, Any]) -> None:
        """Nothing is known yet."""

    def after(
        outcome: pluggy.Result[Any], name: str, impls: Sequence[pluggy.HookImpl], arguments: Mapping[str, Any]
    ) -> None:
        if not impls:
            return
        owners = ", ".join(impl.plugin_name for impl in reversed(impls))
        error = outcome.exception
        came = f"{type(error).__name__}: {error}" if error is not None else repr(outcome.get_result())
        given = ", ".join(arguments)
        line = f"hook {name}({given}) of {owners}: {came}"
        sys.stderr.write((line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…") + "\n")

    manager.add_hookcall_monitoring(before, after)
