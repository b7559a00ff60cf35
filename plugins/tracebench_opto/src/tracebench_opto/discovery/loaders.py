"""What the specs of discovered trainers name: `build_<class>` and `Settings_<class>`, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from tracebench_core.contracts import Trainer
from tracebench_opto.discovery.catalogue import discover
from tracebench_opto.discovery.records import Discovered
from tracebench_opto.discovery.trainer import DiscoveredTrainer
from tracebench_opto.discovery.vocabulary import settings_of


def __getattr__(name: str) -> Any:
    """Return the builder or the settings model of a class; the class is looked up in what discovery remembers."""
    kind, _, wanted = name.partition("_")
    if kind not in {"build", "Settings"}:
        raise AttributeError(name)
    for discovered in discover(only=wanted):
        return _builder(discovered) if kind == "build" else settings_model(discovered)
    raise AttributeError(f"the installed opto has no trainer `{wanted}`")


def settings_model(discovered: Discovered) -> type[BaseModel]:
    """Return a closed model of what the class takes; defaults are the class's, except for what it needs to run here at all."""
    defaults = settings_of(discovered.found.constructor, discovered.found.train) | discovered.verdict.settings
    fields: dict[str, Any] = {name: (Any, default) for name, default in sorted(defaults.items())}
    config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
    return create_model(f"{discovered.found.qualname}Settings", __config__=config, **fields)


def _builder(discovered: Discovered) -> Callable[[BaseModel], Trainer]:
    return lambda settings: DiscoveredTrainer(discovered.found, settings.model_dump())
