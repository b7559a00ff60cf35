"""Finding, loading and calling plugins: the only part that knows pluggy. A module is imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

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

__getattr__ = imported_on_use(
    __name__,
    {
        ".catalog": "KINDS Catalog Kind",
        ".discovery": "PluginRecord discover",
        ".files": "HOME is_file_plugin",
        ".host": "PluginHost",
        ".refs": "load_ref",
        ".requirements": "unmet_requirement",
    },
)
