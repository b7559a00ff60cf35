"""Options of plugins, `plugins.options.<plugin>` of a config: their names are checked where each plugin reads its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean


def refuse_unknown_options(plugin: str, options: Mapping[str, Any], known: Collection[str] = ()) -> None:
    """Refuse an option that a plugin does not take; for use in its `tracebench_configure`.

    Raises:
        ConfigError: with the nearest name that there is.
    """
    for name in (name for name in options if name not in known):
        said = f" It takes {', '.join(f'`{one}`' for one in known)}." if known else " The plugin takes no options."
        raise ConfigError(f"`plugins.options.{plugin}.{name}` is not known.{did_you_mean(name, known) or said}")
