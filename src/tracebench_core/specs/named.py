"""What a config says of prices and plugins, apart from the rest of it: listing needs these two models and no more."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tracebench_core.specs.base import Spec


class Price(Spec):
    """USD per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """For prompt tokens read from the provider's cache. By default the prompt price."""
    written: float | None = Field(default=None, ge=0)
    """For prompt tokens written to the provider's cache. By default the prompt price."""


class PluginsConfig(Spec):
    """Which plugins may be used, and what they are told."""

    exclude: tuple[str, ...] = ()
    """Ids that discovery must not offer in this run."""
    options: dict[str, dict[str, Any]] = {}
    """By plugin name, handed to its `tracebench_configure`."""
