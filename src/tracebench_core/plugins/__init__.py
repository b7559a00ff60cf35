"""Finding, loading and calling plugins: the only part that knows pluggy. A module is imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.plugins.catalog import KINDS as KINDS, Catalog as Catalog, Kind as Kind
    from tracebench_core.plugins.discovery import PluginRecord as PluginRecord, discover as discover
    from tracebench_core.plugins.files import HOME as HOME, is_file_plugin as is_file_plugin
    from tracebench_core.plugins.host import PluginHost as PluginHost
    from tracebench_core.plugins.refs import load_ref as load_ref
    from tracebench_core.plugins.requirements import unmet_requirement as unmet_requirement

__getattr__ = imported_on_use(__name__)
