"""A provider's message, in whatever form servers send it, is kept in the one that every wire can write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tracebench_gateway.server.providers.pieces import StreamedMessage, kept_message

THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ({"content": "one", "audio": 7}, {"content": "one"}),
        ({"content": [THOUGHT, {"type": "text", "text": "one"}]}, {"content": "one", "reasoning_content": "hm"}),
        ({"content": "one", "reasoning": "hm"}, {"content": "one", "reasoning_content": "hm"}),
        ({"content": "half \ud800"}, {"content": "half \ufffd"}),
        ({"content": "\ud83d\ude00"}, {"content": "\U0001f600"}),
        (
            {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]},
            {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        ),
        ({"content": None, "role": "assistant"}, {"role": "assistant"}),
    ],
)
def test_forms_of_a_message(message: dict[str, Any], kept: dict[str, Any]) -> None:
    assert kept_message(message) == kept


@pytest.mark.parametrize(
    "message",
    [
        {"content": 7},
        {"content": ["x"]},
        {"tool_calls": [None]},
        {"tool_calls": [{"function": {"name": 1}}]},
        {"tool_calls": [{"index": "x", "function": {}}]},
    ],
)
def test_what_is_no_message(message: dict[str, Any]) -> None:
    with pytest.raises((TypeError, AttributeError)):
        kept_message(message)


def test_the_pieces_of_a_message_make_the_whole_one_thoughts_and_refusals_included() -> None:
    message, passed_on = StreamedMessage(), []

    async def collect() -> None:
        async def keep(delta: dict[str, Any]) -> None:
            passed_on.append(delta)

        for piece in (
            {"role": "assistant"},
            {"reasoning_content": "h"},
            {"reasoning_content": "m", "content": "o"},
            {"content": "ne"},
            {"refusal": "no"},
        ):
            await message.add(piece, keep)

    asyncio.run(collect())
    assert message.whole() == {"role": "assistant", "content": "one", "reasoning_content": "hm", "refusal": "no"}
    assert message.text == "one"
    assert len(passed_on) == 4  # a role alone says nothing
