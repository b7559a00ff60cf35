"""Each wire, body by body: what a request becomes, what an answer is told as, whole and streamed, and what is refused in which words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.exchange import Metered, Reply, Tokens
from tracebench_gateway.server.errors import Failure
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.base import Answer
from tracebench_gateway.server.wire.chat import ChatWire
from tracebench_gateway.server.wire.gemini import GeminiWire
from tracebench_gateway.server.wire.messages import MessagesWire
from tracebench_gateway.server.wire.responses import ResponsesWire
from tracebench_gateway.tokens import Claims

CLAIMS = Claims(
    job_id="job", attempt="a", role="agent", phase="training", seed=1, budget=Budget(), hints={},
    model=ModelIdentity(provider="openai", model="m"), variant="", recorded="", is_engine=False,
)  # fmt: skip
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
OTHER = {"id": "c2", "type": "function", "function": {"name": "sub", "arguments": "{}"}}
SAID = {"role": "assistant", "content": "three", "reasoning_content": "hmm", "tool_calls": [CALL]}
TOKENS = Tokens(10, 7, cached=4, written=1, reasoning=2)
MARK = {"type": "ephemeral"}


def read(wire: Any, *, extra: dict[str, Any] | None = None, **data: Any) -> Asked:
    return wire.read(data, claims=CLAIMS, llm=LLMConfig(extra_body=extra or {}))


def chat(**data: Any) -> Asked:
    return read(ChatWire(), **{"messages": [{"role": "user", "content": "hi"}]} | data)


def message(**data: Any) -> Asked:
    return read(MessagesWire(), **{"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]} | data)


def response(**data: Any) -> Asked:
    return read(ResponsesWire(), **{"input": "hi"} | data)


def gemini(**data: Any) -> Asked:
    return read(GeminiWire(), **{"contents": [{"parts": [{"text": "hi"}]}]} | data)


def blocks(*content: dict[str, Any], role: str = "user", **data: Any) -> Any:
    return message(messages=[{"role": role, "content": [*content]}], **data).conversations[0]


def items(*given: dict[str, Any], **data: Any) -> Any:
    return response(input=[*given], **data).conversations[0]


def parts(*given: dict[str, Any], role: str = "user") -> Any:
    return gemini(contents=[{"role": role, "parts": [*given]}]).conversations[0]


def refusal(ask: Any, *given: Any, **data: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        ask(*given, **data)
    return str(caught.value)


def answer(said: dict[str, Any] | None = None, reason: str = "stop", tokens: Tokens = TOKENS) -> Answer:
    return Answer(Reply(SAID if said is None else said, reason), Metered(tokens, 0.0))


def plain(value: Any) -> Any:
    """Return a body with random names and the time of day replaced."""
    text = re.sub(r"[0-9a-f]{32}", "ID", json.dumps(value))
    return json.loads(re.sub(r'"(created|created_at)": \d{10}\b', r'"\1": 0', text))


def events(stream: bytes) -> list[Any]:
    """Return the events of a stream; each that has a name has its type for one."""
    told = []
    for block in stream.decode().split("\n\n")[:-1]:
        *name, data = block.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == ([f"event: {value['type']}"] if "type" in value and name else [])
        told.append(plain(value))
    return told


# --- chat


def test_chat_is_read_with_what_a_config_names_and_the_rest_is_told() -> None:
    asked = read(
        ChatWire(),
        extra={"lora": "base", "topic": "x"},
        messages=[{"role": "user", "content": "hi", "odd": 1, "z" * 90: 2, "topic": "y"}],
        lora="mine",
        extra_body={"topic": None},
        temperature=0.5,
        n=3,
        stream=True,
        stream_options={"include_usage": True},
        user="me",
    )
    assert asked.conversations == [[{"role": "user", "content": "hi", "topic": "y"}]]
    assert (asked.choices, asked.stream, asked.wants_usage) == (3, True, True)
    assert asked.left_out == ("user", "messages[].odd", f"messages[].{'z' * 80}")
    assert asked.sampling == {"temperature": 0.5, "extra_body": {"lora": "mine", "topic": "x"}}
    assert "extra_body" not in chat().sampling
    for options in (None, {}, {"include_usage": 1}, "include_usage"):
        assert chat(stream_options=options).wants_usage is False


def test_chat_is_told_whole_and_in_pieces() -> None:
    asked, two = chat(stream=True, stream_options={"include_usage": True}), [answer(), answer(reason="length")]
    usage = {
        "prompt_tokens": 20, "completion_tokens": 14, "total_tokens": 34,
        "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 4},
    }  # fmt: skip
    head = {"id": "chatcmpl-ID", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    assert plain(ChatWire().whole(asked, two)) == head | {
        "object": "chat.completion",
        "choices": [
            {"index": i, "message": SAID, "finish_reason": reason, "logprobs": None}
            for i, reason in enumerate(("stop", "length"))
        ],
        "usage": usage,
    }
    writer = ChatWire().stream(asked)
    assert (writer.open(), writer.media_type) == (b"", "text/event-stream")
    piece = {"index": 1, "delta": {"content": "a"}, "finish_reason": None, "logprobs": None}
    assert events(writer.delta(1, {"content": "a"})) == [head | {"choices": [piece]}]
    assert events(writer.finish(1, two[1])) == [head | {"choices": [piece | {"delta": {}, "finish_reason": "length"}]}]
    told = writer.close(two)
    assert told.endswith(b"\n\ndata: [DONE]\n\n")
    assert events(told.removesuffix(b"data: [DONE]\n\n")) == [head | {"choices": [], "usage": usage}]
    assert ChatWire().stream(chat()).close(two) == b"data: [DONE]\n\n"
    failure = Failure(503, "busy", "overloaded")
    assert events(writer.fail(failure)) == [plain(ChatWire().error(failure))]


# --- messages


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ({"system": "be"}, [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}]),
        ({"system": [{"type": "text", "text": "a"}, {"text": "b"}]},
         [{"role": "system", "content": "ab"}, {"role": "user", "content": "hi"}]),
        ({"system": [{"text": "a"}, {"text": "b", "cache_control": MARK}]},
         [{"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": MARK}]},
          {"role": "user", "content": "hi"}]),
        ({"messages": [{"role": "assistant", "content": None}, {"role": "system", "content": "now"}]},
         [{"role": "assistant", "content": None}, {"role": "system", "content": "now"}]),
    ],
)  # fmt: skip
def test_a_system_prompt_comes_first(data: dict[str, Any], messages: Any) -> None:
    assert message(**data).conversations == [messages]


def test_blocks_become_parts_calls_and_results() -> None:
    told = blocks(
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "4"}]},
        {"type": "text", "text": "so"},
        {"type": "tool_result", "tool_use_id": "u", "cache_control": MARK},
        {"type": "thinking", "thinking": "x"},
        {"type": "redacted_thinking"},
        {"type": "tool_use", "id": "c", "name": "add", "input": {"a": 1}},
        {"type": "tool_use", "id": "d", "name": "now"},
        {"type": "text", "text": "!"},
        role="assistant",
    )
    assert told == [
        {"role": "tool", "tool_call_id": "t", "content": "4"},
        {"role": "tool", "tool_call_id": "u", "content": "", "cache_control": MARK},
        {"role": "assistant", "content": "so!", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
            {"id": "d", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},
    ]  # fmt: skip
    picture = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
    assert blocks({"type": "image", "source": picture}, {"type": "image", "source": {"type": "url", "url": "u"}}) == [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
                                     {"type": "image_url", "image_url": {"url": "u"}}]}
    ]  # fmt: skip
    assert blocks({"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": "b", "cache_control": "x"}) == [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": "b"}]}
    ]  # fmt: skip
    assert blocks({"type": "thinking"}) == [{"role": "user", "content": ""}]
    assert blocks({"type": "tool_result", "tool_use_id": "t"}) == [{"role": "tool", "tool_call_id": "t", "content": ""}]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"max_tokens": 0}, "`max_tokens` must be a whole number above 0"),
        ({"max_tokens": None}, "`max_tokens` must be a whole number above 0"),
        ({"messages": [{"role": "user"}, {"role": "tool"}]}, "`messages[1].role` must be `user` or `assistant`"),
        ({"system": [{"type": "image", "text": "a"}]}, "`system` must be a text or a list of blocks of text"),
        ({"system": ["a"]}, "`system` must be a text or a list of blocks of text"),
        ({"system": [{"text": 1}]}, "`system` must be a text or a list of blocks of text"),
        ({"messages": [{"role": "user", "content": [{"type": "t" * 90}]}]},
         f"`messages[0].content` holds a block that the gateway does not pass on: `{'t' * 80}`"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]},
         "`messages[0].content` holds a block that the gateway does not pass on: `text`"),
        *(({"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]},
           "`messages[0].content` holds an image whose source is neither `base64` nor `url`")
          for source in (None, {"type": "file"}, {"type": "url", "url": 1})),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "image"}]}]}]},
         "`messages[0].content` must be a text or a list of blocks of text"),
        ({"tool_choice": "any"}, "`tool_choice` must be an object"),
        ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "`thinking.budget_tokens` must be a whole number above 0"),
        ({"unheard": 1}, "the gateway does not pass on `unheard`"),
        ({"tools": {"a": 1}}, "`tools` must be a list of objects"),
        ({"tools": [{"type": "w" * 90}], "tool_choice": {"type": "any"}},
         f"the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: `{'w' * 80}`"),
        ({"tools": [{"type": "web"}, {"name": "f", "input_schema": {}}, {"type": "bash"}], "tool_choice": {"type": "tool", "name": "web"}},
         "the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: `bash`, `web`"),
    ],
)  # fmt: skip
def test_what_messages_cannot_have_is_refused(data: dict[str, Any], words: str) -> None:
    assert refusal(message, **data) == words


@pytest.mark.parametrize(
    ("data", "sampling"),
    [
        ({}, {}),
        ({"stop_sequences": ["x"], "temperature": 1, "top_k": 4}, {"stop": ["x"], "temperature": 1, "top_k": 4}),
        ({"stop_sequences": []}, {}),
        ({"thinking": {"type": "disabled", "budget_tokens": 5}}, {}),
        *(({"thinking": {"type": "enabled", "budget_tokens": budget}}, {"reasoning_effort": effort})
          for budget, effort in ((1, "low"), (2_047, "low"), (2_048, "medium"), (8_191, "medium"), (8_192, "high"))),
        ({"tool_choice": {"type": "any"}}, {}),
    ],
)  # fmt: skip
def test_sampling_of_messages_is_named_as_the_chat_api_names_it(data: dict[str, Any], sampling: dict[str, Any]) -> None:
    assert message(**data).sampling == {"max_tokens": 9} | sampling


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (None, {}),
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "any", "disable_parallel_tool_use": True}, {"tool_choice": "required", "parallel_tool_calls": False}),
        ({"type": "any", "disable_parallel_tool_use": 1}, {"tool_choice": "required"}),
        ({"type": "tool", "name": "f"}, {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ],
)
def test_tools_of_messages_and_which_must_be_called(choice: Any, told: dict[str, Any]) -> None:
    tools = [
        {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": MARK},
        {"type": None, "name": "g", "description": "", "input_schema": {}},
        {"type": "custom", "name": "h"},
        {"type": "web", "input_schema": {}},
    ]
    asked = message(tools=tools, tool_choice=choice, metadata={"a": 1}, service_tier=None, stream=True)
    assert asked.sampling == {
        "max_tokens": 9,
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}, "cache_control": MARK},
            {"type": "function", "function": {"name": "g", "parameters": {}}},
        ],
    } | told  # fmt: skip
    assert (asked.left_out, asked.stream) == (("metadata", "tools[].custom", "tools[].web"), True)


def test_messages_are_told_whole() -> None:
    asked = message()
    head = {"id": "msg_ID", "type": "message", "role": "assistant", "model": "m"}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 7}
    content = [
        {"type": "thinking", "thinking": "hmm", "signature": ""},
        {"type": "text", "text": "three"},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
    ]
    ending = {"stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    assert plain(MessagesWire().whole(asked, [answer(reason="tool_calls")])) == head | {"content": content} | ending
    assert MessagesWire().whole(asked, [answer({"refusal": "no"})])["content"] == [{"type": "text", "text": "no"}]
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "other": "end_turn"}
    for reason, told in reasons.items():
        assert MessagesWire().whole(asked, [answer(reason=reason)])["stop_reason"] == told


def test_messages_are_told_in_pieces_one_block_at_a_time() -> None:
    writer = MessagesWire().stream(message())
    head = {"id": "msg_ID", "type": "message", "role": "assistant", "model": "m"}
    empty = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    assert (writer.media_type, events(writer.open())) == (
        "text/event-stream", [{"type": "message_start", "message": head | empty}],
    )  # fmt: skip
    told = b"".join(
        writer.delta(0, delta)
        for delta in (
            {"reasoning_content": "h"},
            {"reasoning_content": "m", "content": "th"},
            {"refusal": "ree"},
            {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}}]},
            {"tool_calls": [{"function": {"arguments": ": 1}"}}, {"index": 1}]},
        )
    )
    assert events(told + writer.finish(0, answer()) + writer.finish(0, answer())) == [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "th"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ree"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c1", "name": "add", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": 1}"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "toolu_ID", "name": "", "input": {}}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}},
        {"type": "content_block_stop", "index": 3},
    ]  # fmt: skip
    usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 7}
    assert events(writer.close([answer(reason="length")])) == [
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    failure = Failure(503, "busy", "overloaded", {"a": 1})
    [told_of_it] = events(writer.fail(failure))
    assert told_of_it == MessagesWire().error(failure) == {
        "type": "error", "request_id": None,
        "error": {"type": "overloaded_error", "message": "busy", "tracebench": {"a": 1}},
    }  # fmt: skip


# --- responses


def test_items_become_messages() -> None:
    assert response(instructions="be").conversations == [
        [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}]
    ]
    texts = [
        {"type": "input_text", "text": "a"},
        {"type": "output_text", "text": "b"},
        {"type": "text"},
        {"type": "refusal", "refusal": "c"},
    ]
    picture = {"type": "input_image", "image_url": "u"}
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    told = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert items(
        {"role": "user", "content": texts},
        call, call,
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"type": "reasoning"},
        {"type": "message", "role": "assistant", "content": "so"},
        call,
        {"role": "user", "content": [texts[0], picture, picture | {"detail": "low"}]},
    ) == [
        {"role": "user", "content": "abc"},
        {"role": "assistant", "content": None, "tool_calls": [told, told]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "assistant", "content": "so", "tool_calls": [told]},
        {"role": "user", "content": [
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "u", "detail": "auto"}},
            {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words"),
    [
        *(({name: "x"}, f"`{name}` needs what earlier requests left; send the whole conversation as `input`")
          for name in ("previous_response_id", "conversation", "prompt", "background")),
        *(({"input": given}, "`input` must be a text or a non-empty list of objects") for given in ("", [], None, ["a"], {"a": 1})),
        ({"input": [{"role": "user", "content": "a"}, {"type": "k" * 90}]},
         f"`input[1]` is of a type that the gateway does not pass on: `{'k' * 80}`"),
        ({"unheard": 1}, "the gateway does not pass on `unheard`"),
        *(({"input": [{"role": "user", "content": [part]}]}, f"`input[0].content` holds a part that the gateway does not pass on: `{kind}`")
          for part, kind in (("a", "None"), ({"type": "t" * 90}, "t" * 80), ({"type": "input_image"}, "input_image"))),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}, "`input[0].content` holds a text that is none"),
        *(({name: [1]}, "`text` and `reasoning` must be objects") for name in ("text", "reasoning")),
        ({"input": [{"content": "a"}]}, "`input[0]` must be an object with a `role`"),
        ({"tools": [{"type": "web"}], "tool_choice": "required"},
         "the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: `web`"),
        ({"tools": [{"type": "web"}], "tool_choice": {"type": "allowed_tools", "mode": "required"}},
         "the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: `web`"),
        ({"tools": [{"type": "web"}], "tool_choice": {"type": "web"}},
         "the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: `web`"),
    ],
)  # fmt: skip
def test_what_responses_cannot_have_is_refused(data: dict[str, Any], words: str) -> None:
    assert refusal(response, **data) == words


FUNCTION = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False}


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (None, {}),
        ("auto", {"tool_choice": "auto"}),
        ("required", {"tool_choice": "required"}),
        ({"type": "allowed_tools", "mode": "auto"}, {"tool_choice": "auto"}),
        ({"type": "allowed_tools", "mode": "required"}, {"tool_choice": "required"}),
        ({"type": "function", "name": "f"}, {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ],
)
def test_tools_of_responses_and_which_must_be_called(choice: Any, told: dict[str, Any]) -> None:
    inside = {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "g"}, {"type": "image"}]}
    asked = response(tools=[FUNCTION, inside, {"type": "web"}, {"type": "function"}], tool_choice=choice)
    assert asked.sampling == {
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False}},
            {"type": "function", "function": {"name": "g"}},
            {"type": "function", "function": {"name": ""}},
        ],
    } | told  # fmt: skip
    assert asked.left_out == ("tools[].image", "tools[].web")
    assert asked.own["namespaces"] == {"g": "crm"}


@pytest.mark.parametrize(
    ("data", "sampling"),
    [
        ({"max_output_tokens": 5, "reasoning": {"effort": "low"}}, {"max_tokens": 5, "reasoning_effort": "low"}),
        ({"reasoning": {"summary": "auto"}, "text": {"verbosity": "low"}}, {"verbosity": "low"}),
        ({"text": {"format": {"type": "text"}}}, {}),
        ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
        ({"text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}},
         {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}}),
        ({"tool_choice": "required", "parallel_tool_calls": True}, {}),
    ],
)  # fmt: skip
def test_sampling_of_responses_is_named_as_the_chat_api_names_it(
    data: dict[str, Any], sampling: dict[str, Any]
) -> None:
    assert response(**data).sampling == sampling


USED = {
    "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
    "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 17,
}  # fmt: skip


def told_response(**changed: Any) -> dict[str, Any]:
    return {
        "id": "resp_ID", "object": "response", "created_at": 0, "status": "completed", "error": None, "incomplete_details": None,
        "instructions": None, "max_output_tokens": None, "metadata": {}, "model": "m", "output": [], "parallel_tool_calls": True,
        "previous_response_id": None, "reasoning": {"effort": None, "summary": None}, "store": False, "temperature": None,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": None, "truncation": "disabled",
        "usage": USED, "user": None,
    } | changed  # fmt: skip


THOUGHT = {"id": "rs_ID", "type": "reasoning", "summary": [], "status": "completed",
           "content": [{"type": "reasoning_text", "text": "hmm"}]}  # fmt: skip
PART = {"type": "output_text", "text": "three", "annotations": [], "logprobs": []}
TEXT = {"id": "msg_ID", "type": "message", "role": "assistant", "status": "completed", "content": [PART]}
CALLED = {
    "id": "fc_ID",
    "type": "function_call",
    "status": "completed",
    "call_id": "c1",
    "name": "add",
    "arguments": '{"a": 1}',
}


def test_responses_are_told_whole() -> None:
    whole = ResponsesWire().whole
    assert plain(whole(response(), [answer()])) == told_response(output=[THOUGHT, TEXT, CALLED])
    tools = [FUNCTION, {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "add"}]}]
    given = {"instructions": "be", "max_output_tokens": 5, "metadata": {"a": "b"}, "parallel_tool_calls": False, "temperature": 0.5,
             "top_p": 0.9, "tool_choice": "required", "tools": tools, "reasoning": {"effort": "low"}}  # fmt: skip
    assert plain(whole(response(**given), [answer({"tool_calls": [CALL]}, "length")])) == told_response(
        **given | {"reasoning": {"effort": "low", "summary": None}},
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
        output=[CALLED | {"namespace": "crm"}],
    )
    for said, text in (({"content": ""}, ""), ({"refusal": "no"}, "no")):
        output = plain(whole(response(), [answer(said)]))["output"]
        assert output == [TEXT | {"content": [PART | {"text": text}]}]


def test_responses_are_told_in_pieces() -> None:
    writer = ResponsesWire().stream(response())
    told = writer.open()
    for delta in (
        {"reasoning_content": "h", "content": "thr"},
        {"refusal": "ee", "reasoning_content": "mm"},
        {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "ad", "arguments": '{"a"'}}]},
        {"tool_calls": [{"function": {"name": "d", "arguments": ": 1}"}}]},
        {"tool_calls": [{"index": 1}]},
    ):
        told += writer.delta(0, delta)
    told += writer.finish(0, answer()) + writer.close([answer()])
    begun = told_response(status="in_progress", usage=None)
    nameless = CALLED | {"call_id": "call_ID", "name": "", "arguments": ""}
    thought, text, call = ({"item_id": f"{kind}_ID", "output_index": i} for i, kind in enumerate(("rs", "msg", "fc")))
    after, at = {"item_id": "fc_ID", "output_index": 3}, {"content_index": 0}
    expected: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": begun}),
        ("in_progress", {"response": begun}),
        ("output_item.added", {"output_index": 0, "item": THOUGHT | {"status": "in_progress", "content": [{"type": "reasoning_text",
        "text": ""}]}}),
        ("reasoning_text.delta", thought | at | {"delta": "h"}),
        ("output_item.added", {"output_index": 1, "item": TEXT | {"status": "in_progress", "content": []}}),
        ("content_part.added", text | at | {"part": PART | {"text": ""}}),
        ("output_text.delta", text | at | {"delta": "thr", "logprobs": []}),
        ("reasoning_text.delta", thought | at | {"delta": "mm"}),
        ("output_text.delta", text | at | {"delta": "ee", "logprobs": []}),
        ("output_item.added", {"output_index": 2, "item": CALLED | {"status": "in_progress", "name": "ad", "arguments": ""}}),
        ("function_call_arguments.delta", call | {"delta": '{"a"'}),
        ("function_call_arguments.delta", call | {"delta": ": 1}"}),
        ("output_item.added", {"output_index": 3, "item": nameless | {"status": "in_progress"}}),
        ("reasoning_text.done", thought | at | {"text": "hmm"}),
        ("output_item.done", {"output_index": 0, "item": THOUGHT}),
        ("output_text.done", text | at | {"text": "three", "logprobs": []}),
        ("content_part.done", text | at | {"part": PART}),
        ("output_item.done", {"output_index": 1, "item": TEXT}),
        ("function_call_arguments.done", call | {"arguments": '{"a": 1}', "name": "add"}),
        ("output_item.done", {"output_index": 2, "item": CALLED}),
        ("function_call_arguments.done", after | {"arguments": "", "name": ""}),
        ("output_item.done", {"output_index": 3, "item": nameless}),
        ("completed", {"response": told_response(output=[THOUGHT, TEXT, CALLED, nameless])}),
    ]  # fmt: skip
    assert events(told) == [
        {"type": f"response.{kind}", "sequence_number": number, **data} for number, (kind, data) in enumerate(expected)
    ]
    [failed] = events(writer.fail(Failure(503, "busy", "overloaded")))
    assert failed == {
        "type": "error", "sequence_number": len(expected), "code": "overloaded", "message": "busy", "param": None,
    }  # fmt: skip
    cut = ResponsesWire().stream(response())
    assert events(cut.close([answer(reason="length")]))[0]["type"] == "response.incomplete"


# --- gemini


def test_contents_become_messages() -> None:
    call = {"functionCall": {"name": "add", "args": {"a": "é"}}}
    asked = gemini(
        systemInstruction="be",
        contents=[
            {"parts": [{"text": "a"}, {"text": "b", "videoMetadata": {"fps": 1}, "mediaResolution": {}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "so"}]},
            {"role": "model", "parts": [call, {"functionCall": {"id": "own", "name": "add"}}]},
            {"role": "function", "parts": [
                {"functionResponse": {"name": "add", "id": "own", "response": {"r": 2}}},
                {"functionResponse": {"name": "add", "scheduling": "x" * 9, "y" * 90: 1}},
                {"text": "then"}]},
            {"role": "user", "parts": [{"inline_data": {"mime_type": "audio/mpeg", "data": "-_"}},
                                       {"inlineData": {"mimeType": "image/png", "data": "-_"}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}]},
            {"role": "user", "parts": [{"thoughtSignature": "s"}]},
        ],
    )  # fmt: skip
    assert asked.conversations[0] == [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "ab"},
        {"role": "assistant", "content": "so", "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": '{"a": "é"}'}},
            {"id": "own", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "own", "content": '{"r": 2}'},
        {"role": "tool", "tool_call_id": "call_0", "content": "{}"},
        {"role": "user", "content": "then"},
        {"role": "user", "content": [
            {"type": "input_audio", "input_audio": {"data": "+/", "format": "mp3"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,+/"}}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": ""},
    ]  # fmt: skip
    assert asked.left_out == (
        "contents[].parts[].functionResponse.scheduling",
        f"contents[].parts[].functionResponse.{'y' * 80}",
        "contents[].parts[].videoMetadata",
    )
    system = gemini(systemInstruction={"parts": [{"text": "a"}, {"text": "b"}]}).conversations[0][0]
    assert system == {"role": "system", "content": "ab"}
    assert parts({"functionResponse": {"name": "f", "id": "far"}}) == [
        {"role": "tool", "tool_call_id": "far", "content": "{}"}
    ]


def test_a_result_without_an_id_answers_the_earliest_call_that_has_none() -> None:
    calls = [{"functionCall": {"id": name, "name": "f"}} for name in ("one", "two")]
    results = [{"functionResponse": {"name": "f"}}] * 2
    told = gemini(contents=[{"role": "model", "parts": calls}, {"parts": results}]).conversations[0]
    assert [m["tool_call_id"] for m in told[1:]] == ["one", "two"]
    for kept in ({"role": "user"}, {"role": "model", "extra": 1}):  # these stay contents of their own
        pair = [{"role": "model", "parts": [{"text": "a"}]}, {**kept, "parts": [{"text": "b"}]}]
        if "extra" in kept:
            assert refusal(gemini, contents=pair) == "the gateway does not pass on `contents[1].extra`"
        else:
            assert [m["content"] for m in gemini(contents=pair).conversations[0]] == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x", "`contents[0]` must be an object"),
        ({"role": "tool", "parts": [{"text": "a"}]}, "`contents[0].role` must be `user` or `model`"),
        ({"role": 1, "parts": [{"text": "a"}]}, "`contents[0].role` must be `user` or `model`"),
        ({"u" * 90: 1, "parts": [{"text": "a"}]}, f"the gateway does not pass on `contents[0].{'u' * 80}`"),
        *(({"parts": held}, "`contents[0].parts` must be a non-empty list of objects") for held in ([], None, "a")),
        ({"parts": ["a"]}, "`contents[0].parts[]` must be an object"),
        ({"parts": [{"text": 1}]}, "`contents[0]` holds a text that is none"),
        ({"parts": [{}]}, "`contents[0]` holds a part that the gateway does not pass on: ``"),
        ({"parts": [{"text": "a", "inlineData": {}}]}, "`contents[0]` holds a part that the gateway does not pass on: `text, inlineData`"),
        ({"parts": [{"text": "a", "toolCall": {}}]}, "`contents[0]` holds a part that the gateway does not pass on: `toolCall`"),
        ({"parts": [{"text": "a", "w" * 90: {}}]}, f"`contents[0]` holds a part that the gateway does not pass on: `{'w' * 80}`"),
        ({"parts": [{"partMetadata": {}}]}, "`contents[0]` holds a part that the gateway does not pass on: `partMetadata`"),
        ({"parts": [{"fileData": {}}]},
        "`contents[0]` holds a part that the gateway does not pass on: `fileData`; send it as `inlineData`"),
        ({"parts": [{"text": "a", "inline_data": {}, "inlineData": {}}]}, "contents[0].parts[] has `inlineData` twice"),
        *(({"parts": [{"functionCall": call}]}, "`contents[0].functionCall` must have a `name`, and `args` that are an object")
          for call in ({}, {"name": ""}, {"name": 1}, {"name": "f", "args": [1]})),
        ({"parts": [{"functionResponse": {"name": "n" * 90}}]},
         f"`contents[0].functionResponse` answers no call before it: `{'n' * 80}`"),
        ({"parts": [{"functionResponse": {"name": "f", "parts": [1]}}]},
         "`contents[0].functionResponse.parts` is not passed on by the gateway"),
        *(({"parts": [{"inlineData": blob}]}, "`contents[0].inlineData` must have a `mimeType` and `data`")
          for blob in ({"data": ""}, {"mimeType": "image/png"})),
        ({"parts": [{"inlineData": {"mimeType": "v" * 90, "data": ""}}]},
         f"`contents[0].inlineData` is of a type that the gateway does not pass on: `{'v' * 80}`"),
    ],
)  # fmt: skip
def test_a_content_that_has_no_form_elsewhere_is_refused(given: Any, words: str) -> None:
    assert refusal(gemini, contents=[given]) == words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"contents": []}, "`contents` must be a non-empty list of objects with `parts`"),
        ({"method": "m" * 90}, f"the gateway offers `generateContent` and `streamGenerateContent`, not `{'m' * 80}`"),
        ({"cachedContent": "c"}, "`cachedContent` needs what earlier requests left; send the whole conversation as `contents`"),
        ({"generationConfig": [1]}, "`generationConfig` must be an object"),
        ({"generationConfig": {"z" * 90: 1}}, f"the gateway does not pass on `generationConfig.{'z' * 80}`"),
        ({"generationConfig": {"thinkingConfig": {"z" * 90: 1}}},
         f"the gateway does not pass on `generationConfig.thinkingConfig.{'z' * 80}`"),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": -2}}},
         "`generationConfig.thinkingConfig.thinkingBudget` must be a whole number above 0"),
        *(({"generationConfig": {"responseModalities": kinds}},
           "`generationConfig.responseModalities` may name `TEXT` alone: the gateway passes on no other answers")
          for kinds in ("TEXT", ["TEXT", "AUDIO"])),
        ({"generationConfig": {"responseJsonSchema": [1]}}, "`generationConfig.responseSchema` must be an object"),
        ({"generationConfig": {"responseMimeType": "k" * 90}},
         f"`generationConfig.responseMimeType` is none that the gateway passes on: `{'k' * 80}`"),
        ({"generationConfig": {"candidateCount": 129}}, "`candidateCount` must be a whole number from 1 to 128"),
        ({"systemInstruction": {"parts": [{"inlineData": {}}]}}, "`systemInstruction` must hold texts alone"),
        ({"systemInstruction": {"parts": []}}, "`systemInstruction.parts` must be a non-empty list of objects"),
        ({"unheard": 1}, "the gateway does not pass on `unheard`"),
    ],
)  # fmt: skip
def test_what_gemini_cannot_have_is_refused(data: dict[str, Any], words: str) -> None:
    assert refusal(gemini, **data) == words


@pytest.mark.parametrize(
    ("config", "sampling"),
    [
        ({}, {}),
        ({"temperature": 0, "topP": 0.5, "topK": 4.0, "maxOutputTokens": 3, "stopSequences": ["x"], "seed": 1, "presencePenalty": 0.1,
          "frequencyPenalty": 0.2},
         {"temperature": 0, "top_p": 0.5, "top_k": 4, "max_tokens": 3, "stop": ["x"], "seed": 1, "presence_penalty": 0.1,
          "frequency_penalty": 0.2}),
        ({"stopSequences": [], "responseModalities": ["text"], "responseMimeType": "text/plain"}, {}),
        ({"responseMimeType": "application/json"}, {"response_format": {"type": "json_object"}}),
        ({"responseMimeType": "text/x.enum"}, {"response_format": {"type": "json_object"}}),
        ({"responseMimeType": "application/json", "responseSchema": {"type": "STRING"}},
         {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "string"}}}}),
        ({"responseJsonSchema": {"type": "X"}, "responseSchema": {"type": "STRING"}},
         {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "X"}}}}),
        *(({"thinkingConfig": thinking}, {"reasoning_effort": effort} if effort else {})
          for thinking, effort in (({"thinkingLevel": "LOW", "thinkingBudget": 9_999}, "low"), ({"thinkingBudget": 0}, "none"),
                                   ({"thinkingBudget": -1}, None), ({"thinkingBudget": 2_048}, "medium"),
                                   ({"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED", "thinkingBudget": 5}, "low"))),
    ],
)  # fmt: skip
def test_sampling_of_gemini_is_named_as_the_chat_api_names_it(config: dict[str, Any], sampling: dict[str, Any]) -> None:
    assert gemini(generationConfig=config).sampling == sampling


THINKS = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def test_gemini_is_told_whole() -> None:
    asked = gemini(model="models/m", generationConfig={"candidateCount": 2, "logprobs": 3}, labels={"a": "b"})
    assert (asked.choices, asked.stream, asked.left_out, asked.own) == (
        2, False, ("labels", "generationConfig.logprobs"), {"thoughts": False, "sse": False},
    )  # fmt: skip
    call = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}
    texts = [answer({"content": ""}, "length"), answer({"refusal": "no"}, "content_filter", Tokens(1, 1))]
    assert plain(GeminiWire().whole(asked, [answer(), *texts])) == {
        "candidates": [
            {"content": {"parts": [{"text": "three"}, call], "role": "model"}, "finishReason": "STOP", "index": 0},
            {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "MAX_TOKENS", "index": 1},
            {"content": {"parts": [{"text": "no"}], "role": "model"}, "finishReason": "SAFETY", "index": 2},
        ],
        "usageMetadata": {
            "promptTokenCount": 21, "candidatesTokenCount": 11, "thoughtsTokenCount": 4, "cachedContentTokenCount": 8,
            "totalTokenCount": 36,
        },
        "modelVersion": "m", "responseId": "ID",
    }  # fmt: skip
    only = GeminiWire().whole(gemini(**THINKS), [answer({"reasoning_content": "hmm", "tool_calls": [CALL]})])
    assert only["candidates"][0]["content"]["parts"] == [{"text": "hmm", "thought": True}, call]


@pytest.mark.parametrize("alt", ["sse", "json"])
def test_gemini_is_told_in_pieces_in_either_form(alt: str) -> None:
    asked = gemini(method="streamGenerateContent", alt=alt, **THINKS)
    writer = GeminiWire().stream(asked)
    assert (asked.stream, writer.open(), writer.finish(0, answer())) == (True, b"", b"")
    assert writer.media_type == {"sse": "text/event-stream", "json": "application/json"}[alt]
    assert writer.delta(0, {"tool_calls": [CALL]}) == b""
    told = writer.delta(0, {"reasoning_content": "h"}) + writer.delta(1, {"content": "a", "tool_calls": [CALL]})
    told += writer.close([answer(), answer({"content": "b"}, "length")])
    tail = {"modelVersion": "m", "responseId": "ID"}
    call = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 10, "thoughtsTokenCount": 4, "cachedContentTokenCount": 8,
    "totalTokenCount": 34}  # fmt: skip
    assert (events(told) if alt == "sse" else plain(json.loads(told))) == [
        {"candidates": [{"content": {"parts": [{"text": "h", "thought": True}], "role": "model"}, "index": 0}], **tail},
        {"candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}, "index": 1}], **tail},
        {"candidates": [
            {"content": {"parts": [call], "role": "model"}, "finishReason": "STOP", "index": 0},
            {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "MAX_TOKENS", "index": 1},
        ], "usageMetadata": usage, **tail},
    ]  # fmt: skip
    failed = GeminiWire().stream(asked)
    begun, broken = failed.delta(0, {"content": "a"}), failed.fail(Failure(504, "late", "timeout", {"a": 1}))
    told_last = events(begun + broken)[-1] if alt == "sse" else json.loads(begun + broken)[-1]
    assert told_last == {
        "error": {"code": 504, "message": "late", "status": "DEADLINE_EXCEEDED", "tracebench": {"a": 1}}
    }


@pytest.mark.parametrize(
    ("wire", "kinds"),
    [
        (MessagesWire(), {400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 404: "not_found_error",
                          413: "request_too_large", 503: "overloaded_error", 504: "timeout_error", 502: "api_error"}),
        (GeminiWire(), {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "RESOURCE_EXHAUSTED", 404: "NOT_FOUND",
        408: "DEADLINE_EXCEEDED",
                        409: "ABORTED", 413: "INVALID_ARGUMENT", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
                        500: "INTERNAL"}),
    ],
)  # fmt: skip
def test_a_failure_has_the_kind_that_clients_know_by_its_status(wire: Any, kinds: dict[int, str]) -> None:
    for status, kind in kinds.items():
        error = wire.error(Failure(status, "m", "k"))["error"]
        assert (error.get("status") or error["type"], error["message"]) == (kind, "m")
