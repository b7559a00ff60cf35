"""Google's wire: what its client sends reaches a server field by field, and what it is answered is what that client reads."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.llm.conftest import Door, Open
from tests.llm.scripted import Scripted, chat, chunks
from tests.llm.test_wires import CALL, PIECES, SCHEMA

from tracebench_core.specs import Budget

GOOGLES = {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}, "b": {"type": "INTEGER"}}}
ASKED: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "1 + 2?"}, {"inlineData": {"mimeType": "image/png", "data": "-_=="}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "I add."},
                                    {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
                                    {"functionCall": {"id": "own", "name": "add", "args": {"b": 2}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "own", "name": "add", "response": {"result": 2}}},
                                   {"functionResponse": {"name": "add", "response": {"result": 1}}}, {"text": "again"}]},
    ],
    "generationConfig": {
        "temperature": 0.5, "topP": 0.9, "topK": 5.0, "maxOutputTokens": 50, "stopSequences": ["END"], "seed": 7, "presencePenalty": 0.1,
        "frequencyPenalty": 0.2, "candidateCount": 1, "responseMimeType": "application/json", "responseModalities": ["TEXT"],
        "responseSchema": {"type": "ARRAY", "minItems": "1", "items": {"type": "STRING", "nullable": True}, "propertyOrdering": ["a"]},
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024}, "mediaResolution": "MEDIA_RESOLUTION_LOW",
    },
    "tools": [{"functionDeclarations": [{"name": "add", "description": "adds", "parameters": GOOGLES},
                                        {"name": "other", "parametersJsonSchema": SCHEMA}]}, {"googleSearch": {}}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
}  # fmt: skip
SENT = {
    "model": "fake", "max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop": ["END"], "seed": 7, "presence_penalty": 0.1,
    "frequency_penalty": 0.2, "reasoning_effort": "low",
    "response_format": {"type": "json_schema", "json_schema": {
        "name": "answer", "schema": {"type": "array", "minItems": 1, "items": {"type": ["string", "null"]}}}},
    "tools": [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "add"}},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "1 + 2?"},
                                     {"type": "image_url", "image_url": {"url": "data:image/png;base64,+/=="}}]},
        {"role": "assistant", "content": "I add.", "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
            {"id": "own", "type": "function", "function": {"name": "add", "arguments": '{"b": 2}'}}]},
        {"role": "tool", "tool_call_id": "own", "content": '{"result": 2}'},
        {"role": "tool", "tool_call_id": "call_0", "content": '{"result": 1}'},
        {"role": "user", "content": "again"},
    ],
}  # fmt: skip
LEFT_OUT = ["safetySettings", "generationConfig.mediaResolution", "tools[].googleSearch"]
PARTS = [
    {"text": "hmm", "thought": True},
    {"text": "three"},
    {"functionCall": {"id": "call_1", "name": "add", "args": {"a": 1, "b": 2}}},
]
USAGE = {
    "promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 0, "cachedContentTokenCount": 4, "totalTokenCount": 18
}  # fmt: skip
SAY = {"contents": [{"parts": [{"text": "hi"}]}]}


def post(door: Door, method: str, body: dict[str, Any], *, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Ask as a program without Google's client does; returns the status and what is answered."""
    endpoint = door.client.endpoint("agent")
    where = urlsplit(endpoint.base_url)
    given = {"x-goog-api-key": endpoint.api_key.get_secret_value()} if headers is None else headers
    line = http.client.HTTPConnection(where.hostname or "", where.port or 0, timeout=60)
    try:
        line.request("POST", f"/v1beta/models/{method}", json.dumps(body), given)
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


def snake(value: Any) -> Any:
    """Return a request with its names in snake case, which Google's API takes as well."""
    if isinstance(value, list):
        return [snake(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", name): snake(inner) for name, inner in value.items()}


def pieces(text: str) -> list[dict[str, Any]]:
    """Return the pieces of a stream, of either form."""
    if text.startswith("["):
        return list(json.loads(text))
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n") if line]


def said(streamed: list[dict[str, Any]]) -> str:
    """Return the text of all pieces."""
    return "".join(p["text"] for piece in streamed for p in piece["candidates"][0]["content"]["parts"] if "text" in p)


def test_field_by_field_and_streamed_in_both_forms(door: Door, server: Scripted) -> None:
    server.answer = chat(
        {"content": "three", "reasoning_content": "hmm", "tool_calls": [CALL]}, finish_reason="tool_calls"
    )
    status, text = post(door, "fake:generateContent", ASKED)
    whole = json.loads(text)
    assert (status, server.asked[0]) == (200, ("/v1/chat/completions", SENT))
    assert whole["candidates"] == [{"content": {"parts": PARTS, "role": "model"}, "finishReason": "STOP", "index": 0}]
    assert (whole["usageMetadata"], whole["modelVersion"]) == (USAGE, "fake")

    for method, body in (("models/fake:generateContent", ASKED), ("fake:generateContent", snake(ASKED))):
        assert post(door, method, body)[0] == 200
        assert server.asked[-1][1] == SENT

    deltas = (
        {"reasoning_content": "hmm"},
        {"content": "thr"},
        {"content": "ee"},
        *({"tool_calls": [p]} for p in PIECES),
    )
    server.answer = chunks(*deltas, finish_reason="length")
    for query in ("?alt=sse", "", "?alt=json"):
        status, text = post(door, f"fake:streamGenerateContent{query}", ASKED)
        assert (status, text.startswith("data: ")) == (200, query == "?alt=sse")
        streamed = pieces(text)
        parts = [part for piece in streamed for part in piece["candidates"][0]["content"]["parts"]]
        assert parts == [PARTS[0], {"text": "thr"}, {"text": "ee"}, PARTS[2]]
        assert [("finishReason" in piece["candidates"][0]) for piece in streamed] == [False, False, False, True]
        assert (streamed[-1]["candidates"][0]["finishReason"], streamed[-1]["usageMetadata"]) == ("MAX_TOKENS", USAGE)
        assert {name: value for name, value in server.asked[-1][1].items() if not name.startswith("stream")} == SENT
    ledger = [json.loads(line) for line in (door.run_dir / "llm/ledger.jsonl").read_text().splitlines()]
    assert [line["left_out"] for line in ledger if line["kind"] == "llm_call"] == [LEFT_OUT] * 6
    assert [r.usd for r in door.client.records()] == pytest.approx([(7 + 4 * 0.5 + 7 * 2) / 1e6] * 6)


def test_what_google_s_own_client_sends_and_reads(door: Door, server: Scripted) -> None:
    genai = pytest.importorskip("google.genai", reason="the extra client `google-genai` is not installed")
    endpoint = door.client.endpoint("agent")
    address = {"base_url": endpoint.base_url.removesuffix("/v1")}
    client = genai.Client(api_key=endpoint.api_key.get_secret_value(), http_options=address)
    server.answer = chat({"content": None, "tool_calls": [CALL]}, finish_reason="tool_calls")
    config = {"temperature": 0.5, "top_k": 5, "max_output_tokens": 50, "system_instruction": "Be brief.",
              "tools": [{"function_declarations": [{"name": "add", "parameters": GOOGLES}]}, {"google_search": {}}]}  # fmt: skip
    picture = genai.types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png")
    whole = client.models.generate_content(model="fake", contents=["1 + 2?", picture], config=config)
    sent = server.asked[0][1]
    text, image = sent["messages"][1]["content"]
    assert (sent["messages"][0], text) == (SENT["messages"][0], SENT["messages"][1]["content"][0])
    assert image["image_url"]["url"] == "data:image/png;base64,+/8="
    assert (sent["top_k"], sent["max_tokens"], sent["tools"][0]["function"]["parameters"]) == (5, 50, SCHEMA)
    assert [(call.id, call.name, call.args) for call in whole.function_calls] == [("call_1", "add", {"a": 1, "b": 2})]
    assert (whole.usage_metadata.prompt_token_count, whole.usage_metadata.candidates_token_count) == (11, 7)

    server.answer = chunks({"content": "thr"}, {"content": "ee"})
    talk = client.chats.create(model="models/fake")
    streamed = list(talk.send_message_stream("1 + 2?"))
    assert "".join(piece.text for piece in streamed) == "three"
    assert (streamed[-1].candidates[0].finish_reason, streamed[-1].usage_metadata.total_token_count) == ("STOP", 18)
    server.answer = chat({"content": "four"})
    assert talk.send_message("and 3?").text == "four"
    assert [message["content"] for message in server.asked[-1][1]["messages"]] == ["1 + 2?", "three", "and 3?"]
    with pytest.raises(genai.errors.ClientError) as told:
        client.models.generate_content(model="huge", contents="hi")
    assert (told.value.code, told.value.status) == (404, "NOT_FOUND")
    client.close()


def test_recorded_and_replayed_alike(open_door: Open) -> None:
    def ask(door: Door) -> list[str]:
        both = {"contents": SAY["contents"], "generationConfig": {"candidateCount": 2}}
        status, text = post(door, "stub:generateContent", both)
        assert status == 200
        candidates = json.loads(text)["candidates"]
        streams = [pieces(post(door, f"stub:streamGenerateContent?alt={alt}", SAY)[1]) for alt in ("sse", "json")]
        return [said([{"candidates": [candidate]}]) for candidate in candidates] + [said(stream) for stream in streams]

    door = open_door(record=True)
    first = ask(door)
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=door.run_dir)
    assert ask(again) == first
    assert all(first)
    assert again.client.used() == door.client.used()
    assert door.client.used().llm_calls == 4


def test_refusals_and_failures_are_in_google_s_shape_and_the_key_may_stand_in_the_address(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=1))
    key = door.client.endpoint("agent").api_key.get_secret_value()
    assert post(door, f"stub:generateContent?key={key}", SAY, headers={})[0] == 200
    for method in ("stub:generateContent", "stub:streamGenerateContent?alt=sse", "stub:streamGenerateContent"):
        status, text = post(door, method, SAY)
        error = json.loads(text)["error"]
        assert (status, error["code"], error["status"]) == (402, 402, "RESOURCE_EXHAUSTED")
        assert "job budget reached" in error["message"]
    for headers in ({}, {"x-goog-api-key": "stolen"}):
        status, text = post(door, "stub:generateContent", SAY, headers=headers)
        assert (status, json.loads(text)["error"]["status"]) == (401, "UNAUTHENTICATED")


def test_a_stream_that_breaks_off_says_so_in_either_form(door: Door, server: Scripted) -> None:
    server.answer = [chunks({"content": "thr"})[0], {"error": {"message": "overloaded"}}]
    for query in ("?alt=sse", ""):
        first, last = pieces(post(door, f"fake:streamGenerateContent{query}", SAY)[1])
        assert (said([first]), last["error"]["status"]) == ("thr", "UNAVAILABLE")
        assert "overloaded" in last["error"]["message"]
    assert [record.status for record in door.client.records()] == ["error", "error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "contents"),
        (SAY | {"cachedContent": "cachedContents/1"}, "cachedContent"),
        (SAY | {"generationConfig": {"responseModalities": ["IMAGE"]}}, "responseModalities"),
        (SAY | {"generationConfig": {"anything": 1}}, "generationConfig.anything"),
        (SAY | {"generation_config": {}, "generationConfig": {}}, "generationConfig"),
        (SAY | {"anything": 1}, "anything"),
        (SAY | {"tools": [{"googleSearch": {}}], "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "googleSearch"),
        (SAY | {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}}}, "add"),
        (SAY | {"toolConfig": {"functionCallingConfig": {"mode": "CHOOSE"}}}, "mode` must be one of AUTO"),
        (SAY | {"toolConfig": {"functionCallingConfig": {"mode": "PERHAPS"}}}, "mode` must be one of AUTO"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "files/1"}}]}]}, "inlineData"),
        ({"contents": [{"parts": [{"inlineData": {"mimeType": "video/mp4", "data": ""}}]}]}, "video/mp4"),
        ({"contents": [{"parts": [{"functionResponse": {"name": "add", "response": {}}}]}]}, "answers no call"),
        ({"contents": [{"parts": [{"codeExecutionResult": {}}]}]}, "codeExecutionResult"),
        ({"contents": [{"role": "system", "parts": [{"text": "x"}]}]}, "role"),
    ],
)  # fmt: skip
def test_what_no_model_is_asked_for_is_named(open_door: Open, body: dict[str, Any], words: str) -> None:
    door = open_door()
    status, text = post(door, "stub:generateContent", body)
    error = json.loads(text)["error"]
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]
    assert post(door, "stub:embedContent", SAY)[0] == 404
    assert door.client.records() == []
