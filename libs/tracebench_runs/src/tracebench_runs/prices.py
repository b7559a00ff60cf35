"""What a call costs: prices that were told, else from the map that litellm ships, read without importing litellm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tracebench_core import money
from tracebench_core.money import exact
from tracebench_core.specs import ModelIdentity, Price

PER_MILLION = 1_000_000
MAP_FILE = "model_prices_and_context_window_backup.json"
FREE = Price(prompt=0.0, completion=0.0)


class PriceTable:
    """Prices by model. What is told wins over the map; its names may be named `model` or `provider/model`."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._own = dict(prices)
        self._found: dict[ModelIdentity, Price | None] = {}

    def price(self, identity: ModelIdentity) -> Price | None:
        """Return the price of a model, or None when nobody told it. The stub costs nothing."""
        if identity not in self._found:
            self._found[identity] = self._look_up(identity)
        return self._found[identity]

    def usd(
        self, identity: ModelIdentity, *, prompt: int, completion: int, cached: int = 0, written: int = 0
    ) -> float | None:
        """Return what a call of so many tokens costs, or None when nobody told the price.

        Args:
            cached: the part of `prompt` read from the provider's cache.
            written: the part of `prompt` written to it.
        """
        price = self.price(identity)
        if price is None:
            return None
        cached_price = price.prompt if price.cached is None else price.cached
        written_price = price.prompt if price.written is None else price.written
        billed = [
            (prompt - cached - written, price.prompt),
            (cached, cached_price),
            (written, written_price),
            (completion, price.completion),
        ]
        return money.total([count * exact(of_million) / PER_MILLION for count, of_million in billed])

    def _look_up(self, identity: ModelIdentity) -> Price | None:
        full = f"{identity.provider}/{identity.model}"
        own = self._own.get(full) or self._own.get(identity.model)
        if own is not None:
            return own
        if identity.provider == "stub":
            return FREE
        return _from_map(full, identity)


def _from_map(full: str, identity: ModelIdentity) -> Price | None:
    known = bundled_map()
    entry = known.get(full)
    if entry is None:
        bare = known.get(identity.model)
        entry = bare if bare is not None and _is_same_provider(bare, identity.provider) else None
    if entry is None or "input_cost_per_token" not in entry or "output_cost_per_token" not in entry:
        return None
    cached, written = entry.get("cache_read_input_token_cost"), entry.get("cache_creation_input_token_cost")
    return Price(
        prompt=_of_million(entry["input_cost_per_token"]),
        completion=_of_million(entry["output_cost_per_token"]),
        cached=None if cached is None else _of_million(cached),
        written=None if written is None else _of_million(written),
    )


def _of_million(of_token: float) -> float:
    return float(exact(of_token) * PER_MILLION)


def _is_same_provider(entry: Mapping[str, Any], provider: str) -> bool:
    """Compare with the map's own names: text completion models and regional ones carry the provider's name and more."""
    return str(entry.get("litellm_provider", "")).removeprefix("text-completion-").split("-")[0] == provider


@cache
def bundled_map() -> dict[str, dict[str, Any]]:
    """Return what litellm ships of each model it knows; nothing where it is not installed."""
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / MAP_FILE
        if path.is_file():
            table: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
            return table
    return {}
