"""`llm.prompt_cache`: marks where a model wants them, nothing where its provider keeps prompts by itself, else told as left out."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import httpx
import pytest
from tests.llm.conftest import Door, Open
from tests.llm.scripted import Scripted, chat
from tests.whole import HEAVY

from tracebench_gateway.server.metering.ledger import read_ledger

USAGE = {
    "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 30, "cache_creation_tokens": 50},
}  # fmt: skip
PRICES = {"prompt": 1, "completion": 2, "cached": 0.5, "written": 1.25}
KEPT = {"type": "ephemeral"}
LONG = "question " * 20_000
"""Beyond what the gateway reads itself."""


def bodies(user: str, *, model: str = "fake", mark: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the same request on every wire; a caller's own mark stands on the system's words, where the wire has a place for it."""
    told = [{"type": "text", "text": "Be brief."} | ({"cache_control": KEPT} if mark else {})]
    system = {"role": "system", "content": told if mark else "Be brief."}
    said = [{"role": "user", "content": user}]
    yield "/chat/completions", {"messages": [system, *said]}
    yield "/messages", {"system": told, "messages": said, "max_tokens": 9}
    if not mark:
        yield "/responses", {"instructions": "Be brief.", "input": user}
        contents = {"contents": [{"role": "user", "parts": [{"text": user}]}]}
        told_so = {"systemInstruction": {"parts": [{"text": "Be brief."}]}}
        yield f"beta/models/{model}:generateContent", contents | told_so


def ask(door: Door, path: str, body: dict[str, Any]) -> httpx.Response:
    """Send one request."""
    endpoint = door.client.endpoint("agent")
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"}
    return httpx.post(endpoint.base_url + path, json=body, headers=headers, timeout=60)


def ledger_of(door: Door) -> list[dict[str, Any]]:
    """Return the calls on a gateway's ledger."""
    return [line for line in read_ledger(door.run_dir / "llm/ledger.jsonl") if line["kind"] == "llm_call"]


def marks_of(sent: dict[str, Any]) -> list[tuple[str, str]]:
    """Return whose words bear a mark in a body that reached the server."""
    return [
        (message["role"], part["text"])
        for message in sent["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else ())
        if part.get("cache_control") == KEPT
    ]


@pytest.mark.parametrize("user", ["1 + 2?", LONG], ids=["short", "long"])
def test_a_model_that_wants_marks_is_sent_them_on_every_wire(open_door: Open, server: Scripted, user: str) -> None:
    server.answer = chat({"content": "three"}, usage=USAGE)
    model = "anthropic/claude-sonnet-4.5"
    door = open_door(
        mode="real",
        base_url=server.base_url,
        provider="openrouter",
        model=model,
        prompt_cache=True,
        prices={model: PRICES},
    )
    for path, body in bodies(user, model=model):
        assert ask(door, path, body).status_code == 200, path
    assert [marks_of(sent) for _, sent in server.asked] == [[("system", "Be brief."), ("user", user)]] * 4
    lines = ledger_of(door)
    assert [line["written_tokens"] for line in lines] == [50] * 4
    assert [line["usd"] for line in lines] == [(20 + 15 + 62.5 + 20) / 1e6] * 4
    assert not any("left_out" in line for line in lines)


@pytest.mark.parametrize(
    ("provider", "left_out"), [("hosted_vllm", None), ("openai", ["prompt_cache"])], ids=["by itself", "nobody knows"]
)
def test_any_other_server_is_sent_none(
    open_door: Open, server: Scripted, provider: str, left_out: list[str] | None
) -> None:
    server.answer = chat({"content": "three"})
    door = open_door(mode="real", base_url=server.base_url, provider=provider, prompt_cache=True)
    for path, body in bodies("1 + 2?"):
        assert ask(door, path, body).status_code == 200, path
    assert [message["content"] for _, sent in server.asked for message in sent["messages"]] == [
        "Be brief.",
        "1 + 2?",
    ] * 4
    assert [line.get("left_out") for line in ledger_of(door)] == [left_out] * 4


@pytest.mark.parametrize(
    ("wanted", "seen", "left_out"),
    [(None, ["system"], None), (True, ["system"], None), (False, [], ["cache_control"])],
    ids=["unsaid", "true", "false"],
)
def test_a_callers_own_marks_stay_unless_the_config_takes_them(
    open_door: Open, server: Scripted, wanted: bool | None, seen: list[str], left_out: list[str] | None
) -> None:
    server.answer = chat({"content": "three"})
    door = open_door(
        mode="real", base_url=server.base_url, provider="openrouter", model="claude-x", prompt_cache=wanted
    )
    for path, body in bodies("1 + 2?", mark=True):
        assert ask(door, path, body).status_code == 200, path
    assert [[role for role, _ in marks_of(sent)] for _, sent in server.asked] == [seen] * 2
    assert [line.get("left_out") for line in ledger_of(door)] == [left_out] * 2
    assert all("cache_control" not in str(sent) for _, sent in server.asked) is not bool(seen)


def test_what_bears_no_text_bears_no_mark(open_door: Open, server: Scripted) -> None:
    server.answer = chat({"content": "three"})
    door = open_door(mode="real", base_url=server.base_url, provider="openrouter", model="claude-x", prompt_cache=True)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    parts = [{"type": "text", "text": "look"}, picture, {"type": "text", "text": " "}]
    said = [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "well"},
        {"role": "user", "content": ""},
    ]
    assert ask(door, "/chat/completions", {"messages": said}).status_code == 200
    ((_, sent),) = server.asked
    assert marks_of(sent) == [("user", "look")]


@HEAVY
@pytest.mark.skipif(find_spec("litellm") is None, reason="the extra `litellm` is not installed")
def test_anthropics_own_api_is_sent_marks(open_door: Open, server: Scripted) -> None:
    usage = {"input_tokens": 20, "output_tokens": 10, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 30}
    server.answer = {
        "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "three"}],
        "stop_reason": "end_turn", "usage": usage,
    }  # fmt: skip
    model = "claude-sonnet-4-5"
    door = open_door(
        mode="real", base_url=server.base_url.removesuffix("/v1"), provider="anthropic", model=model, prompt_cache=True,
        prices={model: PRICES},
    )  # fmt: skip
    path, body = next(bodies("1 + 2?"))
    assert ask(door, path, body).status_code == 200
    ((asked_at, sent),) = server.asked
    (line,) = ledger_of(door)
    assert asked_at == "/v1/messages"
    assert sent["system"][-1]["cache_control"] == sent["messages"][-1]["content"][-1]["cache_control"] == KEPT
    assert (line["prompt_tokens"], line["cached_tokens"], line["written_tokens"]) == (100, 30, 50)
    assert line["usd"] == (20 + 15 + 62.5 + 20) / 1e6
    assert "left_out" not in line
