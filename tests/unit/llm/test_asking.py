"""How a provider is asked: with which key and headers, what its answer is read as, and what the stub says in its place."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.llm.scripted import InThread

from tracebench_core.specs import LLMConfig, ModelIdentity
from tracebench_gateway.exchange import ChatRequest, ProviderError, Reply, Tokens
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.providers.bodies import reply_of
from tracebench_gateway.server.providers.direct import DirectProvider
from tracebench_gateway.server.providers.keys import provider_headers, provider_key
from tracebench_gateway.server.providers.litellm import LiteLLMProvider
from tracebench_gateway.server.providers.pieces import StreamedMessage, send_in_pieces, text_of_delta
from tracebench_gateway.server.providers.stub import StubProvider
from tracebench_testing.local_http import JsonHandler, LocalServer


def request(provider: str = "openai", base_url: str | None = None, **more: Any) -> ChatRequest:
    identity = ModelIdentity(provider=provider, model="m", base_url=base_url)
    given: dict[str, Any] = {"job_id": "job", "seed": 1, "role": "agent", "messages": [{"role": "user", "content": "hi"}],
                             "sampling": {}, "digest": "d"}  # fmt: skip
    return ChatRequest(identity=identity, **given | more)


@pytest.mark.parametrize(
    ("config", "asked", "key"),
    [
        ({}, request(), "sk-o"),
        ({}, request(base_url="http://there/v1"), "sk-o"),
        ({}, request(base_url="http://127.0.0.1:1/v1"), "sk-o"),
        ({}, request("ollama", "http://127.0.0.1:1/v1"), "sk-o"),
        ({}, request("ollama"), None),
        ({}, request("anthropic"), None),
        ({"api_key_env": "MINE"}, request("anthropic"), "sk-m"),
        ({"api_key_env": "GONE"}, request(), None),
        ({"roles": {"agent": {"api_key_env": "MINE"}}}, request(), "sk-m"),
        ({"roles": {"judge": {"api_key_env": "MINE"}}}, request(), "sk-o"),
        ({}, request(variant="v"), "sk-v"),
    ],
)
def test_a_request_is_sent_with_the_key_of_its_role_and_variant(
    config: dict[str, Any], asked: ChatRequest, key: str | None
) -> None:
    environ = {"OPENAI_API_KEY": "sk-o", "MINE": "sk-m", "THEIRS": "sk-v"}
    variants = {"v": LLMConfig(api_key_env="THEIRS", extra_headers={"X-B": "MINE"})}
    llm = LLMConfig.model_validate(config | {"extra_headers": {"X-A": "MINE", "X-C": "GONE"}})
    assert provider_key(llm, asked, variants=variants, environ=environ) == key
    told = provider_headers(llm, asked, variants=variants, environ=environ)
    assert told == ({"X-B": "sk-m"} if asked.variant else {"X-A": "sk-m"})


def test_a_server_of_ones_own_is_sent_a_word_in_place_of_a_key() -> None:
    asked = request("ollama", "http://127.0.0.1:1/v1")
    assert provider_key(LLMConfig(), asked, variants={}, environ={}) == "none"


@pytest.mark.parametrize(
    ("provider", "base_url", "address"),
    [
        ("openai", "http://there", "http://there/v1"),
        ("openai", "http://there/", "http://there/v1"),
        ("openai", "http://there/v1/", "http://there/v1"),
        ("openai", "http://there/api", None),
        ("openai", "https://api.openai.com/v1", None),
        ("openai", None, None),
        ("openrouter", None, "https://openrouter.ai/api/v1"),
        ("openrouter", "http://there/v1", "http://there/v1"),
        ("anthropic", "http://there/v1", None),
        ("of_a_plugin", "http://there/v1", "http://there/v1"),
    ],
)
def test_the_address_at_which_a_model_is_asked_directly(
    provider: str, base_url: str | None, address: str | None
) -> None:
    assert direct_address(ModelIdentity(provider=provider, model="m", base_url=base_url)) == address


USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


def body(**data: Any) -> bytes:
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("content", "kind", "reply"),
    [
        (body(choices=[{"message": {"content": "a"}, "finish_reason": "length"}], usage=USAGE), "chat",
         Reply({"role": "assistant", "content": "a"}, "length", Tokens(3, 2))),
        (body(choices=[{"message": {"role": "tool"}, "finish_reason": None}]), "chat", Reply({"role": "tool", "content": ""}, "stop")),
        (body(choices=[{"text": "b"}], usage={"total_tokens": 5}), "completion",
         Reply({"role": "assistant", "content": "b"}, "stop", total=5)),
        (body(data=[{"index": 1, "embedding": [2]}, {"index": 0, "embedding": ["1"]}], usage={"total_tokens": 5}), "embedding",
         Reply({"embeddings": [[1.0], [2.0]]}, "stop", Tokens(5, 0))),
    ],
)  # fmt: skip
def test_a_whole_answer_is_read_as_what_was_asked_for(content: bytes, kind: Any, reply: Reply) -> None:
    assert reply_of(content, kind) == reply


@pytest.mark.parametrize(
    ("content", "kind", "served", "reported"),
    [
        (b" {cut", "chat", " {cut", None),
        (b"<html>", "chat", None, None),
        (b"[1]", "chat", None, None),
        (body(usage=USAGE), "chat", "{", Tokens(3, 2)),
        (body(choices=[], usage={"total_tokens": 5}), "chat", "{", None),
        (body(error="x"), "chat", None, None),
        (body(choices=[{"message": {}}]), "completion", "{", None),
        (body(data=[{"embedding": [1]}]), "embedding", "{", None),
        (body(data=[{"index": 0, "embedding": ["x"]}]), "embedding", "{", None),
        (b"\xff" * 300, "chat", None, None),
    ],
)
def test_what_is_no_answer_is_charged_where_a_model_served_it(
    content: bytes, kind: Any, served: str | None, reported: Tokens | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        reply_of(content, kind)
    text = content.decode(errors="replace")
    told = caught.value
    assert (told.kind, told.reported, told.served) == ("malformed", reported, text if served else None)
    assert str(told) == f"the answer is no completion: {text[:200]}"


class Speaking(InThread):
    """A server that sends `bodies` as they are, one a request."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes, dict[str, str]]] = []
        self.asked: list[tuple[str, Any, dict[str, str]]] = []
        speaking = self

        class Handler(JsonHandler):
            def do_POST(self) -> None:  # noqa: N802 - the base class names it
                speaking.asked.append((self.path, self.read_json(), {k.lower(): v for k, v in self.headers.items()}))
                status, text, headers = speaking.answers.pop(0)
                self.send_bytes(status, text, "application/json", headers)

        self._server = LocalServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)


@pytest.fixture(scope="module")
def speaking() -> Iterator[Speaking]:
    with Speaking() as server:
        yield server


def ask(server: Speaking, *, deltas: list[Any] | None = None, **more: Any) -> Reply:
    async def run() -> Reply:
        async def keep(delta: dict[str, Any]) -> None:
            assert deltas is not None
            deltas.append(delta)

        provider = DirectProvider(LLMConfig(), variants={}, environ={"OPENAI_API_KEY": "sk-o"})
        try:
            return await provider.ask(
                request(base_url=server.base_url, **more), on_delta=None if deltas is None else keep
            )
        finally:
            for session in provider._sessions.values():
                await session.close()

    return asyncio.run(run())


def failing(server: Speaking, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(server, **more)
    return caught.value


@pytest.mark.parametrize(
    ("status", "text", "kind", "words"),
    [
        (401, '{"error": {"message": "no key"}}', "auth", "no key"),
        (403, '{"error": "x"}', "auth", '{"error": "x"}'),
        (408, "[]", "timeout", "[]"),
        (429, " slow \n", "rate_limited", "slow"),
        (404, "null", "request", "null"),
        (499, "", "request", ""),
        (500, "", "server", ""),
        (302, "", "request", ""),
        (503, "x" * 3_000, "server", "x" * 1_990),
    ],
)
def test_a_refusal_of_a_server_has_a_kind_and_its_words(
    speaking: Speaking, status: int, text: str, kind: str, words: str
) -> None:
    speaking.answers.append((status, text.encode(), {"Retry-After": "7"}))
    told = failing(speaking)
    assert (told.kind, told.status_code, told.retry_after, str(told)) == (kind, status, 7.0, f"HTTP {status}: {words}")


@pytest.mark.parametrize(
    ("kind", "path", "field"),
    [("chat", "/v1/chat/completions", "messages"), ("completion", "/v1/completions", "prompt"), ("embedding", "/v1/embeddings", "input")],
)  # fmt: skip
def test_what_is_sent(speaking: Speaking, kind: Any, path: str, field: str) -> None:
    choice = {"message": {"content": "a"}, "text": "a"}
    speaking.answers.append((200, body(choices=[choice], data=[{"index": 0, "embedding": [1]}]), {}))
    hints = {"told": ["openai"], "job": '{"job_id": "j"}'}
    ask(speaking, kind=kind, sampling={"top_p": 1, "extra_body": {"x": 2}}, hints=hints, occurrence=3, limit=9)
    where, sent, headers = speaking.asked[-1]
    assert where == path
    given = {"messages": [{"role": "user", "content": "hi"}], "prompt": "hi", "input": ["hi"]}[field]
    more = {"encoding_format": "float"} if kind == "embedding" else {}
    assert sent == {"model": "m", "top_p": 1, "x": 2, "max_tokens": 9, field: given, **more}
    assert headers["authorization"] == "Bearer sk-o"
    told = json.loads(headers["x-trace-bench-job"])
    assert (told["job_id"], told["occurrence"], len(told["sampling"])) == ("j", 3, 16)
    speaking.answers.append((200, body(choices=[choice], data=[{"index": 0, "embedding": [1]}]), {}))
    ask(speaking, kind=kind, hints=hints | {"told": ["other"]})
    assert "x-trace-bench-job" not in speaking.asked[-1][2]


def stream(*events: Any, done: bool = True) -> bytes:
    lines = [event if isinstance(event, str) else "data: " + json.dumps(event) for event in events]
    return ("\n\n".join([": hello", *lines, "data:[DONE]" if done else ""]) + "\n").encode()


def piece(text: str | None = None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text} if text else {}, "finish_reason": reason}], **more}


def test_a_stream_is_put_together(speaking: Speaking) -> None:
    for events, done, reply in (
        ((piece("a"), [1], piece("b", "length"), {"usage": USAGE}), True, ("ab", "length", Tokens(3, 2), None)),
        ((piece("a", usage={"total_tokens": 4}), piece(None, usage=None)), True, ("a", "stop", None, 4)),
        ((piece("a"), piece(None, "stop"), {"choices": None}), False, ("a", "stop", None, None)),
        (({"choices": [{"text": "c", "finish_reason": "stop"}]},), True, ("c", "stop", None, None)),
        (("data: [DONE]", piece("late")), True, ("", "stop", None, None)),
    ):
        deltas: list[Any] = []
        speaking.answers.append((200, stream(*events, done=done), {}))
        told = ask(speaking, deltas=deltas)
        assert (told.text, told.finish_reason, told.reported, told.total) == reply
        assert "".join(delta["content"] for delta in deltas) == reply[0]
        assert speaking.asked[-1][1]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("content", "kind", "words", "served"),
    [
        (stream(piece("a"), done=False), "malformed", "the answer is no whole stream of completions", None),
        (stream(piece("a"), {"error": {"message": "x"}}), "server", "the stream broke: {'message': 'x'}", None),
        (stream("data: {" + "x" * 300), "malformed", f"an event of the stream is no JSON: {(b'{' + b'x' * 199)!r}", None),
        (stream(piece("a"), {"choices": [7]}), "malformed", "an event of the stream is none of a completion: {'choices': [7]}", "a"),
        (stream({"choices": 7}), "malformed", "an event of the stream is none of a completion: {'choices': 7}", ""),
    ],
)  # fmt: skip
def test_a_stream_that_breaks_says_how(
    speaking: Speaking, content: bytes, kind: str, words: str, served: str | None
) -> None:
    speaking.answers.append((200, content, {}))
    told = failing(speaking, deltas=[])
    assert (told.kind, str(told), told.served) == (kind, words, served)


def test_who_cannot_be_asked_directly_or_through_litellm_is_told() -> None:
    with pytest.raises(ProviderError) as caught:
        asyncio.run(DirectProvider(LLMConfig(), variants={}, environ={}).ask(request("anthropic")))
    assert (str(caught.value), caught.value.kind) == ("`anthropic` cannot be asked directly", "request")
    with pytest.raises(ProviderError) as caught:
        asyncio.run(LiteLLMProvider(LLMConfig(), variants={}, environ={}).ask(request("anthropic", kind="embedding")))
    assert (str(caught.value), caught.value.kind) == (
        "`anthropic` is asked through litellm, which the gateway uses for chat alone", "request",
    )  # fmt: skip


def test_pieces_of_calls_make_whole_calls_in_the_order_of_their_numbers() -> None:
    message, deltas = StreamedMessage(), []

    async def run() -> None:
        async def keep(delta: dict[str, Any]) -> None:
            deltas.append(delta)

        for delta in (
            {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g"}}]},
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]},
            {"tool_calls": [{"index": 0, "id": "", "function": {"arguments": "}"}}, {"index": 1}]},
            {"content": ""},
            {},
        ):
            await message.add(delta, keep)
        await send_in_pieces({"role": "assistant", "content": " a b\n", "tool_calls": [{"id": "x"}, {"id": "y"}]}, keep)
        await send_in_pieces({"content": None}, keep)

    asyncio.run(run())
    assert message.whole() == {
        "role": "assistant", "content": "",
        "tool_calls": [
            {"type": "function", "id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"type": "function", "id": "b", "function": {"name": "g", "arguments": ""}},
        ],
    }  # fmt: skip
    assert deltas[3:] == [
        {"role": "assistant"}, {"content": " "}, {"content": "a "}, {"content": "b\n"},
        {"tool_calls": [{"index": 0, "id": "x"}, {"index": 1, "id": "y"}]},
        {},
    ]  # fmt: skip
    said = {"reasoning_content": "h", "content": "a", "refusal": "r", "tool_calls": [{"function": {"name": "f"}}, {}]}
    assert text_of_delta(said) == 'har{"name": "f"}{}'


def stub(**more: Any) -> Reply:
    return asyncio.run(StubProvider(LLMConfig().stub, ladders=more.pop("ladders", None)).ask(request("stub", **more)))


def test_the_stub_answers_with_unit_vectors_whose_nearness_is_that_of_words() -> None:
    texts = ("a b", "B  A", "a c", "z")
    messages: list[Any] = [*({"role": "user", "content": text} for text in texts), {"tokens": [1, 2]}, {"content": ""}]
    for sampling, size in (({}, 64), ({"dimensions": 5}, 5)):
        vectors = stub(kind="embedding", messages=messages, sampling=sampling).message["embeddings"]
        assert [len(vector) for vector in vectors] == [size] * len(messages)
        assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1.0] * len(messages))
    one, same, near, far, *_ = stub(kind="embedding", messages=messages).message["embeddings"]
    assert one == same
    nearness = [sum(x * y for x, y in zip(one, other, strict=True)) for other in (near, far)]
    assert nearness == pytest.approx([0.5, 0.0])


def test_the_stub_is_cut_at_its_limit() -> None:
    asked = {"messages": [{"role": "user", "content": "some more words"}]}
    whole = stub(**asked)
    assert (whole.finish_reason, whole.message) == ("stop", {"role": "assistant", "content": whole.text})
    for limit in (1, 2):
        cut = stub(limit=limit, **asked)
        assert (cut.text, cut.finish_reason) == (whole.text[: 4 * limit], "length")
    assert stub(limit=-(-len(whole.text) // 4), **asked) == whole
