"""Dialogues with tools: the environment's deeds, the loop with a model, what counts, and rows that cannot be used."""

from __future__ import annotations

import json
from copy import deepcopy
from importlib.resources import files
from typing import Any

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine.api import evaluate_task
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Fields, RowError
from tracebench_hfqa.scripted.dialogue import MOST_CALLS, MOST_STARTS, calls_in
from tracebench_hfqa.scripted.environment import Tool, ToolError, call
from tracebench_testing.answering import FakeModel

ROWS = [
    json.loads(line)
    for line in files("tracebench_hfqa").joinpath("samples", "tool_dialogues.jsonl").read_text().splitlines()
]
FIELDS = Fields(question="messages", answer="turns")
BANK = next(row for row in ROWS if row["id"] == "bank-1")


def tools_of(row: dict[str, Any]) -> list[Tool]:
    return [Tool.model_validate(tool) for tool in row["environment"]["tools"]]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("transfer", {"account": "N1", "to": "N2", "balance": 1000}, "only 310 are there"),
        ("transfer", {"account": "N1", "to": "N1", "balance": 1}, "both records are the same"),
        ("transfer", {"account": "N1", "to": "N2", "balance": -5}, "a whole number above 0"),
        ("transfer", {"account": "N1", "to": "N2", "balance": True}, "a whole number above 0"),
        ("transfer", {"account": "N1", "to": "N9", "balance": 5}, "there is no record `N9`"),
        ("transfer", {"account": "N1", "to": "N2"}, "`transfer` needs `balance`"),
        ("close_account", {"account": "N1"}, "which does not allow it"),
        ("close_account", {"account": "N1", "force": True}, "takes no `force`"),
        ("rob", {}, "there is no tool `rob`"),
    ],
)
def test_what_may_not_be_done_is_refused_and_changes_nothing(name: str, arguments: dict[str, Any], words: str) -> None:
    state = deepcopy(BANK["environment"]["state"])
    with pytest.raises(ToolError, match=words):
        call(state, tools_of(BANK), name, arguments)
    assert state == BANK["environment"]["state"]


FIND = Tool(name="find", description="", does="find", table="orders", fields=("id", "item"))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"id": "A1"}, ["A1"]),
        ({"item": "lamp"}, ["A1", "A2"]),
        ({"id": "A2", "item": "lamp"}, ["A2"]),
        ({"id": "A3", "item": "lamp"}, []),
        ({"id": "own"}, ["A3"]),
        ({"item": "A1"}, []),
        ({}, ["A1", "A2", "A3"]),
    ],
)
def test_records_are_found_by_their_fields_and_by_the_name_they_are_kept_under(
    arguments: dict[str, str], found: list[str]
) -> None:
    """Where a record has no field `id` of its own."""
    records = {"A1": {"item": "lamp"}, "A2": {"item": "lamp"}, "A3": {"id": "own", "item": "pan"}}

    assert [*call({"orders": deepcopy(records)}, [FIND], "find", arguments)] == found


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('[{"tool": "a"}, {"tool": "b", "arguments": {"x": 1}}]', ["a", "b"]),
        ('Let me see.\n```json\n{"tool": "a", "arguments": {}}\n```', ["a"]),
        ("It is done [see above].", None),
        ('{"tool": 3}', None),
        ("[" * 100_000, None),
        ('{"tool": "a", "arguments": {"x": ' + "[" * 500 + "]" * 500 + "}}", None),
        ('[{"a":' * 30_000, None),
    ],
)
def test_calls_are_read_out_of_words(text: str, made: list[str] | None) -> None:
    found = calls_in(text)
    assert (None if found is None else [each.tool for each in found]) == made


def test_a_model_sees_what_its_calls_return_and_the_user_goes_on_when_it_answers() -> None:
    def answer(prompt: str, _call: int) -> str:
        if "Is N2" not in prompt and "What is on N2 now" not in prompt:
            done = '"moved": 60' in prompt
            return (
                "Moved." if done else '{"tool": "transfer", "arguments": {"account": "N1", "to": "N2", "balance": 60}}'
            )
        seen = '"balance": 135' in prompt
        return "It is 135." if seen else '{"tool": "get_account", "arguments": {"account": "N2"}}'

    ids = [e.metrics for e in evaluate_task("hf:tool_use", split="train", model=FakeModel(answer))]
    assert len(ids) == 4
    family = find_family("tools")
    case = family.read(BANK, FIELDS)
    transcript = [
        {"calls": [{"tool": "transfer", "arguments": {"account": "N1", "to": "N2", "balance": 60}}], "said": "Moved."},
        {"calls": [{"tool": "get_account", "arguments": {"account": "N2"}}], "said": "It is 135."},
    ]
    assert family.score(json.dumps(transcript), case).score == 1


@pytest.mark.parametrize(
    ("turns", "metrics"),
    [
        ([([], "Moved."), ([], "It is 135.")], {"solved": 0, "final_state": 0, "turns": 0}),
        ([([60], ""), ([], "It is 999.")], {"solved": 0, "final_state": 1, "turns": 0.5}),
        ([([60, 60], ""), ([], "135")], {"solved": 0, "final_state": 0, "turns": 0}),
        ([([], ""), ([60], "135")], {"solved": 0, "final_state": 1, "turns": 0.5}),
        ([([60], ""), ([], "135"), ([], "135")], {"solved": 1, "final_state": 0, "turns": 1}),
        ([([60], ""), ([], "It is 2135, or 1350.")], {"solved": 0, "final_state": 1, "turns": 0.5}),
        ([([60], ""), ([], "On N2 are **€135**.")], {"solved": 1, "final_state": 1, "turns": 1}),
        ([([60], None), ([], "135")], {"solved": 0, "final_state": 1, "turns": 0.5}),
    ],
)
def test_only_what_was_called_counts_after_every_turn(turns: list[Any], metrics: dict[str, float]) -> None:
    family = find_family("tools")
    done = [
        {
            "calls": [{"tool": "transfer", "arguments": {"account": "N1", "to": "N2", "balance": n}} for n in made],
            "said": s,
        }
        for made, s in turns
    ]
    assert family.score(json.dumps(done), family.read(BANK, FIELDS)).metrics == metrics


def test_a_turn_of_calls_without_end_ends() -> None:
    prompts: list[str] = []

    def answer(prompt: str, _call: int) -> str:
        prompts.append(prompt)
        return '{"tool": "no_such_tool"}'

    options = {"num_train": 1, "num_validate": 0, "num_test": 0}
    (feedback,) = evaluate_task("hf:tool_use", eval_kwargs=options, model=FakeModel(answer))
    assert feedback.score == 0
    assert len(prompts) == 2 * MOST_CALLS


def test_who_calls_without_end_has_served_nobody_though_the_records_are_right() -> None:
    row = next(row for row in ROWS if row["id"] == "shop-2")
    replies = {
        "Cancel order A2": "It is sent.",
        "Cancel A1": json.dumps([call for turn in row["turns"][1:] for call in turn["calls"]]),
    }

    def answer(prompt: str, _call: int) -> str:
        asked = [reply for words, reply in replies.items() if words in prompt]
        return asked[-1] if asked else "I do not know."

    options = {"num_train": 12, "num_validate": 0, "num_test": 0}
    found = evaluate_task("hf:tool_use", eval_kwargs=options, model=FakeModel(answer))
    assert {"solved": 0, "final_state": 1, "turns": 0.5} in [each.metrics for each in found]
    assert max(each.score or 0 for each in found) == 0


def test_calls_that_only_look_change_nothing_and_ten_thousand_are_told_in_short() -> None:
    """A table that is empty at first is there, so that looking into it leaves the records as they were."""
    row = deepcopy(BANK)
    row["environment"]["tools"].append({"name": "find_card", "description": "Cards.", "does": "find", "table": "cards"})
    family = find_family("tools")
    case = family.read(row, FIELDS)
    moved = {"tool": "transfer", "arguments": {"account": "N1", "to": "N2", "balance": 60}}
    looks = [{"tool": "find_card"}, {"tool": "find_account", "arguments": {"owner": "Ünal 鈴木"}}] * 5000
    served = [{"calls": [*looks, moved, *looks], "said": ""}, {"calls": looks, "said": "135"}]
    assert family.score(json.dumps(served), case).score == 1
    served[0]["calls"] = looks
    assert len(family.score(json.dumps(served), case).rule) < 5000


def test_an_amount_that_is_no_number_is_refused() -> None:
    state = deepcopy(BANK["environment"]["state"])
    state["accounts"]["N2"]["balance"] = "much"
    with pytest.raises(ToolError, match="no number"):
        call(state, tools_of(BANK), "transfer", {"account": "N1", "to": "N2", "balance": 60})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"environment": {}}, "no `state` and `tools`"),
        ({"environment": {"state": {}, "tools": [{"name": "x"}]}}, "cannot be read at"),
        ({"messages": "hello"}, "no list of messages"),
        ({"messages": ["one"]}, "1 messages of the user and 2 turns"),
        ({"turns": [{"calls": [{"tool": "fly"}]}, {}]}, "calls `fly`"),
        ({"turns": 3}, "cannot be read"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(RowError, match=words):
        find_family("tools").read({**BANK, **change}, FIELDS)


def test_no_other_program_leads_a_dialogue_and_no_dialogue_another_task() -> None:
    for task, program in (("hf:tool_use", "instructions"), ("hf:gsm8k", "tools")):
        with pytest.raises(ConfigError, match=r"gives none"):
            evaluate_task(task, eval_kwargs={"program": program})


@pytest.mark.parametrize(("before", "made"), [(MOST_STARTS - 1, ["a"]), (MOST_STARTS, None)])
def test_a_call_is_looked_for_in_so_many_places_and_no_more(before: int, made: list[str] | None) -> None:
    found = calls_in('{"' * before + '{"tool": "a"}')
    assert (None if found is None else [each.tool for each in found]) == made


def test_a_long_dialogue_is_read_whole() -> None:
    from tracebench_hfqa.guide import QAGuide

    family = find_family("tools")
    case = family.read(BANK, FIELDS)
    turns = json.loads(family.gold_reply(case))
    for turn in turns:
        turn["said"] = f"{turn['said'] or 'Done.'}{' Kind regards.' * 2000}"
    told = QAGuide(family, seconds=1.0)(case.example("e"), {"replies": [{"text": json.dumps(turns)}]}, None)  # type: ignore[arg-type]
    assert (told.score, told.text) == (1.0, "Right.")


@pytest.mark.parametrize(
    ("tool", "lacks"),
    [
        ({"does": "get"}, "key"),
        ({"does": "add", "fields": ["item"]}, "key"),
        ({"does": "set"}, "key"),
        ({"does": "remove"}, "key"),
        ({"does": "move", "key": "from"}, "to"),
        ({"does": "move", "key": "from", "to": "to"}, "amount"),
    ],
)
def test_a_tool_that_could_do_nothing_makes_its_row_unusable(tool: dict[str, Any], lacks: str) -> None:
    row = deepcopy(BANK)
    row["environment"]["tools"].append({"name": "odd", "description": "", "table": "accounts", **tool})
    with pytest.raises(RowError, match=f"`odd` does `{tool['does']}` and names no `{lacks}`"):
        find_family("tools").read(row, FIELDS)


def test_what_is_moved_leaves_one_and_comes_to_the_other() -> None:
    move = Tool(name="move", description="", does="move", table="t", key="from", to="to", amount="sum")
    state = {"t": {"a": {"sum": 5}, "b": {}}}
    with pytest.raises(ToolError, match="`sum` must be a whole number above 0"):
        call(state, [move], "move", {"from": "a", "to": "b", "sum": 0})
    assert call(state, [move], "move", {"from": "a", "to": "b", "sum": 1}) == {"moved": 1}
    assert call(state, [move], "move", {"from": "a", "to": "b", "sum": 4}) == {"moved": 4}
    assert state == {"t": {"a": {"sum": 0}, "b": {"sum": 5}}}
