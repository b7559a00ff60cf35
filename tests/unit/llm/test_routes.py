"""What the gateway's routes answer, asked in this process: who may ask what, in which words the rest is refused, and what a body may be."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.llm.scripted import Scripted, chat

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.access import LEDGER_HEADER
from tracebench_gateway.server.app import Routes
from tracebench_gateway.server.assembly import build_service
from tracebench_gateway.server.connections import ConnectionGuard
from tracebench_gateway.server.requests import reading
from tracebench_gateway.server.requests.large import SMALL
from tracebench_gateway.server.service import Service
from tracebench_gateway.server.settings import GatewaySettings
from tracebench_gateway.tokens import Claims, sign

SECRET, ADMIN = "00" * 16, "the runner"
STUB = ModelIdentity(provider="stub", model="stub")
HELLO = [{"role": "user", "content": "hello"}]
CHAT, COUNT = "/v1/chat/completions", "/v1/messages/count_tokens"


class Answer(NamedTuple):
    """What was answered."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Gateway(NamedTuple):
    """One that is asked in this process."""

    loop: asyncio.AbstractEventLoop
    service: Service
    app: Any
    model: ModelIdentity

    def key(self, **claims: Any) -> str:
        given: dict[str, Any] = {"job_id": "job", "attempt": "a", "role": "agent", "phase": "training", "seed": 1,
                                 "budget": Budget(), "model": self.model}  # fmt: skip
        return sign(Claims(**given | claims), secret=bytes.fromhex(SECRET))

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str) -> Answer:
        """Ask, and wait for the answer."""
        given = {"authorization": f"Bearer {self.key() if key is None else key}"} | headers
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        return self.loop.run_until_complete(self._ask(method, path, content or b"", given))

    async def _ask(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> Answer:
        named = {"content-length": str(len(content))} | headers
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(), "client": ("127.0.0.1", 1), "root_path": "",
            "server": ("127.0.0.1", 1), "scheme": "http", "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }  # fmt: skip
        given = [{"type": "http.request", "body": content, "more_body": False}]
        told: list[Any] = []

        async def receive() -> dict[str, Any]:
            return given.pop() if given else await asyncio.Event().wait() or {}

        async def send(message: dict[str, Any]) -> None:
            told.append(message)

        await self.app(scope, receive, send)
        answered = {name.decode(): value.decode() for name, value in told[0]["headers"]}
        return Answer(told[0]["status"], answered, b"".join(message.get("body", b"") for message in told[1:]))

    async def close(self) -> None:
        """Let go of what it holds."""
        self.service.ledger.close()
        if (process := self.service.reader._process) is not None:
            self.service.reader._end()
            await process.wait()
        if (direct := getattr(self.service._provider._provider, "_direct", None)) is not None:
            for session in direct._sessions.values():
                await session.close()


Open = Callable[..., Gateway]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Return a function that builds a gateway."""
    made: list[Gateway] = []
    loop = asyncio.new_event_loop()

    def build(*, model: ModelIdentity = STUB, run_budget: Budget | None = None, **llm: Any) -> Gateway:
        is_real = model.provider != "stub"
        named = (
            {"provider": model.provider, "model": model.model, "base_url": model.base_url}
            if is_real
            else {"stub": "empty"}
        )
        settings = GatewaySettings(
            llm=LLMConfig(**named | llm), mode="real" if is_real else "stub", run_dir=tmp_path / "run", replay_from=None,
            run_budget=run_budget or Budget(), prices={}, seed=0, token_secret=SECRET, admin_token=ADMIN, environ={},
            started=0.0, socket_fd=0,
        )  # fmt: skip
        (tmp_path / "run" / "llm").mkdir(parents=True, exist_ok=True)
        service = build_service(settings)
        made.append(Gateway(loop, service, Routes(service, ConnectionGuard()).app(), model))
        return made[-1]

    yield build
    for gateway in made:
        loop.run_until_complete(gateway.close())
    loop.run_until_complete(asyncio.sleep(0.0))
    loop.close()


def said(answer: Answer) -> str:
    told: str = answer.json()["error"]["message"]
    return told


# whose key opens what

STRANGER = "this key is not one of this run"


@pytest.mark.parametrize(
    ("method", "path", "claims", "words"),
    [
        ("POST", CHAT, None, STRANGER),
        ("POST", CHAT, {"is_engine": True}, "this key asks no model"),
        ("POST", COUNT, {"is_engine": True}, "this key asks no model"),
        ("GET", "/v1/models", None, STRANGER),
        ("GET", "/ledger/records", None, STRANGER),
        ("GET", "/ledger/records", {}, "this key is not the engine's"),
        ("POST", "/ledger/clock", {}, "this key is not the engine's"),
        ("POST", "/ledger/end", {"phase": "scoring"}, "this key is not the engine's"),
        ("POST", "/ledger/anew", {}, "this key is not the engine's"),
        *((method, f"/admin/{path}", {"is_engine": True}, "this key is not the runner's") for method, path in (
            ("GET", "health"), ("POST", "gone"), ("GET", "run"), ("GET", "jobs/job/a/records"), ("POST", "jobs/job/a/release"),
        )),
    ],
)  # fmt: skip
def test_a_key_opens_what_it_is_for_and_nothing_else(
    opened: Open, method: str, path: str, claims: dict[str, Any] | None, words: str
) -> None:
    gateway = opened()
    key = "tb-x.y" if claims is None else gateway.key(**claims)
    answer = gateway.ask(method, path, {"messages": HELLO}, key=key)
    assert (answer.status_code, said(answer)) == (401, words)
    assert answer.headers["connection"] == "close"


def test_a_key_may_stand_where_clients_put_it(opened: Open) -> None:
    gateway, path = opened(), "/v1/models"
    key = gateway.key()
    for headers, status in (
        ({"x-api-key": key}, 200), ({"authorization": "", "x-goog-api-key": key}, 200), ({"x-api-key": key, "authorization": "x"}, 200),
        ({"authorization": "Bearer x", "x-goog-api-key": key}, 401), ({"authorization": key}, 200), ({"authorization": ""}, 401),
    ):  # fmt: skip
        assert gateway.ask("GET", path, **headers).status_code == status, headers
    assert gateway.ask("GET", f"{path}?key={key}", authorization="").status_code == 200


def test_the_models_of_a_role_are_listed(opened: Open) -> None:
    assert opened().ask("GET", "/v1/models").json() == {
        "object": "list",
        "data": [{"id": "stub", "object": "model", "created": 0, "owned_by": "stub"}],
    }


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/v1/images", 404), ("GET", CHAT, 405)])
def test_what_there_is_no_route_for_is_refused_with_those_that_there_are(
    opened: Open, method: str, path: str, status: int
) -> None:
    answer = opened().ask(method, path, {})
    assert answer.status_code == status
    assert said(answer).startswith(f"the gateway does not answer {method} {path}; it offers /v1/chat/completions, ")
    assert "/v1beta/models/{model}:{method}" in said(answer)


# what an engine and a runner are told


def test_a_clock_starts_once_and_at_the_time_that_is_told(opened: Open) -> None:
    gateway = opened()
    engine = gateway.key(is_engine=True)
    for wrong in (-0.1, "1", True, None):
        answer = gateway.ask("POST", "/ledger/clock", {"elapsed": wrong}, key=engine)
        assert (answer.status_code, said(answer)) == (400, "`elapsed` must be a number of seconds, 0 or more")
    assert gateway.ask("GET", "/ledger/records", key=engine).json()["began"] is None
    first = gateway.ask("POST", "/ledger/clock", {"elapsed": 1_000.0}, key=engine).json()
    again = gateway.ask("POST", "/ledger/clock", {}, key=engine).json()
    assert first["began"] == again["began"]
    assert first["began"] <= time.monotonic() - 1_000.0
    assert gateway.ask("POST", "/ledger/clock", b"[]", key=engine).status_code == 400


def test_an_engine_is_told_of_the_calls_after_those_that_it_knows(opened: Open) -> None:
    gateway = opened()
    engine = gateway.key(is_engine=True)
    for _ in range(2):
        assert gateway.ask("POST", CHAT, {"messages": HELLO}).status_code == 200
    told = gateway.ask("GET", "/ledger/records", key=engine).json()
    assert (told["calls"], told["refusal"], told["scoring_refusal"]) == (2, None, None)
    assert told["used"]["llm_calls"] == 2
    for after, left in (("0", 2), ("1", 1), ("2", 0), ("x", 2), ("-1", 2), ("1" * 12, 0), ("1" * 13, 2), ("\u0662", 2)):
        answer = gateway.ask("GET", f"/ledger/records?after={after}", key=engine).json()
        assert (answer["calls"], len(answer["records"])) == (2, left), after


def test_an_answer_tells_the_jobs_own_engine_how_the_job_stands(opened: Open) -> None:
    gateway = opened()
    engine, other = gateway.key(is_engine=True), gateway.key(is_engine=True, job_id="other")
    body = {"messages": HELLO}
    for header, records in (
        (f"{engine} 0", 1), (f"{engine} 1", 1), (engine, 3), (f"{other} 0", None), (f"{gateway.key()} 0", None), ("x 0", None), ("", None),
        (f"{gateway.key(is_engine=True, attempt='b')} 0", None),
    ):  # fmt: skip
        answer = gateway.ask("POST", CHAT, body, **{LEDGER_HEADER: header})
        standing = answer.json().get("tracebench")
        assert (None if standing is None else len(standing["records"])) == records
        assert int(answer.headers["content-length"]) == len(answer.content)
    refused = gateway.ask("POST", CHAT, {}, **{LEDGER_HEADER: f"{engine} 0"})
    assert refused.status_code == 400
    assert refused.json()["tracebench"]["calls"] == 8


def test_training_that_is_over_asks_no_more_and_scoring_does(opened: Open) -> None:
    gateway = opened()
    assert gateway.ask("POST", "/ledger/end", key=gateway.key(is_engine=True)).json()["calls"] == 0
    answer = gateway.ask("POST", CHAT, {"messages": HELLO})
    assert (answer.status_code, said(answer)) == (401, "the training of job `job` has ended")
    assert gateway.ask("POST", CHAT, {"messages": HELLO}, key=gateway.key(phase="scoring")).status_code == 200


def test_a_runner_sees_the_run_and_lets_go_of_jobs(opened: Open) -> None:
    gateway = opened(run_budget=Budget(llm_calls=2))
    assert gateway.ask("GET", "/admin/health", key=ADMIN).json() == {"mode": "stub", "away": {}}
    assert gateway.ask("POST", "/admin/gone?address=http://a&address=http://b", key=ADMIN).json() == {}
    assert gateway.ask("GET", "/admin/jobs/none/b/records", key=ADMIN).json() == {"records": []}
    statuses = [gateway.ask("POST", CHAT, {"messages": HELLO}).status_code for _ in range(3)]
    assert statuses == [200, 200, 402]
    run = gateway.ask("GET", "/admin/run", key=ADMIN).json()
    assert (run["used"]["llm_calls"], run["refusal"], run["refused"]) == (2, "llm_calls", 1)
    assert run["held"]["usd"] == 0.0
    assert [r["status"] for r in gateway.ask("GET", "/admin/jobs/job/a/records?after=1", key=ADMIN).json()["records"]] == [
        "ok", "refused",
    ]  # fmt: skip
    assert gateway.ask("POST", "/admin/jobs/job/a/release", key=ADMIN).json() == {}
    answer = gateway.ask("POST", CHAT, {"messages": HELLO})
    assert (answer.status_code, said(answer)) == (401, "job `job` has ended")


# caps


def test_a_cap_in_usd_needs_a_price(opened: Open) -> None:
    model = ModelIdentity(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
    gateway = opened(model=model)
    answer = gateway.ask("POST", CHAT, {"messages": HELLO}, key=gateway.key(budget=Budget(usd=1.0)))
    words = "a cap in USD cannot be kept: the price of `m` is unknown; give it in `llm.prices`"
    assert (answer.status_code, said(answer)) == (400, words)
    capped = opened(model=model, run_budget=Budget(usd=1.0), max_retries=0)
    assert said(capped.ask("POST", CHAT, {"messages": HELLO})) == words


def test_who_asks_on_against_a_cap_is_told_which_and_loses_the_connection_in_the_end(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracebench_gateway.server.flow.LONGEST_PENALTY", 0.0)
    monkeypatch.setattr("tracebench_gateway.server.flow.PATIENT_REFUSALS", 2)
    monkeypatch.setattr("tracebench_gateway.server.service.MOST_REFUSALS_KEPT", 3)
    gateway = opened()
    key = gateway.key(budget=Budget(llm_calls=1))
    answers = [gateway.ask("POST", CHAT, {"messages": HELLO}, key=key) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200, 402, 402, 402, 402, 402]
    assert [answer.headers.get("connection") for answer in answers[1:]] == [None, None, "close", "close", "close"]
    error = answers[1].json()["error"]
    assert (error["type"], error["tracebench"]) == ("insufficient_quota", {"axis": "llm_calls", "scope": "job"})
    assert answers[1].headers["x-should-retry"] == "false"
    standing = gateway.ask("GET", "/ledger/records", key=gateway.key(is_engine=True)).json()
    assert standing["calls"] == 4, "the fourth refusal and those after it are only counted"
    assert standing["refusal"] == ["llm_calls", "job"]


# several answers, pieces of them, and the same again


def pieces(answer: Answer) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in answer.content.decode().splitlines() if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def text_of(told: list[Any], index: int) -> str:
    choices = [choice for piece in told for choice in piece["choices"] if choice["index"] == index]
    assert choices[-1]["finish_reason"] == "stop"
    return "".join(choice["delta"].get("content", "") for choice in choices)


def test_several_answers_are_told_each_by_its_place_whole_and_in_pieces(opened: Open) -> None:
    gateway = opened()
    body = {"messages": HELLO, "n": 3}
    whole = gateway.ask("POST", CHAT, body).json()["choices"]
    assert [choice["index"] for choice in whole] == [0, 1, 2]
    streamed = gateway.ask("POST", CHAT, body | {"stream": True}, key=gateway.key(job_id="other"))
    assert streamed.headers["content-type"].startswith("text/event-stream")
    texts = [choice["message"]["content"] for choice in whole]
    assert [text_of(pieces(streamed), index) for index in range(3)] == texts


def test_a_request_that_comes_again_by_its_key_is_answered_as_it_was_and_counted_once(opened: Open) -> None:
    gateway = opened()
    body = {"messages": HELLO, "n": 2}
    asked = [gateway.ask("POST", CHAT, body, **{"idempotency-key": key}) for key in ("a", "a", "b")]
    first, again, other = ([choice["message"]["content"] for choice in answer.json()["choices"]] for answer in asked)
    assert first == again
    streamed = pieces(gateway.ask("POST", CHAT, body | {"stream": True}, **{"idempotency-key": "a"}))
    assert [text_of(streamed, index) for index in (0, 1)] == first
    assert gateway.ask("GET", "/ledger/records", key=gateway.key(is_engine=True)).json()["calls"] == 4
    assert other


def test_a_stream_that_is_refused_before_its_first_piece_has_a_status_of_its_own(opened: Open) -> None:
    gateway = opened()
    answer = gateway.ask("POST", CHAT, {"messages": HELLO, "stream": True}, key=gateway.key(budget=Budget(llm_calls=0)))
    assert (answer.status_code, answer.json()["error"]["tracebench"]["axis"]) == (402, "llm_calls")


# bodies and counts of tokens


def test_a_body_that_is_too_large_is_refused_before_it_is_read(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST_BODY", 50)
    gateway, words = opened(), "the request is larger than 50 bytes"
    key = gateway.key()
    for sent, told in ((b" " * 51, "51"), (b"", "51"), (b"", "9" * 13), (b" " * 51, "x"), (b" " * 51, "1")):
        answer = gateway.ask("POST", CHAT, sent, key=key, **{"content-length": told})
        assert (answer.status_code, said(answer)) == (413, words)
    assert gateway.ask("POST", CHAT, b" " * 50, key=key).status_code == 400


def test_a_prompt_is_counted_without_a_call_and_alike_whether_it_is_read_here_or_apart(opened: Open) -> None:
    gateway = opened()
    text = "lorem ipsum " * (SMALL // 12 + 1)
    small, large = ({"messages": [{"role": "user", "content": text[:size]}]} for size in (120, None))
    answers = [gateway.ask("POST", COUNT, body).json()["input_tokens"] for body in (small, large)]
    assert answers[0] in range(25, 45)
    assert answers[1] - answers[0] == pytest.approx((len(text) - 120) / 4, abs=1)
    assert gateway.ask("GET", "/ledger/records", key=gateway.key(is_engine=True)).json()["calls"] == 0
    for size in (0, SMALL):
        wrong = gateway.ask("POST", COUNT, b'{"messages": 1}' + b" " * size)
        assert (wrong.status_code, wrong.json()["type"]) == (400, "error")
        assert "`messages`" in said(wrong)
    # else a few requests of 32 MB, which take gigabytes and minutes to parse, would hold up the models of every job
    many = gateway.ask("POST", COUNT, b'{"messages": [' + b"[]," * 60_000 + b"[]]}")
    assert (many.status_code, said(many)) == (413, "the request holds more than 50,000 objects and lists")


# answers that are kept


def calling_tools() -> Scripted:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": f"f{n}", "arguments": "{}"}} for n in (0, 1)]
    return Scripted(chat({"content": "now", "tool_calls": calls}, finish_reason="tool_calls"))


def served_by(server: Scripted) -> ModelIdentity:
    return ModelIdentity(provider="openai", model="m", base_url=server.base_url)


def test_a_kept_answer_is_streamed_in_pieces_that_tell_its_calls_of_tools_apart(opened: Open) -> None:
    tools = [{"name": f"f{n}", "input_schema": {"type": "object"}} for n in (0, 1)]
    body = {"messages": HELLO, "max_tokens": 9, "temperature": 0, "tools": tools}
    with calling_tools() as server:
        gateway = opened(model=served_by(server), cache="run")
        whole = gateway.ask("POST", "/v1/messages", body).json()
        streamed = gateway.ask("POST", "/v1/messages", body | {"stream": True}).content.decode()
    assert len(server.asked) == 1
    events = [json.loads(line.removeprefix("data: ")) for line in streamed.splitlines() if line.startswith("data: ")]
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert [(block["type"], block.get("name")) for block in blocks] == [
        (block["type"], block.get("name")) for block in whole["content"]
    ] == [("text", None), ("tool_use", "f0"), ("tool_use", "f1")]  # fmt: skip


@pytest.mark.parametrize(
    "damage", ["UPDATE replies SET reply = x'00'", "UPDATE replies SET reply = 5", "DROP TABLE replies"]
)
def test_a_cache_that_is_damaged_costs_a_call_and_nothing_else(opened: Open, tmp_path: Path, damage: str) -> None:
    body = {"messages": HELLO, "temperature": 0}
    with calling_tools() as server:
        gateway = opened(model=served_by(server), cache="run")
        assert gateway.ask("POST", CHAT, body).status_code == 200
        with sqlite3.connect(tmp_path / "run/llm/cache.sqlite") as cache:
            cache.execute(damage)
        answer = gateway.ask("POST", CHAT, body)
    assert (answer.status_code, len(server.asked)) == (200, 2)
    told = gateway.ask("GET", "/ledger/records", key=gateway.key(is_engine=True)).json()
    assert [record["status"] for record in told["records"]] == ["ok", "ok"]
