"""The interpreters that other libraries live in; light, so that a plugin may look for one while it lists its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.plugins.interpreters import (
        data_folder as data_folder,
        find_python as find_python,
        has_python as has_python,
    )
    from tracebench_engine.checks.pythons import (
        build_environment as build_environment,
        create_python as create_python,
        find_uv as find_uv,
        list_pythons as list_pythons,
        remove_python as remove_python,
    )

__getattr__ = imported_on_use(__name__)
