"""Compose a plugin host: the core's own parts and everything that is installed, through the same hooks."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tracebench_core.errors import PluginError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import PluginHost, discover, load_ref
from tracebench_core.plugins.discovery import PREFER
from tracebench_core.specs import AgentSpec, PluginsConfig

if TYPE_CHECKING:
    from tracebench_runs.events.ranking import Aggregate

BUILTIN = {
    "core": "tracebench_engine.builtin.parts",
    "internal": "tracebench_engine.builtin.internal",
    "trace_examples": "tracebench_engine.builtin.trace_examples",
}
"""Plugin name (the id prefix of a suite) to the module with its hooks."""


@cache
def find_aggregate(name: str) -> Aggregate | None:
    """Return how the scores of a batch become one, by name; None when no installed plugin offers it. Plugins are looked for once."""
    from tracebench_runs.events.ranking import mean  # noqa: PLC0415 - listing ranks nothing

    if name == "mean":
        return mean
    spec = open_host().catalog().components["aggregate"].get(name)
    if spec is None:
        return None
    chosen: Aggregate = load_ref(spec.loader, owner=name)
    return chosen


@cache
def find_preset(name: str) -> AgentSpec:
    """Return what a plugin says of a coding agent, by its name. Plugins are looked for once.

    Raises:
        UsageError: when no plugin offers it; with the nearest name.
    """
    spec = open_host().component("agent", name)
    if not isinstance(spec, AgentSpec):
        raise PluginError(f"`{name}` is described by a `{type(spec).__name__}`, not an `AgentSpec`.")
    return spec


def _roots(root: Path, names: set[str]) -> Path | dict[str, Path] | None:
    from tracebench_engine.config.roots import roots  # noqa: PLC0415 - a listing without a root reads no config

    return roots(root, names)


def open_host(*, root: Path | None = None, plugins: PluginsConfig | None = None) -> PluginHost:
    """Return a host with the core's own parts registered and every installed plugin found, none of them loaded yet.

    `TRACEBENCH_PLUGINS=a,b` limits which installed plugins are found; `TRACEBENCH_STRICT_PLUGINS=1` makes a failing one an error;
    `TRACEBENCH_PREFER=dist` takes that distribution's where two provide one plugin.

    Raises:
        UsageError: when `TRACEBENCH_PLUGINS` or `root` names what is not installed.
        PluginError: when a plugin that the config gives options to cannot be loaded.
    """
    limited = os.environ.get("TRACEBENCH_PLUGINS")
    enabled = None if limited is None else {name.strip() for name in limited.split(",") if name.strip()}
    records = discover(enabled, preferred=os.environ.get(PREFER, "").split(","))
    for name in sorted(enabled or ()):
        if name not in records and name not in BUILTIN:
            raise UsageError(
                f"`TRACEBENCH_PLUGINS` names `{name}`, and no such plugin is installed.{did_you_mean(name, records)}",
                hint="env -u TRACEBENCH_PLUGINS trace-bench plugins",
            )
    config = plugins or PluginsConfig()
    host = PluginHost(
        records,
        root=None if root is None else _roots(root, {*records, *BUILTIN}),
        options=config.options,
        exclude=config.exclude,
        strict=os.environ.get("TRACEBENCH_STRICT_PLUGINS") == "1",
    )
    for name, module in BUILTIN.items():
        host.register(import_module(module), name)
    for name in config.options:
        if (
            name in host.records and (record := host.load(name)).error
        ):  # one that only watches or wraps jobs has no other use
            raise PluginError(
                f"`plugins.options` names `{name}`, which is not loaded: {record.error}", hint="trace-bench plugins"
            )
    return host
