"""What each task is once it is opened: a digest of its parameters, of what it asks for, and of its examples.

Scores of two releases compare only while these stay. Numbers count to six digits, so that they are the same on every processor.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from tracebench_engine.api.installed.hosting import load_ref, open_host

ELSEWHERE = {"opto", "trace_examples", "terminal_bench", "veribench"}
"""Plugins whose tasks are those of another library's build, or of a folder of the user's."""
FETCHED = {"autoresearch:karpathy", "autoresearch:program/karpathy"}
"""Tasks that are fetched from the network."""


def tasks() -> dict[str, list[str]]:
    """Return a line for each task that runs here, by plugin."""
    catalog = open_host().catalog()
    found: dict[str, list[str]] = defaultdict(list)
    for id_, spec in sorted(catalog.tasks.items()):
        plugin, _, name = id_.partition(":")
        if plugin in ELSEWHERE or id_ in FETCHED or catalog.availability(spec):
            continue
        options = load_ref(spec.options, owner=id_)().model_dump() if spec.options else {}
        task = load_ref(spec.loader, owner=id_)(**options, **({"salts": {}} if spec.salted else {}))
        parts = {"parameters": task.parameters, "objective": task.objective, "examples": task.splits}
        digests = " ".join(f"{what} {digest_of(part)}" for what, part in parts.items())
        found[plugin].append(f"{name} comparability {spec.version.comparability} {digests}")
    return found


def digest_of(value: Any) -> str:
    """Return ten digits of the hash of all of a value."""
    return hashlib.sha256(text_of(value).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def text_of(value: Any) -> str:
    """Return a text that says all of a value."""
    if isinstance(value, np.ndarray | np.generic):
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
