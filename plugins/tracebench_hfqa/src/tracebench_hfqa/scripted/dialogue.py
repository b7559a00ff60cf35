"""What was done and said in a dialogue: a model's calls read out of its words, and the whole of it done again from the beginning."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from pydantic import Field, JsonValue

from tracebench_core.specs.base import Spec
from tracebench_hfqa.scripted.environment import State, Tool, ToolError, call

MOST_CALLS = 10
"""Messages with calls that a model may send before it answers the user; a turn of more ends unanswered."""
MOST_STARTS = 100
"""Places of a message that are tried as the beginning of a call."""
BEGUN = re.compile(r'\[\s*\{|\{\s*"')


class Call(Spec):
    """One call."""

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Nested no deeper than can be written down again."""


class Turn(Spec):
    """What was done after one message of the user, and what he was told."""

    calls: tuple[Call, ...] = ()
    said: str | None = ""
    """None where he was told nothing any more."""


def calls_in(text: str) -> list[Call] | None:
    """Return the calls of a message: one JSON object with `tool`, or a list of such; None for a message to the user.

    Words around the JSON, and a fence, are passed over; a message that holds no call that can be read is one to the user.
    """
    decoder = json.JSONDecoder()
    for start in islice(BEGUN.finditer(text), MOST_STARTS):
        try:
            found, _ = decoder.raw_decode(text, start.start())
            listed = found if isinstance(found, list) else [found]
            if all(isinstance(each, dict) and "tool" in each for each in listed):
                return [Call.model_validate(each) for each in listed]
        except (ValueError, RecursionError):
            continue
    return None


def do(state: State, tools: Sequence[Tool], told: Call) -> Mapping[str, Any]:
    """Do one call in place; return its result, or the error that the model is told."""
    try:
        return {"result": call(state, tools, told.tool, told.arguments)}
    except ToolError as err:
        return {"error": str(err)}


def states(start: State, tools: Sequence[Tool], turns: Sequence[Turn]) -> list[State]:
    """Return the state after each turn of a dialogue, done from the beginning; what was refused then is refused now."""
    state, found = deepcopy(start), []
    for turn in turns:
        for told in turn.calls:
            do(state, tools, told)
        found.append(deepcopy(state))
    return found
