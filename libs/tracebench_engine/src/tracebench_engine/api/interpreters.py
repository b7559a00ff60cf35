"""The interpreters that other libraries live in; light, so that a plugin may look for one while it lists its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use
from tracebench_core.plugins.interpreters import find_python, has_python

if TYPE_CHECKING:
    from tracebench_engine.checks.pythons import create_python, list_pythons, remove_python

__all__ = ["create_python", "find_python", "has_python", "list_pythons", "remove_python"]

__getattr__ = imported_on_use(
    __name__, {"tracebench_engine.checks.pythons": "create_python list_pythons remove_python"}
)
