"""What is set aside follows from the bytes that are sent: whatever field of whatever wire grows, it grows, or is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.server.app import WIRES
from tracebench_gateway.server.metering.balance import Demand
from tracebench_gateway.server.metering.weight import TOKENS_PER_IMAGE, weigh
from tracebench_gateway.server.requests.fields import EXTRA, LEFT_OUT, SAMPLING
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.tokens import Claims
from tracebench_runs.prices import PriceTable

N = 6_000
CLAIMS = Claims(
    job_id="job", attempt="a", role="agent", phase="training", seed=1, budget=Budget(), hints={},
    model=ModelIdentity(provider="openai", model="m"), variant="", recorded="", is_engine=False,
)  # fmt: skip
SAY = [{"role": "user", "content": "hi"}]
GEMINI = "/v1beta/models/{model:path}:{method}"
BARE: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": SAY},
    "/v1/responses": {"input": SAY},
    "/v1/messages": {"messages": SAY, "max_tokens": 9},
    "/v1/completions": {"prompt": "hi"},
    "/v1/embeddings": {"input": "hi"},
    GEMINI: {"contents": [{"parts": [{"text": "hi"}]}]},
    GEMINI.replace("v1beta", "v1"): {"contents": [{"parts": [{"text": "hi"}]}]},
}
SHAPES: list[Any] = [
    "x", {"x": "x"}, ["x"], [{"x": "x"}], {"type": "function", "function": {"name": "x"}},
    {"type": "json_schema", "json_schema": {"x": "x"}},
    [{"type": "function", "function": {"name": "x"}}], [{"type": "function", "name": "x"}], [{"name": "x", "input_schema": {"x": "x"}}],
    [{"type": "text", "text": "x"}], [{"type": "input_text", "text": "x"}], [{"type": "image_url", "image_url": {"url": "x"}, "text": ""}],
    [{"type": "input_audio", "input_audio": {"data": "", "x": "x"}}], [{"type": "tool_use", "id": "1", "name": "x", "input": {"x": "x"}}],
    [{"type": "tool_result", "tool_use_id": "x", "content": "x"}], {"effort": "x"},
    {"format": {"type": "json_schema", "schema": {"x": "x"}}},
    {"type": "tool", "name": "x"}, {"verbosity": "x"}, [1], {"parts": [{"text": "x"}]}, [{"parts": [{"text": "x"}]}],
    [{"functionDeclarations": [{"name": "f", "description": "x"}]}], {"responseJsonSchema": {"x": "x"}}, {"stopSequences": ["x"]},
    {"functionCallingConfig": {"mode": "x"}},
]  # fmt: skip
"""Values that one field or another takes; each has an `x` that grows."""
OWN = (
    "system",
    "stop_sequences",
    "instructions",
    "text",
    "thinking",
    "extra_body",
    "prompt",
    "input",
    "suffix",
    "metadata",
    "include",
    "contents",
    "systemInstruction",
    "generationConfig",
    "toolConfig",
    "safetySettings",
    "cachedContent",
)
PARTS: list[Any] = [
    {"text": "x"}, {"text": "x", "thought": True}, {"text": "", "thoughtSignature": "x"},
    {"inlineData": {"mimeType": "image/png", "data": "x"}}, {"inlineData": {"mimeType": "image/x", "data": "", "displayName": "x"}},
    {"inlineData": {"mimeType": "audio/wav", "data": "x"}}, {"fileData": {"fileUri": "x"}},
    {"functionCall": {"name": "x", "args": {}}}, {"functionCall": {"name": "f", "args": {"x": "x"}}},
    {"functionCall": {"name": "f", "id": "x"}}, {"functionResponse": {"id": "x", "response": {}}},
    {"functionResponse": {"id": "1", "response": {"a": "x"}}}, {"functionResponse": {"id": "1", "name": "x"}},
    {"functionResponse": {"id": "1", "parts": [{"x": "x"}]}}, {"functionResponse": {"id": "1", "scheduling": "x"}},
    {"text": "a", "mediaResolution": {"level": "x"}}, {"executableCode": {"code": "x"}}, {"anything": "x"},
]  # fmt: skip
SAID = ("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "presencePenalty", "responseMimeType", "responseSchema",
        "responseJsonSchema", "responseModalities", "thinkingConfig", "logprobs", "speechConfig", "candidateCount", "anything")  # fmt: skip
MESSAGE_KEYS = ("content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content", "function_call", "role", "anything",
                "audio", "cache_control", "type", "output", "arguments", "call_id")  # fmt: skip


def grown(value: Any) -> Any:
    """Return a shape with N bytes more."""
    if isinstance(value, str):
        return "y" * N if value == "x" else value
    if isinstance(value, dict):
        return {name: grown(inner) for name, inner in value.items()}
    if value == [1]:
        return [1] * (N // 2)
    return [grown(inner) for inner in value] if isinstance(value, list) else value


def demand(path: str, data: dict[str, Any]) -> Demand | None:
    """Return what a request sets aside; None for one that is refused."""
    try:
        asked = WIRES[path].read(data, claims=CLAIMS, llm=LLMConfig())
    except BadRequest:
        return None
    return asked.demand(PriceTable({}), range(asked.calls))


def reaches(path: str, data: dict[str, Any]) -> bool:
    """Say whether the bytes that grew are in what is sent."""
    asked = WIRES[path].read(data, claims=CLAIMS, llm=LLMConfig())
    sent = str(asked.conversations) + str(asked.sampling)
    return "y" * N in sent or "1, " * (N // 2 - 1) in sent


@pytest.mark.parametrize("path", WIRES)
def test_a_field_that_grows_lets_what_is_set_aside_grow(path: str) -> None:
    fields = {*SAMPLING, *EXTRA, *LEFT_OUT, *OWN, "model", "messages", "stream_options", "user"} - {"max_tokens"}
    seen = 0
    for name in sorted(fields):
        for shape in SHAPES:
            small, large = BARE[path] | {name: shape}, BARE[path] | {name: grown(shape)}
            before, after = demand(path, small), demand(path, large)
            if before is None or after is None or not reaches(path, large):
                assert before is None or after is None or before == after, (path, name, shape)
                continue
            seen += 1
            assert after.prompt - before.prompt >= N // 3 - 1, (path, name, shape)
            assert after.most - before.most >= N - 8, (path, name, shape)
    assert seen >= (2 if path == "/v1/embeddings" else 20)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_a_message_that_grows_lets_what_is_set_aside_grow(path: str) -> None:
    where = "input" if path == "/v1/responses" else "messages"
    for name in MESSAGE_KEYS:
        for shape in SHAPES:
            small, large = ({**SAY[0], name: value} for value in (shape, grown(shape)))
            before, after = demand(path, BARE[path] | {where: [small]}), demand(path, BARE[path] | {where: [large]})
            if before is None or after is None or not reaches(path, BARE[path] | {where: [large]}):
                assert before is None or after is None or before == after, (path, name, shape)
                continue
            assert after.prompt - before.prompt >= N // 3 - 1, (path, name, shape)
            assert after.most - before.most >= N - 8, (path, name, shape)


def test_contents_and_settings_of_google_s_wire_that_grow_let_what_is_set_aside_grow() -> None:
    said, system = BARE[GEMINI], {"systemInstruction": {"parts": [{"text": "x"}]}}
    declared = {
        "name": "x",
        "description": "x",
        "parameters": {"type": "OBJECT", "properties": {"a": {"description": "x"}}},
    }
    shapes = [{"contents": [{"parts": [part]}]} for part in PARTS]
    shapes += [said | {"generationConfig": {name: shape}} for name in SAID for shape in SHAPES]
    shapes += [
        said | {"generationConfig": {"thinkingConfig": {"thinkingLevel": "x"}}},
        said | system,
        said | {"tools": [{"x": {"x": "x"}}]},
    ]
    shapes += [
        said | {"tools": [{"functionDeclarations": [{"name": "f"} | {key: value}]}]} for key, value in declared.items()
    ]
    seen = 0
    for small in shapes:
        large = grown(small)
        before, after = demand(GEMINI, small), demand(GEMINI, large)
        if before is None or after is None or not reaches(GEMINI, large):
            assert before is None or after is None or before == after, small
            continue
        seen += 1
        if "image/png" in str(small):  # a picture takes what pictures take, and at worst its bytes
            assert (after.prompt, after.most >= N) == (before.prompt, True)
        elif "audio/wav" in str(small):
            assert (after.prompt > before.prompt, after.most >= N) == (True, True)
        else:
            assert after.prompt - before.prompt >= N // 3 - 1, small
            assert after.most - before.most >= N - 8, small
    assert seen >= 20


def test_eight_pictures_that_call_themselves_texts_are_pictures() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}, "text": ""}
    asked = demand("/v1/chat/completions", {"messages": [{"role": "user", "content": [part] * 8}]})
    assert asked is not None
    assert asked.prompt >= 8 * TOKENS_PER_IMAGE


def test_a_picture_is_weighed_by_its_own_rule_and_at_worst_by_its_bytes() -> None:
    data = base64.b64encode(b"x" * 300_000).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    weight = weigh({"model": "m", "messages": [{"role": "user", "content": [part]}]})
    assert weight.usual < TOKENS_PER_IMAGE + 100
    assert weight.worst > 400_000


def test_one_limit_is_sent_and_it_is_the_smaller() -> None:
    asked = WIRES["/v1/chat/completions"].read(
        {"messages": SAY, "max_completion_tokens": 1, "max_tokens": 100_000}, claims=CLAIMS, llm=LLMConfig()
    )
    assert asked.sampling == {"max_completion_tokens": 1}


def test_what_a_config_adds_cannot_undo_a_limit() -> None:
    with pytest.raises(ValueError, match="`max_tokens` is the gateway's to write"):
        LLMConfig(extra_body={"max_tokens": 5})


def test_a_key_of_a_message_that_nobody_knows_is_left_out_and_told_unless_the_config_names_it() -> None:
    data = {"messages": [{"role": "user", "content": "hi", "prefix": True}], "user": "me"}
    asked = WIRES["/v1/chat/completions"].read(data, claims=CLAIMS, llm=LLMConfig())
    assert asked.conversations == [SAY]
    assert asked.left_out == ("user", "messages[].prefix")
    named = WIRES["/v1/chat/completions"].read(data, claims=CLAIMS, llm=LLMConfig(extra_body={"prefix": False}))
    assert named.conversations == [data["messages"]]


def test_a_field_that_the_config_names_is_a_callers_to_fill_and_is_counted_by_its_bytes() -> None:
    llm, wire = LLMConfig(extra_body={"house_rule": "short"}), WIRES["/v1/chat/completions"]
    small, large, inside, plain = (
        wire.read({"messages": SAY, **more}, claims=CLAIMS, llm=llm)
        for more in ({"house_rule": "x"}, {"house_rule": "y" * N}, {"extra_body": {"house_rule": "x"}}, {})
    )
    assert small.sampling == inside.sampling == {"extra_body": {"house_rule": "x"}}
    assert plain.sampling == {"extra_body": {"house_rule": "short"}}
    before, after = (asked.demand(PriceTable({}), range(asked.calls)) for asked in (small, large))
    assert after.prompt - before.prompt >= N // 3 - 1
    assert after.most - before.most >= N - 8
    with pytest.raises(BadRequest, match="`other`"):
        wire.read({"messages": SAY, "other": 1}, claims=CLAIMS, llm=llm)
