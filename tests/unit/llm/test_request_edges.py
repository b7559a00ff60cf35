"""What a request may hold, at the edge: the most of it passes, one more is refused, and the refusal says what would have done."""

from __future__ import annotations

import base64
import json
import struct
from collections import Counter
from typing import Any

import pytest

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.credentials import is_secret, redact, without_secrets
from tracebench_gateway.exchange import Metered, Reply, Tokens
from tracebench_gateway.server.metering.weight import weigh
from tracebench_gateway.server.requests.asked import Asked, choose_model
from tracebench_gateway.server.requests.fields import (
    PASSED,
    known_keys,
    left_out_of,
    read_choices,
    read_flag,
    read_messages,
    take_fields,
)
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.bare import CompletionsWire, EmbeddingsWire
from tracebench_gateway.server.wire.base import Answer
from tracebench_gateway.server.wire.declarations import plain_schema, read_declarations, tool_choice
from tracebench_gateway.tokens import Claims
from tracebench_gateway.turns import Place, Turn, asker, asking_for, current, read_key, read_place, take

CLAIMS = Claims(
    job_id="job", attempt="a", role="agent", phase="training", seed=1, budget=Budget(), hints={},
    model=ModelIdentity(provider="openai", model="vendor/m"), variant="", recorded="", is_engine=False,
)  # fmt: skip


def completion(**data: Any) -> Asked:
    return CompletionsWire().read({"prompt": "hi", **data}, claims=CLAIMS, llm=LLMConfig())


def embedding(**data: Any) -> Asked:
    return EmbeddingsWire().read({"input": "hi", **data}, claims=CLAIMS, llm=LLMConfig())


def refusal(read: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        read(*given, **named)
    return str(caught.value)


def test_texts_to_continue_at_the_most_and_one_more() -> None:
    assert completion(n=128).calls == completion(prompt=["a"] * 64, n=2).calls == 128
    assert refusal(completion, prompt=["a"] * 43, n=3) == "a request may ask for at most 128 answers"
    assert refusal(completion, n=129) == "`n` must be a whole number from 1 to 128"
    assert refusal(completion, n=0) == "`n` must be a whole number from 1 to 128"
    assert (completion(n=3, best_of=3).calls, completion(n=3, best_of=1).calls, completion(n=3).calls) == (3, 3, 3)
    assert "every answer that is paid for" in refusal(completion, n=3, best_of=4)


def told_of(stream: bytes) -> list[Any]:
    return [json.loads(line) for line in stream.decode().split("data: ") if line.strip() not in {"", "[DONE]"}]


def test_answers_to_texts_are_told_whole_and_in_pieces_alike() -> None:
    answers = [
        Answer(Reply({"role": "assistant", "content": text}, "stop"), Metered(Tokens(3, n), 0.0, estimated=False))
        for n, text in enumerate(("a", "b"), 1)
    ]
    asked = completion(prompt=["x", "y"], stream=True, stream_options={"include_usage": True})
    whole = CompletionsWire().whole(asked, answers)
    ends = [{"index": i, "text": text, "finish_reason": "stop", "logprobs": None} for i, text in enumerate("ab")]
    assert (whole["choices"], whole["model"], whole["object"]) == (ends, "vendor/m", "text_completion")
    assert {name: whole["usage"][name] for name in ("prompt_tokens", "completion_tokens")} == {
        "prompt_tokens": 6, "completion_tokens": 3,
    }  # fmt: skip
    writer = CompletionsWire().stream(asked)
    assert writer.open() == b""
    [piece] = told_of(writer.delta(1, {"content": "b"}))
    assert piece["choices"] == [{"index": 1, "text": "b", "finish_reason": None, "logprobs": None}]
    assert told_of(writer.delta(0, {}))[0]["choices"][0]["text"] == ""
    [end] = told_of(writer.finish(1, answers[1]))
    assert end["choices"] == [{"index": 1, "text": "", "finish_reason": "stop", "logprobs": None}]
    assert end["id"] == piece["id"] != whole["id"]
    closed = writer.close(answers)
    assert closed.endswith(b"data: [DONE]\n\n")
    assert [(e["choices"], e["usage"]) for e in told_of(closed)] == [([], whole["usage"])]
    assert CompletionsWire().stream(completion(stream=True)).close(answers) == b"data: [DONE]\n\n"


@pytest.mark.parametrize("field", ["suffix", "echo"])
def test_what_a_completion_cannot_have_is_refused_by_name_unless_it_is_empty(field: str) -> None:
    assert refusal(completion, **{field: "x"}) == f"the gateway does not pass on `{field}`"
    assert completion(**{field: None}).calls == 1


def test_texts_to_embed_at_the_most_and_one_more() -> None:
    assert len(embedding(input=["a"] * 2_048).conversations[0]) == 2_048
    assert refusal(embedding, input=["a"] * 2_049) == "`input` must hold at most 2048 texts"
    assert embedding(dimensions=16_384).sampling == {"dimensions": 16_384}
    assert embedding(dimensions=1).sampling == {"dimensions": 1}
    for dimensions in (0, 16_385, True, "8"):
        assert refusal(embedding, dimensions=dimensions) == "`dimensions` must be a whole number from 1 to 16384"
    assert embedding().sampling == {}
    assert refusal(embedding, encoding_format="hex") == "`encoding_format` must be `float` or `base64`"
    assert refusal(embedding, n=1, best_of=2) == "the gateway does not pass on `best_of`"
    assert refusal(embedding, **{"x" * 100: 1}) == f"the gateway does not pass on `{'x' * 80}`"
    assert (embedding(user="me").left_out, embedding().own, embedding(encoding_format="base64").own) == (
        ("user",), {"coding": "float"}, {"coding": "base64"},
    )  # fmt: skip


@pytest.mark.parametrize("given", ["", [], [""], [[]], [[-1]], [[1], [True]], ["a", 1], None, {"a": 1}, [None]])
def test_an_input_that_is_empty_or_of_another_kind_is_refused(given: Any) -> None:
    assert refusal(embedding, input=given).startswith("`input` must be a text, a list of texts, or lists of tokens")


def test_a_list_of_tokens_is_one_text_and_a_list_of_lists_several() -> None:
    assert [m.get("tokens") for m in embedding(input=[0, 5]).conversations[0]] == [[0, 5]]
    assert [m.get("tokens") for m in embedding(input=[[0], [5]]).conversations[0]] == [[0], [5]]
    assert [m.get("content") for m in embedding(input=["a", "b"]).conversations[0]] == ["a", "b"]


def test_vectors_are_sent_as_numbers_or_packed_in_single_precision_little_end_first() -> None:
    reply = Reply({"role": "assistant", "content": "", "embeddings": [[1.0, -0.5], [0.25]]}, "stop", Tokens(7, 0))
    for coding, vectors in (
        ("float", [[1.0, -0.5], [0.25]]),
        ("base64", [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in ([1.0, -0.5], [0.25])]),
    ):
        asked = embedding(input=["a", "b"], encoding_format=coding)
        told = EmbeddingsWire().whole(asked, [Answer(reply, Metered(Tokens(7, 0), 0.0, estimated=False))])
        assert [(item["index"], item["embedding"]) for item in told["data"]] == [(0, vectors[0]), (1, vectors[1])]
        assert told["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert refusal(EmbeddingsWire().stream, embedding()) == "vectors are not streamed"


NUMBERS = {
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "min_p",
    "repetition_penalty",
    "mirostat_tau",
}
WHOLES = {"seed", "top_k", "min_tokens", "mirostat"}
COUNTS = {"max_tokens", "max_completion_tokens", "num_ctx"}
FLAGS = {"parallel_tool_calls", "ignore_eos", "cache_prompt", "enable_thinking"}


@pytest.mark.parametrize(
    ("fields", "good", "bad", "words"),
    [
        (NUMBERS, [0, -1, 0.5], [True, "1", float("nan"), float("inf"), 10**400], "a number"),
        (WHOLES, [0, -1, 7], [True, 0.5, "1"], "a whole number"),
        (COUNTS, [1, (1 << 31) - 1], [0, -1, 1 << 31, True, 2.0], "a whole number above 0"),
        (FLAGS, [True, False], [0, "true"], "true or false"),
        ({"guided_regex", "verbosity", "reasoning_effort", "grammar"}, ["x", ""], [1, ["x"]], "a text"),
        ({"stop", "guided_choice"}, ["x", ["x", "y"], []], [1, ["x", 1]], "a text or a list of texts"),
        ({"logit_bias", "response_format", "thinking"}, [{}, {"a": 1}], ["x", []], "an object"),
        ({"tools"}, [[], [{}]], [{}, ["x"]], "a list of objects"),
        ({"tool_choice", "guided_json"}, ["auto", {}], [1, []], "a text or an object"),
        ({"stop_token_ids"}, [[], [1, -1]], [1, [True], [0.5]], "a list of whole numbers"),
    ],
)
def test_a_field_takes_its_kind_alone(fields: set[str], good: list[Any], bad: list[Any], words: str) -> None:
    assert fields <= PASSED.keys()
    for name in fields:
        for value in good:
            assert take_fields({name: value}) == {name: value}
        for value in bad:
            assert refusal(take_fields, {name: value}) == f"`{name}` must be {words}"
        assert take_fields({name: None}) == {}


def test_what_stands_in_extra_body_counts_like_the_rest_and_must_be_an_object() -> None:
    assert take_fields({"temperature": 1, "extra_body": {"top_k": 3, "temperature": 2}}) == {
        "temperature": 2,
        "top_k": 3,
    }
    assert refusal(take_fields, {"extra_body": ["top_k"]}) == "`extra_body` must be an object"
    assert refusal(take_fields, {"b" * 99: 1, "c": 1}) == f"the gateway does not pass on `{'b' * 80}`"
    assert take_fields({"max_tokens": 5, "max_completion_tokens": 9}) == {"max_completion_tokens": 5}
    assert left_out_of({"user": "me", "store": False, "logprobs": None, "metadata": {}, "top_logprobs": 0}) == ("user",)


def test_switches_and_counts_have_a_default_and_a_range() -> None:
    assert (read_flag({}, "stream"), read_flag({"stream": None}, "stream"), read_flag({"stream": True}, "stream")) == (
        False, False, True,
    )  # fmt: skip
    assert refusal(read_flag, {"stream": 1}, "stream") == "`stream` must be true or false"
    assert [read_choices(data, most=3) for data in ({}, {"n": 1}, {"n": 3})] == [1, 1, 3]
    for value in (0, 4, True, 1.0):
        assert refusal(read_choices, {"n": value}, most=3) == "`n` must be a whole number from 1 to 3"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "`messages` must be a non-empty list of objects with a `role`"),
        ({"role": "user"}, "`messages` must be a non-empty list of objects with a `role`"),
        ([{"role": "user"}, "x"], "`messages[1]` must be an object with a `role`"),
        ([{"role": ""}], "`messages[0]` must be an object with a `role`"),
        ([{"role": 1}], "`messages[0]` must be an object with a `role`"),
        ([{"role": "user", "content": 1}], "`messages[0].content` must be a text or a list of objects"),
        ([{"role": "user", "content": ["x"]}], "`messages[0].content` must be a text or a list of objects"),
        ([{"role": "user", "tool_calls": {}}], "`messages[0].tool_calls` must be a list of objects"),
    ],
)
def test_messages_of_another_shape_are_refused_by_their_place(messages: Any, words: str) -> None:
    assert refusal(read_messages, messages) == words


def test_keys_of_a_message_that_nobody_names_are_taken_out_of_every_message() -> None:
    messages = [{"role": "user", "content": "a", "x": 1}, {"role": "user", "y": 2}]
    assert known_keys(messages, named=["y"]) == ([{"role": "user", "content": "a"}, {"role": "user", "y": 2}], {"x"})
    assert known_keys(messages, named=["x", "y"])[0] is messages


def test_a_model_is_known_by_its_name_with_and_without_its_provider() -> None:
    for name in (None, "", "vendor/m", "openai/vendor/m"):
        assert choose_model(name, CLAIMS).identity == CLAIMS.model
    with pytest.raises(BadRequest) as caught:
        choose_model("z" * 300, CLAIMS)
    assert (caught.value.status, str(caught.value).endswith(f"; not `{'z' * 200}`")) == (404, True)
    assert "role `agent`" in str(caught.value)
    assert "vendor/m" in str(caught.value)
    assert refusal(choose_model, 3, CLAIMS) == "`model` must be a text"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("3.4", Place(3, 4)), ("0.0", Place(0, 0)), (f"{'9' * 9}.{'9' * 9}", Place(10**9 - 1, 10**9 - 1)),
        (f"{'1' * 10}.4", None), (f"4.{'1' * 10}", None), ("3", None), ("3.", None), (".4", None), ("-3.4", None), ("3.4.5", None),
        ("\u0663.4", None), ("", None),
    ],
)  # fmt: skip
def test_a_place_is_two_numbers_of_at_most_nine_digits(text: str, place: Place | None) -> None:
    assert read_place(text) == place


def test_a_key_has_at_most_a_hundred_plain_characters() -> None:
    assert (read_key("k" * 100), read_key("k" * 101), read_key("k\n"), read_key("é"), read_key("a b")) == (
        "k" * 100, "", "", "", "a b",
    )  # fmt: skip


def test_equal_calls_of_tasks_that_run_together_have_places_of_their_own() -> None:
    turns = [Turn(section=5, task=task, tasks=3) for task in range(3)]
    places = [turn.place("same") for _ in range(2) for turn in turns]
    assert places == [Place(5, offset) for offset in range(6)]
    assert turns[2].place("other") == Place(5, 2)
    assert current() is None
    with take(turns[1]):
        assert current() is turns[1]
    assert current() is None


def test_evaluations_that_ask_have_names_of_their_own_and_only_within_their_block() -> None:
    names = Counter[str]()
    for candidate, example in (("c0", "e0"), ("c0", "e1"), ("c1", "e0"), ("c0", "e0")):
        with asking_for(candidate, example):
            names[asker()] += 1
        assert asker() == ""
    assert sorted(names.values()) == [1, 1, 2]
    assert {len(name) for name in names} == {16}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("OPENAI_API_KEY", True), ("my_auth_token", True), ("AWS_SECRET_KEY", True), ("X_CLIENT_SECRET", True), ("X_AD_TOKEN", True),
        ("ODD", True), ("HEADER", True), ("PATH", False), ("TOKENS", False), ("API_KEY_FILE", False),
    ],
)  # fmt: skip
def test_a_variable_is_secret_by_its_ending_or_because_a_config_names_it(name: str, secret: bool) -> None:
    llm = LLMConfig.model_validate({"api_key_env": "ODD", "roles": {"judge": {"extra_headers": {"X-Key": "HEADER"}}}})
    assert is_secret(name, llm) is secret


def test_a_value_of_eight_characters_is_a_secret_and_one_of_seven_is_too_common() -> None:
    environ = {"A_API_KEY": "12345678", "B_API_KEY": "1234567", "COPY": "12345678", "SHORT": "1234567"}
    assert without_secrets(environ) == {"SHORT": "1234567"}
    assert redact("12345678 1234567", ["12345678", "1234567"]) == "[redacted] 1234567"


def declared(*functions: dict[str, Any], **more: Any) -> Any:
    return read_declarations([{"functionDeclarations": list(functions), **more}])


def test_counts_of_googles_schemas_are_texts_of_at_most_eighteen_digits() -> None:
    assert plain_schema({"maxItems": "9" * 18}) == {"maxItems": 10**18 - 1}
    for kept in ("9" * 19, "-1", "", "\u0663", "1.5"):
        assert plain_schema({"min_length": kept}) == {"minLength": kept}
    assert plain_schema({"enum": ["5"], "title": "5", "type": "STRING"}) == {
        "enum": ["5"],
        "title": "5",
        "type": "string",
    }


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"type": "INTEGER", "nullable": True}, {"type": ["integer", "null"]}),
        ({"type": "INTEGER", "nullable": False}, {"type": "integer"}),
        ({"type": "TYPE_UNSPECIFIED", "nullable": True}, {}),
        ({"type": "ODD"}, {"type": "ODD"}),
        ({"propertyOrdering": ["a"], "properties": {"type": {"type": "STRING"}}}, {"properties": {"type": {"type": "string"}}}),
        ({"any_of": [{"type": "NULL"}, {"type": "ARRAY", "items": {"type": "NUMBER"}}]},
         {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}}]}),
        ({"additionalProperties": {"type": "BOOLEAN"}}, {"additionalProperties": {"type": "boolean"}}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ("x", "x"),
    ],
)  # fmt: skip
def test_googles_schema_becomes_a_plain_one(given: Any, plain: Any) -> None:
    assert plain_schema(given) == plain


def test_a_function_is_declared_with_what_a_model_needs_and_the_rest_is_told() -> None:
    own, google = {"type": "object"}, {"type": "OBJECT"}
    offered = declared(
        {"name": "f", "description": "d", "parametersJsonSchema": own, "parameters": google, "response": {"a": 1}},
        {"name": "g", "parameters": google, "behavior": ""},
        {"name": "h", "description": ""},
        googleSearch={}, codeExecution=None,
    )  # fmt: skip
    assert [function["function"] for function in offered.functions] == [
        {"name": "f", "description": "d", "parameters": own}, {"name": "g", "parameters": {"type": "object"}}, {"name": "h"},
    ]  # fmt: skip
    assert offered[1] == ("tools[].functionDeclarations[].response", "tools[].googleSearch")
    assert refusal(declared, {"name": "f", "u" * 99: 1}) == (
        f"the gateway does not pass on `tools[].functionDeclarations[].{'u' * 80}`"
    )
    assert refusal(declared, {"name": "f", "parameters": [1]}) == (
        "`tools[].functionDeclarations[].parameters` must be an object"
    )


@pytest.mark.parametrize(
    ("calling", "names", "choice"),
    [
        ({}, "fg", None),
        ({"mode": "auto"}, "fg", "auto"),
        ({"mode": "VALIDATED"}, "fg", "auto"),
        ({"mode": "NONE"}, "fg", "none"),
        ({"mode": "ANY"}, "fg", "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, "fg", "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["g"]}, "g", {"type": "function", "function": {"name": "g"}}),
        ({"mode": "AUTO", "allowedFunctionNames": ["g"]}, "g", "auto"),
    ],
)
def test_which_functions_may_be_called_and_which_must(calling: dict[str, Any], names: str, choice: Any) -> None:
    offered, chosen, told = tool_choice({"functionCallingConfig": calling}, declared({"name": "f"}, {"name": "g"}))
    assert "".join(function["function"]["name"] for function in offered.functions) == names
    assert (chosen, told) == (choice, ())


def test_a_choice_of_functions_that_cannot_be_is_refused_and_what_is_unheeded_is_told() -> None:
    offered = declared({"name": "f"})

    def choose(**calling: Any) -> Any:
        return tool_choice({"functionCallingConfig": calling, "retrievalConfig": {"a": 1}, "other": None}, offered)

    assert choose(streamFunctionCallArguments=True)[2] == (
        "toolConfig.retrievalConfig", "toolConfig.functionCallingConfig.streamFunctionCallArguments",
    )  # fmt: skip
    assert (
        refusal(choose, allowedFunctionNames=["n" * 99]) == f"`toolConfig` allows `{'n' * 80}`, which no tool declares"
    )
    assert refusal(choose, mode="SOME").endswith("must be one of AUTO, VALIDATED, ANY, NONE")
    for wrong in ({"mode": 1}, {"allowedFunctionNames": "f"}):
        assert "must have a text as `mode`, and a list of names" in refusal(choose, **wrong)


def usual(content: Any, **more: Any) -> int:
    return weigh({"model": "m", "messages": [{"role": "user", "content": content}], **more}).usual


def test_a_prompt_weighs_a_third_of_its_bytes_and_every_message_a_little_more() -> None:
    assert [usual("x" * n) - usual("") for n in (3, 300)] == [1, 100]
    assert usual("é" * 300) - usual("") == 200
    one, two = ({"model": "m", "messages": [{"role": "user", "content": ""}] * n} for n in (1, 2))
    letters = len(',{"role":"user","content":""}')
    assert weigh(two).usual - weigh(one).usual - letters / 3 == pytest.approx(4, abs=1)
    assert weigh(two).worst - weigh(one).worst == letters


def test_pictures_and_recordings_weigh_by_their_own_rules() -> None:
    def picture(url: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": url}}

    def sound(data: str) -> dict[str, Any]:
        return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}

    inside = "data:image/png;base64,"
    assert usual([picture(inside + "A" * 3_000)]) == usual([picture(inside)])
    assert usual([picture("https://x/" + "a" * 3_000)]) - usual([picture("https://x/")]) == 1_000
    assert usual([sound("A" * 3_200)]) - usual([sound("")]) == 100
    assert usual([sound("A" * 3_201)]) - usual([sound("")]) == 101
    empty = usual([{"type": "text", "text": ""}])
    assert 1_500 < usual([picture(inside)]) - empty < 1_520
    assert usual([picture(inside)] * 2) - usual([picture(inside)]) in range(1_500, 1_530)


def test_tokens_that_are_sent_as_numbers_weigh_one_each_however_short() -> None:
    few, many = (weigh({"model": "m", "prompt": [7] * n}).usual for n in (30, 330))
    assert many - few == 300
