"""What is installed: the host of plugins, its catalogue of parts, and what names mean in it."""

from tracebench_core.plugins import (
    Catalog as Catalog,
    Kind as Kind,
    PluginHost as PluginHost,
    PluginRecord as PluginRecord,
    load_ref as load_ref,
)
from tracebench_core.plugins.discovery import core_version as core_version
from tracebench_core.plugins.installing import install_entry_hint as install_entry_hint
from tracebench_core.plugins.resolve import resolve_task_ids as resolve_task_ids
from tracebench_engine.builtin.hosting import find_aggregate as find_aggregate, open_host as open_host
