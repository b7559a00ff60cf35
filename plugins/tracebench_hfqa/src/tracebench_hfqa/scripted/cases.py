"""Cases of known outcome for dialogues with tools: the calls that serve the user in several forms, and words in the place of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_core.specs import Calibration
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.scripted.dialogue import Call, Turn

DONE = "It is done."
ASTRAY = Call(tool="no_such_tool", arguments={"x": 1})
"""A call that is refused and changes nothing."""


def dialogue_cases(rows: Mapping[str, Case], nothing: str, shared: Mapping[str, Any]) -> Iterator[Calibration]:
    """Yield the cases of a task whose rows, by example id, are these; `nothing` is the case in which nothing is called."""
    served = {id_: [Turn.model_validate(turn) for turn in case.gold] for id_, case in rows.items()}
    yield Calibration(
        name="gold", kind="gold", replies={i: _at_once(t) for i, t in served.items()}, expected=1.0, **shared
    )
    forms = {
        "one by one": {i: _one_by_one(t) for i, t in served.items()},
        "fenced, with words": {i: _fenced(t) for i, t in served.items()},
        "after a call that is refused": {i: _astray(t) for i, t in served.items()},
    }
    for name, replies in forms.items():
        yield Calibration(name=name, kind="form", replies=replies, expected=1.0, **shared)
    claims = {i: tuple(_said(turn) for turn in turns) for i, turns in served.items()}
    yield Calibration(name="says that it is done", kind="forged", replies=claims, other=nothing, **shared)
    written = {i: json.dumps(case.gold) for i, case in rows.items()}
    yield Calibration(name="writes the dialogue down", kind="forged", replies=written, other=nothing, **shared)
    endless = {i: _listed(next(turn.calls for turn in turns if turn.calls)) for i, turns in served.items()}
    yield Calibration(name="calls without end", kind="forged", replies=endless, other=nothing, **shared)


def _at_once(turns: list[Turn]) -> tuple[str, ...]:
    return tuple(text for turn in turns for text in ([_listed(turn.calls)] if turn.calls else []) + [_said(turn)])


def _one_by_one(turns: list[Turn]) -> tuple[str, ...]:
    return tuple(text for turn in turns for text in [*(call.model_dump_json() for call in turn.calls), _said(turn)])


def _fenced(turns: list[Turn]) -> tuple[str, ...]:
    each = [[f"I look into it.\n```json\n{_listed(turn.calls)}\n```"] if turn.calls else [] for turn in turns]
    return tuple(text for turn, calls in zip(turns, each, strict=True) for text in [*calls, _said(turn)])


def _astray(turns: list[Turn]) -> tuple[str, ...]:
    return (_listed((ASTRAY,)), *_at_once(turns))


def _listed(calls: tuple[Call, ...]) -> str:
    return json.dumps([call.model_dump(mode="json") for call in calls])


def _said(turn: Turn) -> str:
    return f"{DONE} {turn.said or ''}".strip()
