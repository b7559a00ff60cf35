"""Tool use over several turns: right is a dialogue after whose every turn the records stand as they should, and in which the user was told.

The shape is that of BFCL's multi-turn tasks and of tau-bench: a state, tools, a user whose words are written beforehand, and the calls that
serve him. A dialogue is done again from its first state, so that only what was called counts; what the model says of it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tracebench_hfqa.families.family import Case, Family, Fields, RowError, Verdict, column
from tracebench_hfqa.families.text import normalise
from tracebench_hfqa.scripted.dialogue import Turn, states
from tracebench_hfqa.scripted.environment import State, Tool

TURNS = TypeAdapter(tuple[Turn, ...])
TOOLS = TypeAdapter(tuple[Tool, ...])
STATE = TypeAdapter(State)
ENVIRONMENT = "environment"
MOST_SHOWN, SHOWN = 10, 200
"""Calls that feedback shows, and characters of the arguments of each."""


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of a state, tools, the user's messages, and the turns that serve him."""
    told = column(row, ENVIRONMENT)
    users = column(row, fields.question)
    try:
        start, tools = STATE.validate_python(told["state"]), TOOLS.validate_python(told["tools"])
        turns = TURNS.validate_python(column(row, fields.answer))
    except (TypeError, KeyError) as err:
        raise RowError(f"has no `state` and `tools` in column `{ENVIRONMENT}`") from err
    except ValidationError as err:
        first = err.errors()[0]
        raise RowError(f"cannot be read at `{'.'.join(map(str, first['loc']))}`: {first['msg']}") from err
    if not isinstance(users, list) or not users or not all(isinstance(text, str) and text.strip() for text in users):
        raise RowError(f"has no list of messages in column `{fields.question}`")
    if len(users) != len(turns):
        raise RowError(f"has {len(users)} messages of the user and {len(turns)} turns in column `{fields.answer}`")
    for turn in turns:
        if unknown := [c.tool for c in turn.calls if c.tool not in {t.name for t in tools}]:
            raise RowError(f"calls `{unknown[0]}`, which is none of its tools")
    start = {tool.table: {} for tool in tools} | start
    told = {"state": start, "tools": [tool.model_dump(mode="json") for tool in tools], "users": users}
    gold = TURNS.dump_python(turns, mode="json")
    return Case(question="\n".join(users), context=json.dumps(told, ensure_ascii=False), gold=gold)


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when the records stand as they should after every turn and each turn says what it has to."""
    told = json.loads(case.context)
    start, tools = STATE.validate_python(told["state"]), TOOLS.validate_python(told["tools"])
    gold = TURNS.validate_python(case.gold)
    try:
        done = TURNS.validate_json(reply)
    except ValidationError:
        done = ()
    wanted, reached = states(start, tools, gold), states(start, tools, done)
    right = [
        at < len(done) and reached[at] == wanted[at] and _is_told(turn.said, done[at].said)
        for at, turn in enumerate(gold)
    ]
    final = bool(reached) and len(done) == len(gold) and reached[-1] == wanted[-1]
    metrics = {"solved": float(all(right)), "final_state": float(final), "turns": sum(right) / len(right)}
    return Verdict(score=metrics["solved"], metrics=metrics, extracted=reply.strip(), rule=_rule(right, done, gold))


def _is_told(needed: str | None, said: str | None) -> bool:
    """Tell whether an answer was given and holds what is needed as words of its own: 135 is not told by 1350."""
    if said is None or not needed:
        return said is not None
    return re.search(rf"(?<!\w){re.escape(normalise(needed))}(?!\w)", normalise(said)) is not None


def _rule(right: list[bool], done: tuple[Turn, ...], gold: tuple[Turn, ...]) -> str:
    if all(right):
        return ""
    at = right.index(False)
    made = _listed(done[at]) if at < len(done) else ""
    needed = _listed(gold[at])
    saying = f" The user had to be told `{gold[at].said}`." if gold[at].said else ""
    return f"Turn {at + 1} went wrong: called {made or 'nothing'}; needed was {needed or 'nothing'}.{saying}"


def _listed(turn: Turn) -> str:
    shown = [f"{c.tool}({json.dumps(c.arguments)[:SHOWN]})" for c in turn.calls[:MOST_SHOWN]]
    rest = len(turn.calls) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def gold_reply(case: Case) -> str:
    """Return the dialogue that serves the user."""
    return json.dumps(case.gold)


FAMILY = Family(
    metric="solved",
    read=read,
    score=score,
    gold_reply=gold_reply,
    asks_for="Call tools until the user is served, no more than he asked for, and tell him what he asked.",
    dialogue=True,
    version=3,
)
