"""JSON values that can be keys: opto's searches keep candidates in dictionaries by the values of their parameters."""

from __future__ import annotations

from typing import Any

from tracebench_core.ids import canonical_json
from tracebench_opto.bridge.graph import canonical


class _Object(dict[str, Any]):
    def __hash__(self) -> int:  # type: ignore[override]  # opto changes no value in place
        return hash(canonical_json(self))


class _Array(list[Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(canonical_json(self))


def hashable(value: Any) -> Any:
    """Return an object or array as one that has a hash; anything else as it is."""
    if isinstance(value, dict):
        return _Object(value)
    return _Array(value) if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Return the JSON value itself."""
    return canonical(value) if isinstance(value, _Object | _Array) else value
