"""Names of a package whose modules are imported when one of them is first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def imported_on_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, whose names type checkers read elsewhere.

    `homes` says which names each module holds, separated by spaces; `.module` lies below the package, and `name=other` gives the module's
    `other` another name. What was found stays in the package.
    """
    home = {
        name.partition("=")[0]: (module, name.rpartition("=")[2])
        for module, names in homes.items()
        for name in names.split()
    }

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        module, there = home[name]
        value = getattr(import_module(module, package), there)
        setattr(sys.modules[package], name, value)
        return value

    return find
