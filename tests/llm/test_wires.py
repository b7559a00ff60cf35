"""Every wire beside its own vendor's client: what is asked reaches a server field by field, and its answer is what the client reads."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from tests.llm.conftest import KEY, Door, Open, say
from tests.llm.scripted import Scripted, chat, chunks

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Budget, Endpoint

if TYPE_CHECKING:
    import openai

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
PIECES = [
    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": ""}},
    {"index": 0, "function": {"arguments": '{"a": 1,'}},
    {"index": 0, "function": {"arguments": ' "b": 2}'}},
]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


def openai_for(endpoint: Endpoint) -> openai.OpenAI:
    """Return OpenAI's client, without retries."""
    import openai

    return openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key.get_secret_value(), max_retries=0)


def anthropic_for(endpoint: Endpoint) -> Any:
    """Return Anthropic's client, without retries."""
    anthropic = pytest.importorskip("anthropic", reason="the extra client `anthropic` is not installed")
    base_url = endpoint.base_url.removesuffix("/v1")
    return anthropic.Anthropic(base_url=base_url, api_key=endpoint.api_key.get_secret_value(), max_retries=0)


def test_responses_field_by_field_and_streamed(door: Door, server: Scripted) -> None:
    server.answer = chat(
        {"content": "three", "reasoning_content": "hmm", "tool_calls": [CALL]}, finish_reason="tool_calls"
    )
    tool = {"type": "function", "name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}
    history = [
        {"role": "user", "content": [{"type": "input_text", "text": "1 + 2?"}]},
        {"type": "reasoning", "summary": [], "id": "rs_1"},
        {"type": "function_call", "call_id": "c0", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c0", "output": "3"},
        {"role": "user", "content": "again"},
    ]
    asked: dict[str, Any] = {
        "model": "fake", "instructions": "Be brief.", "input": history, "max_output_tokens": 50, "temperature": 0.5, "top_p": 0.9,
        "tools": [tool], "tool_choice": {"type": "function", "name": "add"}, "parallel_tool_calls": False,
        "reasoning": {"effort": "low"}, "store": False, "extra_body": {"top_k": 5},
        "text": {"format": {"type": "json_schema", "name": "s", "schema": SCHEMA, "strict": True}, "verbosity": "low"},
    }  # fmt: skip
    with openai_for(door.client.endpoint("agent")) as sdk:
        whole = sdk.responses.create(**asked)
        path, sent = server.asked[0]
        server.answer = chunks(
            {"reasoning_content": "hmm"}, {"content": "thr"}, {"content": "ee"}, *({"tool_calls": [p]} for p in PIECES)
        )
        with sdk.responses.stream(**{k: v for k, v in asked.items() if k != "text"}) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_response()

    assert path == "/v1/chat/completions"
    assert sent == {
        "model": "fake", "max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "parallel_tool_calls": False,
        "reasoning_effort": "low", "verbosity": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA, "strict": True}},
        "tools": [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}}],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "1 + 2?"},
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c0", "content": "3"},
            {"role": "user", "content": "again"},
        ],
    }  # fmt: skip
    for response in (whole, streamed):
        assert response.status == "completed"
        assert response.output_text == "three"
        assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
        assert (response.output[2].call_id, response.output[2].name) == ("call_1", "add")
        assert json.loads(response.output[2].arguments) == {"a": 1, "b": 2}
        assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)
        assert response.usage.input_tokens_details.cached_tokens == 4
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert "response.function_call_arguments.done" in kinds


def test_messages_field_by_field_and_streamed(door: Door, server: Scripted) -> None:
    server.answer = chat(
        {"content": "three", "reasoning_content": "hmm", "tool_calls": [CALL]}, finish_reason="tool_calls"
    )
    asked: dict[str, Any] = {
        "model": "fake", "max_tokens": 50, "system": [{"type": "text", "text": "Be brief."}],
        "extra_body": {"temperature": 0.5, "top_p": 0.9, "top_k": 5},
        "stop_sequences": ["END"], "tools": [{"name": "add", "description": "adds", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True}, "metadata": {"user_id": "me"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "1 + 2?"},
                                         {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                                              {"type": "text", "text": "I add."},
                                              {"type": "tool_use", "id": "t0", "name": "add", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t0", "content": [{"type": "text", "text": "3"}]},
                                         {"type": "text", "text": "again"}]},
        ],
    }  # fmt: skip
    with anthropic_for(door.client.endpoint("agent")) as sdk:
        whole = sdk.messages.create(**asked)
        path, sent = server.asked[0]
        server.answer = chunks(
            {"reasoning_content": "hmm"},
            {"content": "thr"},
            {"content": "ee"},
            *({"tool_calls": [p]} for p in PIECES),
            finish_reason="tool_calls",
        )
        with sdk.messages.stream(**asked) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_message()
        counted = sdk.messages.count_tokens(model="fake", messages=say("a" * 40))

    assert path == "/v1/chat/completions"
    assert sent == {
        "model": "fake", "max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop": ["END"], "parallel_tool_calls": False,
        "tools": [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": SCHEMA}}],
        "tool_choice": "required",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "1 + 2?"},
                                         {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
            {"role": "assistant", "content": "I add.",
             "tool_calls": [{"id": "t0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]},
            {"role": "tool", "tool_call_id": "t0", "content": "3"},
            {"role": "user", "content": "again"},
        ],
    }  # fmt: skip
    for message in (whole, streamed):
        assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
        assert (message.content[0].thinking, message.content[1].text) == ("hmm", "three")
        assert (message.content[2].id, message.content[2].name, message.content[2].input) == (
            "call_1",
            "add",
            {"a": 1, "b": 2},
        )
        assert message.stop_reason == "tool_use"
        usage = message.usage
        assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (7, 4, 7)
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    assert counted.input_tokens == 14


def test_completions_and_embeddings_go_to_routes_of_their_own(door: Door, server: Scripted) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    server.answer = {"id": "x", "choices": [{"index": 0, "text": " time", "finish_reason": "length"}], "usage": usage}
    with openai_for(door.client.endpoint("agent")) as sdk:
        whole = sdk.completions.create(model="fake", prompt=["once upon a", "two"], max_tokens=3)
        server.answer = [{"choices": [{"index": 0, "text": t, "finish_reason": None}]} for t in (" ti", "me")]
        server.answer += [{"choices": [{"index": 0, "text": "", "finish_reason": "stop"}], "usage": usage}]
        streamed = "".join(c.choices[0].text for c in sdk.completions.create(model="fake", prompt="once", stream=True))
        server.answer = {
            "data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}],
            "usage": {"prompt_tokens": 6, "total_tokens": 6},
        }
        vectors = sdk.embeddings.create(model="fake", input=["a", "b"], dimensions=2)

    assert [path for path, _ in server.asked] == ["/v1/completions"] * 3 + ["/v1/embeddings"]
    assert {body["prompt"] for _, body in server.asked[:2]} == {"once upon a", "two"}
    assert server.asked[3][1] == {"model": "fake", "dimensions": 2, "input": ["a", "b"], "encoding_format": "float"}
    assert [choice.text for choice in whole.choices] == [" time"] * 2
    assert whole.usage.total_tokens == 16
    assert streamed == " time"
    assert [entry.embedding for entry in vectors.data] == [[1, 0], [0, 1]]
    assert [(r.prompt_tokens, r.completion_tokens) for r in door.client.records()] == [(5, 3), (5, 3), (5, 3), (6, 0)]
    assert door.client.used().usd == pytest.approx((3 * (5 + 3 * 2) + 6) / 1e6)


def ask(door: Door, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a body; returns what is answered, which must be an answer."""
    key = door.client.endpoint("agent").api_key.get_secret_value()
    status, text = door.client._exchange("POST", f"/v1/{path}", {"x-api-key": key}, json.dumps(body).encode())
    assert status == 200, text
    return dict(json.loads(text))


def left_out(door: Door) -> list[str]:
    """Return what the ledger's last line says was left out."""
    return list(json.loads((door.run_dir / "llm/ledger.jsonl").read_text().splitlines()[-1]).get("left_out", []))


def test_what_a_provider_would_run_is_left_out_and_told_and_a_namespace_is_flattened(
    door: Door, server: Scripted
) -> None:
    server.answer = chat({"content": None, "tool_calls": [CALL]}, finish_reason="tool_calls")
    add = {"type": "function", "name": "add", "parameters": SCHEMA}
    tools = [
        {"type": "namespace", "name": "agents", "tools": [add]},
        {"type": "web_search"},
        {"type": "custom", "name": "x"},
    ]
    answer = ask(door, "responses", {"input": "1 + 2?", "tools": tools, "tool_choice": "auto"})
    assert [tool["function"]["name"] for tool in server.asked[0][1]["tools"]] == ["add"]
    assert (answer["output"][0]["name"], answer["output"][0]["namespace"]) == ("add", "agents")
    assert left_out(door) == ["tools[].custom", "tools[].web_search"]

    server.answer = chat({"content": "three"})
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    ask(door, "messages", {"messages": say("x"), "max_tokens": 5, "tools": [hosted], "tool_choice": {"type": "auto"}})
    assert not server.asked[1][1].keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    assert left_out(door) == ["tools[].web_search_20250305"]


def test_what_a_provider_shall_cache_reaches_it_and_is_priced_as_it_was_written_and_read(
    open_door: Open, server: Scripted
) -> None:
    prices = {"fake": {"prompt": 1, "completion": 2, "cached": 0.1, "written": 1.25}}
    door = open_door(mode="real", base_url=server.base_url, prices=prices)
    mark = {"cache_control": {"type": "ephemeral"}}
    text = {"type": "text", "text": "a long text", **mark}
    details = {"cached_tokens": 30, "cache_write_tokens": 60}
    server.answer = chat(
        {"content": "x"}, usage={"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    )
    tool = {"name": "add", "input_schema": SCHEMA, **mark}
    body = {"system": [text], "messages": [{"role": "user", "content": [text]}], "tools": [tool], "max_tokens": 5}
    usage = ask(door, "messages", body)["usage"]
    ask(door, "chat/completions", {"messages": [{"role": "user", "content": [text]}]})
    sent, chatted = (body for _, body in server.asked)
    assert [message["content"] for message in sent["messages"]] == [[text], [text]]
    assert sent["tools"][0]["cache_control"] == mark["cache_control"]
    assert chatted["messages"][0]["content"] == [text]
    assert (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"], usage["input_tokens"]) == (
        30,
        60,
        10,
    )
    assert [record.usd for record in door.client.records()] == [(10 + 3 + 75 + 10) / 1e6] * 2


def ask_every_way(door: Door) -> list[Any]:
    """Ask once on every wire, whole and streamed; returns what was said."""
    endpoint = door.client.endpoint("agent")
    said: list[Any] = []
    with openai_for(endpoint) as sdk:
        model = endpoint.model
        said.append(sdk.chat.completions.create(model=model, messages=say("a b c d e")).choices[0].message.content)
        said.append(sdk.responses.create(model=model, input="a b c d e f").output_text)
        with sdk.responses.stream(model=model, input="a b c d e f g") as stream:
            said.append(stream.get_final_response().output_text)
        said.append(sdk.completions.create(model=model, prompt="a b c d e f g h").choices[0].text)
        vector = sdk.embeddings.create(model=model, input="a b c").data[0].embedding
        said.append([round(x, 6) for x in vector])
    with anthropic_for(endpoint) as sdk:
        said.append(sdk.messages.create(model=model, max_tokens=100, messages=say("a b c d")).content[0].text)
        with sdk.messages.stream(model=model, max_tokens=100, messages=say("a b c")) as stream:
            said.append(stream.get_final_text())
    return said


def test_every_wire_is_recorded_and_replayed_alike(open_door: Open) -> None:
    door = open_door(record=True)
    said = ask_every_way(door)
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=door.run_dir)
    assert ask_every_way(again) == said
    assert math.isclose(math.hypot(*said[4]), 1, abs_tol=1e-4)
    assert again.client.used() == door.client.used()


def test_a_spent_budget_is_a_refusal_on_every_wire(open_door: Open) -> None:
    import openai

    door = open_door(budget=Budget(llm_calls=0))
    endpoint = door.client.endpoint("agent")
    with openai_for(endpoint) as sdk:
        for ask in (
            lambda: sdk.responses.create(model="stub", input="hi"),
            lambda: sdk.completions.create(model="stub", prompt="hi", stream=True),
            lambda: sdk.embeddings.create(model="stub", input="hi"),
        ):
            with pytest.raises(openai.APIStatusError) as refusal:
                ask()
            assert (refusal.value.status_code, refusal.value.code) == (402, "insufficient_quota")
    with anthropic_for(endpoint) as sdk:
        for stream in (False, True):
            with pytest.raises(Exception, match="job budget reached") as told:
                sdk.messages.create(model="stub", max_tokens=5, messages=say("hi"), stream=stream)
            assert told.value.body["error"]["type"] == "billing_error"
    with pytest.raises(BudgetExhausted):
        door.client.complete(say("hi"), role="agent")


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("responses", {"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ("responses", {"input": "x", "tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}, "web_search"),
        ("responses", {"input": "x", "tools": [{"type": "web_search"}], "tool_choice": "required"}, "web_search"),
        ("responses", {"input": [{"type": "item_reference", "id": "x"}]}, "item_reference"),
        ("messages", {"messages": say("x")}, "max_tokens"),
        ("messages", {"messages": say("x"), "max_tokens": 5, "tools": [{"type": "bash_20250124", "name": "bash"}],
                      "tool_choice": {"type": "tool", "name": "bash"}}, "bash"),
        ("completions", {"prompt": "x", "echo": True}, "echo"),
        ("completions", {"prompt": ["x"] * 100, "n": 2}, "at most 128"),
        ("embeddings", {"input": []}, "input"),
        ("embeddings", {"input": "x", "stream": True}, "stream"),
    ],
)  # fmt: skip
def test_what_no_model_is_asked_for_is_named(open_door: Open, path: str, body: dict[str, Any], words: str) -> None:
    door = open_door()
    key = door.client._access.keys["agent"]["training"]
    status, text = door.client._exchange("POST", f"/v1/{path}", {"x-api-key": key}, json.dumps(body).encode())
    assert status == 400
    assert words in json.loads(text)["error"]["message"]
    assert door.client.records() == []


def test_a_role_asks_the_models_on_its_list_and_no_other(open_door: Open, server: Scripted) -> None:
    import openai

    server.answer = chat({"content": "hi"}, usage={"prompt_tokens": 10, "completion_tokens": 1})
    models = {
        "small": {"model": "tiny", "prices": {"prompt": 1, "completion": 0}},
        "big": {"prices": {"prompt": 5, "completion": 0}},
    }
    roles = {"agent": {"models": models, "extra_body": {"min_p": 0.1}}}
    door = open_door(mode="real", base_url=server.base_url, roles=roles, model=None, budget=Budget(usd=1.0))
    with openai_for(door.client.endpoint("agent")) as sdk:
        assert [model.id for model in sdk.models.list()] == ["tiny", "small", "big"]
        for name in ("", "small", "big", "tiny"):
            sdk.chat.completions.create(model=name, messages=say("x"), extra_body={"top_k": 3})
        with pytest.raises(openai.NotFoundError, match="`small`, `big`; not `huge`"):
            sdk.chat.completions.create(model="huge", messages=say("x"))
    assert [body["model"] for _, body in server.asked] == ["tiny", "tiny", "big", "tiny"]
    assert all((body["min_p"], body["top_k"]) == (0.1, 3) for _, body in server.asked)
    assert [r.model for r in door.client.records()] == ["tiny", "tiny", "big", "tiny"]
    assert [r.usd for r in door.client.records()] == pytest.approx([1e-5, 1e-5, 5e-5, 1e-5])


def test_a_redirect_is_not_followed(open_door: Open) -> None:
    with (
        Scripted(chat({"content": "stolen"})) as thief,
        Scripted({}, status=307, headers={"Location": f"{thief.base_url}/chat/completions"}) as server,
    ):
        door = open_door(mode="real", base_url=server.base_url)
        with pytest.raises(Exception, match="HTTP 307"):
            door.client.complete(say("secret"), role="agent")
        assert thief.asked == []


def test_what_a_config_says_of_generation_and_headers_reaches_the_server(open_door: Open, server: Scripted) -> None:
    server.answer = chat({"content": "x"})
    said = {"top_p": 0.5, "seed": 7, "reasoning_effort": "low", "temperature": 0.0}
    door = open_door(
        mode="real", base_url=server.base_url.removesuffix("/v1"), extra_headers={"X-Org": "MY_KEY"}, **said
    )
    door.client.complete(say("x"), role="agent", seed=8)
    (path, body), headers = server.asked[0], server.headers[0]
    assert path == "/v1/chat/completions"
    assert {name: body[name] for name in said} == said | {"seed": 8}
    assert headers["X-Org"] == KEY
