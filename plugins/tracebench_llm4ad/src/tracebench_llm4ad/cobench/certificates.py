"""Optima of the generated cases, computed once and shipped: the best value found, the bound proven for it, and by which solver.

`python benchmarks/cobench_certificates.py` makes them anew. A case is found by what it holds, so that a case that changes has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SHIPPED = Path(__file__).with_name("certificates.json")
WIDEST = 0.02
"""Gap between value and bound, as a share of the value, up to which a value may stand for the optimum."""


class Certificate(NamedTuple):
    """What is proven of one case: no answer is better than `bound`, and an answer of `value` exists."""

    value: float
    bound: float
    solver: str

    @property
    def gap(self) -> float:
        """Return what may lie between the value and the optimum, as a share of the value."""
        return abs(self.value - self.bound) / max(abs(self.value), 1e-9)


def certificate_of(task: str, arguments: Mapping[str, Any]) -> Certificate | None:
    """Return what is proven of a task's case, by the arguments that `solve` is called with; None where nothing is."""
    held = _shipped().get(task)
    if held is None or (row := held["cases"].get(digest(arguments))) is None:
        return None
    found = Certificate(float(row[0]), float(row[1]), str(held["solver"]))
    return found if found.gap <= WIDEST else None


def digest(arguments: Mapping[str, Any]) -> str:
    """Return 24 hexadecimal digits of the SHA-256 of a case."""
    text = json.dumps(_plain(arguments), separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def _shipped() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, its mappings as pairs and its sets in order."""
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(held)] for key, held in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
