"""Names of a package whose modules are imported when one of them is first used (PEP 562)."""

from __future__ import annotations

import sys
from _ast import If, ImportFrom, PyCF_ONLY_AST
from collections.abc import Callable
from importlib import import_module
from typing import Any


def imported_on_use(package: str, *, forwarded: dict[str, str] | None = None) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: its names, and `__all__`, are those that it imports for type checkers alone.

    A name stands once, as `from … import Name as Name` under `if TYPE_CHECKING:`, the one `if` of the package. `forwarded` adds, for a
    module that is not there for type checkers, its names, separated by spaces. What was found stays in the package.
    """
    home: dict[str, tuple[str, str]] = {}

    def find(name: str) -> Any:
        module = sys.modules[package]
        if not home:
            home.update(
                _imported(module) | {n: (m, n) for m, names in (forwarded or {}).items() for n in names.split()}
            )
        if name == "__all__":
            value: Any = sorted(home)
        elif name in home:
            place, there = home[name]
            value = getattr(import_module(place, package), there)
        else:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        setattr(module, name, value)
        return value

    return find


def _imported(module: Any) -> dict[str, tuple[str, str]]:
    """Return where each name that a module imports for type checkers alone comes from: its module, and its name there."""
    tree: Any = compile(module.__loader__.get_data(module.__file__), module.__file__, "exec", PyCF_ONLY_AST)
    blocks = [block for block in tree.body if isinstance(block, If)]
    lines = [line for block in blocks for line in block.body if isinstance(line, ImportFrom)]
    return {name.asname or name.name: (line.module or "", name.name) for line in lines for name in line.names}
