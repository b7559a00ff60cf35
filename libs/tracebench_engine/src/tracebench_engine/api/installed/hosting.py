"""What is installed: the host of plugins, its catalogue of parts, and what names mean in it."""

from tracebench_core.plugins import Catalog, Kind, PluginHost, PluginRecord, load_ref
from tracebench_core.plugins.discovery import core_version
from tracebench_core.plugins.installing import install_entry_hint
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_engine.builtin.hosting import find_aggregate, open_host

__all__ = [
    "Catalog",
    "Kind",
    "PluginHost",
    "PluginRecord",
    "core_version",
    "find_aggregate",
    "install_entry_hint",
    "load_ref",
    "open_host",
    "resolve_task_ids",
]
