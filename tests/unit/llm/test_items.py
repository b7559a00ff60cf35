"""Calls of functions, as servers send them: with arguments as text or as an object, with or without an id."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_gateway.server.wire.base import arguments_of, input_of, tool_calls_of


@pytest.mark.parametrize(
    ("sent", "text", "value"),
    [
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ({"a": 1}, '{"a": 1}', {"a": 1}),
        ("[1]", "[1]", {"arguments": [1]}),
        ("a b", "a b", {"arguments": "a b"}),
        (None, "", {}),
    ],
)
def test_arguments_are_told_as_text_and_as_an_object(sent: Any, text: str, value: dict[str, Any]) -> None:
    (call,) = tool_calls_of({"tool_calls": [{"id": "1", "function": {"name": "add", "arguments": sent}}]})

    assert (call["id"], call["function"]["name"]) == ("1", "add")
    assert arguments_of(call) == text
    assert input_of(call) == value


def test_a_call_without_an_id_or_a_name_gets_one_of_its_own() -> None:
    one, other = tool_calls_of({"tool_calls": [{"function": {"name": "add"}}, {}]})

    assert one["id"].startswith("call_")
    assert one["id"] != other["id"]
    assert other["function"] == {"name": "", "arguments": ""}
    assert tool_calls_of({"tool_calls": None}) == tool_calls_of({}) == []
