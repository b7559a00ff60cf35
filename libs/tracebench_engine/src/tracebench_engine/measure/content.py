"""The content of a task's examples as one digest, so that two runs can tell whether they measured on the same data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from tracebench_core.ids import content_hash
from tracebench_core.specs import Example, Split, SplitData
from tracebench_engine.measure.building import OpenTask


def data_of(opened: OpenTask) -> dict[Split, SplitData]:
    """Return what there is of each split of an opened task."""
    splits: dict[Split, Sequence[Example]] = {**opened.task.splits, "test": opened.test}
    return {split: split_data(examples) for split, examples in sorted(splits.items()) if examples}


def split_data(examples: Sequence[Example]) -> SplitData:
    """Return how many examples there are, and the digest of their ids, inputs and references, in their order.

    There is no digest where something in them is no data: an open file, or a `Path`, which says where something lies on this machine and
    not what it is.
    """
    told = [[example.id, example.input, example.reference] for example in examples]
    try:
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), default=_as_data)
    except (TypeError, ValueError, RecursionError):
        return SplitData(examples=len(told))
    return SplitData(examples=len(told), sha256=content_hash(text.encode()))


def _as_data(value: Any) -> Any:
    """Return what JSON has no form for as something that it has, together with its type."""
    kind = type(value).__name__
    if isinstance(value, BaseModel):
        return [kind, {name: getattr(value, name) for name in type(value).model_fields}]
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, {f.name: getattr(value, f.name) for f in fields(value)}]
    if isinstance(value, bytes | bytearray):
        return [kind, content_hash(bytes(value))]
    if isinstance(value, set | frozenset):
        return [kind, sorted(json.dumps(item, sort_keys=True, default=_as_data) for item in value)]
    if isinstance(value, complex):
        return [kind, value.real, value.imag]
    dtype = getattr(value, "dtype", None)
    if dtype is not None and not getattr(dtype, "hasobject", True):  # of numpy, which need not be here
        return [kind, str(dtype), list(value.shape), content_hash(value.tobytes())]
    raise TypeError(kind)
