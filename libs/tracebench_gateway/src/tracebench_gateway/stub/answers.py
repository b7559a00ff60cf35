"""The answers of known quality that a task ships: rungs of a ladder that the stub climbs. They show a task, and judge no trainer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

Ladder = Sequence[Mapping[str, Any]]
"""Assignments, the worst first, each of all parameters or of some."""
ODDS = 1 / 3
"""How often a proposal is a shipped answer; the others are mutations, as without a ladder."""


def next_rung(ladder: Ladder, values: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return what makes the shown values the next better answer; any answer, where they are none; empty for a mutation instead.

    A prompt that shows one value under a name of its own, as libraries' prompts do, is matched with answers of one value.
    """
    rungs = [fitting for answer in ladder if (fitting := _fit(answer, values))]
    if not rungs or rng.random() >= ODDS:
        return {}
    reached = max((i for i, rung in enumerate(rungs) if _is_shown(rung, values)), default=None)
    if reached is None:
        return rng.choice(rungs)
    return rungs[reached + 1] if reached + 1 < len(rungs) else {}


def _fit(answer: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer under the names that are shown; empty where it does not fit."""
    if answer.keys() <= values.keys():
        return dict(answer)
    if len(answer) == len(values) == 1:
        (shown,), (value,) = values.items(), answer.values()
        return {shown[0]: value} if type(shown[1]) is type(value) else {}
    return {}


def _is_shown(rung: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(_plain(values[name]) == _plain(value) for name, value in rung.items())


def _plain(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value
