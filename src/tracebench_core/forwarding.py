"""Import paths that plugins were told to use before the bench was several distributions: each leads to the module that stands for it now.

The only place of the core that knows what is built on it, and it knows names alone: nothing is imported before somebody asks. A path and
its new name are one and the same module.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # the other brings archives and temporary files into every process, a fifth of what starts a held program

CORE = __name__.partition(".")[0]
MOVED = {
    "api": "tracebench_engine.api",
    "cli": "tracebench_engine.cli",
    "sandbox": "tracebench_sandbox",
    "testing": "tracebench_testing",
}
"""What lay below this package, and where it is."""
LIBRARIES = (
    "tracebench_analysis", "tracebench_core", "tracebench_engine", "tracebench_gateway", "tracebench_runs", "tracebench_sandbox",
    "tracebench_testing",
)  # fmt: skip
"""The packages that Trace-Bench itself is made of."""
BENCH = "tracebench-engine"
"""The distribution that is the bench: it has the command, and the extras that bring plugins."""


def distribution_of(module: str) -> str:
    """Return the distribution that one of our modules is installed by."""
    return module.partition(".")[0].replace("_", "-")


class Forwarding:
    """Finds modules by their old names; one that is already there under its new name is taken as it is."""

    @classmethod
    def find_spec(
        cls, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a moved module is loaded; None for any other.

        Raises:
            ModuleNotFoundError: when the distribution that holds it is not installed; it says which to install.
        """
        first, _, rest = name.partition(".")
        part, _, below = rest.partition(".")
        if first != CORE or part not in MOVED:
            return None
        new = f"{MOVED[part]}.{below}" if below else MOVED[part]
        if find_spec(new.partition(".")[0]) is None:
            owner = distribution_of(new)
            raise ModuleNotFoundError(
                f"`{name}` is in {owner}, which is not installed: pip install {owner}", name=new.partition(".")[0]
            )
        found = find_spec(new)
        if found is None:
            return None
        spec = ModuleSpec(
            name, _Alias(new), origin=found.origin, is_package=found.submodule_search_locations is not None
        )
        if found.submodule_search_locations is not None:
            spec.submodule_search_locations = [*found.submodule_search_locations]
        return spec


class _Alias(Loader):
    """Loads a module under another name."""

    def __init__(self, new: str) -> None:
        self._new = new
        self._own: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        module = import_module(self._new)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own description back, which the import system has just replaced."""
        module.__spec__ = self._own

    def get_code(self, name: str) -> CodeType | None:
        """Return its code, for `python -m`."""
        found = find_spec(self._new)
        code: CodeType | None = found.loader.get_code(self._new) if found and found.loader else None  # type: ignore[attr-defined]
        return code


def install() -> None:
    """Have old names found, once for this process."""
    if not any(getattr(finder, "__qualname__", "") == Forwarding.__qualname__ for finder in sys.meta_path):
        sys.meta_path.insert(0, Forwarding)
