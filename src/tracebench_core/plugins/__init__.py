"""Finding, loading and calling plugins: the only part that knows pluggy. A module is imported when one of its names is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracebench_core.plugins.catalog import KINDS, Catalog, Kind
    from tracebench_core.plugins.discovery import PluginRecord, discover
    from tracebench_core.plugins.files import HOME, is_file_plugin
    from tracebench_core.plugins.host import PluginHost
    from tracebench_core.plugins.refs import load_ref
    from tracebench_core.plugins.requirements import unmet_requirement

__all__ = [
    "HOME",
    "KINDS",
    "Catalog",
    "Kind",
    "PluginHost",
    "PluginRecord",
    "discover",
    "is_file_plugin",
    "load_ref",
    "unmet_requirement",
]

_HOMES = {
    "catalog": "KINDS Catalog Kind",
    "discovery": "PluginRecord discover",
    "files": "HOME is_file_plugin",
    "host": "PluginHost",
    "refs": "load_ref",
    "requirements": "unmet_requirement",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:  # what stands under TYPE_CHECKING is what type checkers see
    if name not in _HOME:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
