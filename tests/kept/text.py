"""Values as text that says all of them, and its digests. Numbers count to six digits, which are the same on every processor."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def digest_of(value: Any) -> str:
    """Return ten digits of the hash of all of a value."""
    return hashlib.sha256(text_of(value).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def text_of(value: Any) -> str:
    """Return a text that says all of a value."""
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    elif dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{text_of(name)}:{text_of(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(map(text_of, value))) + "}"
    return repr(value) if isinstance(value, str | bytes | int | range | None) else type(value).__name__
