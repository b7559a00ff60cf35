"""`doctor --live` asks each role's model once, with the fields that a run sends."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.llm.scripted import Scripted, chat
from tests.whole import HEAVY, SOAK
from typer.testing import CliRunner

from tracebench_engine.api.live import mend
from tracebench_engine.cli.app import app


def test_each_role_is_asked_once_and_what_came_of_it_is_told(tmp_path: Path) -> None:
    refusal = {"error": {"message": "no such model: broken"}}
    with Scripted(chat({"content": "ok"})) as good, Scripted(refusal, status=404) as bad:
        llm = {
            "model": "fake",
            "base_url": good.base_url,
            "temperature": 0.5,
            "top_p": 0.9,
            "prices": {"fake": {"prompt": 1, "completion": 2}},
        }
        llm["roles"] = {"judge": {"model": "broken", "base_url": bad.base_url}}
        config = tmp_path / "c.json"
        config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
        done = CliRunner().invoke(app, ["doctor", "--live", "--config", str(config), "--json"])
        bodies = [body for _, body in good.asked]
    told = json.loads(done.stdout)
    calls = {call["role"]: call for call in told["calls"]}
    assert done.exit_code == 3
    assert [body["temperature"] for body in bodies] == [body["top_p"] - 0.4 for body in bodies] == [0.5, 0.5]
    assert len(bad.asked) == 1
    assert {role: call["ok"] for role, call in calls.items()} == {"optimizer": True, "agent": True, "judge": False}
    assert {role: call["is_used"] for role, call in calls.items()} == {
        "optimizer": True,
        "agent": False,
        "judge": False,
    }
    assert calls["agent"]["words"] == "ok"
    assert calls["agent"]["usd"] == (11 + 2 * 7) / 1e6
    assert "no such model" in calls["judge"]["words"]


USAGE = {"input_tokens": 11, "output_tokens": 7}
MESSAGES = {
    "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn", "usage": USAGE,
}  # fmt: skip
GENERATED = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
}
OUTPUT = {"type": "message", "id": "m", "role": "assistant", "status": "completed",
          "content": [{"type": "output_text", "text": "ok", "annotations": []}]}  # fmt: skip
RESPONSE = {
    "id": "r", "object": "response", "created_at": 0, "model": "g", "status": "completed", "output": [OUTPUT], "error": None,
    "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tools": [], "tool_choice": "auto",
    "temperature": 1, "top_p": 1, "usage": {**USAGE, "total_tokens": 18},
}  # fmt: skip
WIRES = [
    ("openai/fake", "", chat({"content": "ok"}), "/v1/chat/completions", ()),
    ("openai/fake", "/other", chat({"content": "ok"}), "/other/chat/completions", ()),
    ("openai/responses/gpt-4o", "/other", RESPONSE, "/other/responses", ("seed",)),
    ("anthropic/claude-sonnet-4-5", "", MESSAGES, "/v1/messages", ("seed",)),
    ("gemini/gemini-2.5-pro", "/v1beta", GENERATED, ":generateContent", ()),
]


@pytest.mark.parametrize(
    "wire",  # a process that imports litellm takes seconds: two of its four wires stand for them
    [
        pytest.param(wire, id=f"{wire[0]} {wire[1]}", marks=((), SOAK, HEAVY, SOAK, HEAVY)[turn])
        for turn, wire in enumerate(WIRES)
    ],
)
def test_each_wire_of_a_provider_is_asked_with_the_fields_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wire: tuple[str, str, Any, str, tuple[str, ...]]
) -> None:
    model, path, answer, asked_at, left_out = wire
    if (path or not model.startswith("openai")) and find_spec("litellm") is None:
        pytest.skip("the extra `litellm` is not installed")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "sk-0123456789")
    prices = {model.partition("/")[2]: {"prompt": 1, "completion": 2}}
    refusal = {
        "error": {"type": "invalid_request_error", "message": "seed must be odd", "code": 400, "status": "INVALID"}
    }
    with Scripted(answer) as good, Scripted(refusal, status=400) as bad:
        base = {server: server.base_url.removesuffix("/v1") + path for server in (good, bad)}
        fields = {"model": model, "temperature": 0.5, "seed": 3, "max_tokens": 16}
        llm: dict[str, Any] = {**fields, "base_url": base[good], "prices": prices}
        llm["roles"] = {"judge": {"base_url": base[bad]}}
        config = tmp_path / "c.json"
        config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
        done = CliRunner().invoke(app, ["doctor", "--live", "--config", str(config), "--json"])
        asked, refused = good.asked, bad.asked
    calls = {call["role"]: call for call in json.loads(done.stdout)["calls"]}
    assert done.exit_code == 3
    assert [url.partition("?")[0].endswith(asked_at) for url, _ in asked] == [True, True], calls
    assert len(refused) == 1
    agent, judge = calls["agent"], calls["judge"]
    assert (agent["ok"], agent["words"], judge["ok"]) == (True, "ok", False)
    assert "seed must be odd" in judge["words"]
    assert agent["seconds"] > 0 < judge["seconds"]
    assert agent["usd"] == (11 + 2 * 7) / 1e6
    assert judge["usd"] == 0
    assert tuple(agent["left_out"]) == left_out
    assert agent["address"] == (base[good] if path or not model.startswith("openai") else good.base_url)
    text = json.dumps([body for _, body in asked])
    assert "16" in text
    assert ("seed" in text) is not bool(left_out)
    assert "0.5" in text


@HEAVY
@pytest.mark.skipif(find_spec("litellm") is None, reason="the extra `litellm` is not installed")
def test_a_limit_that_the_responses_api_would_raise_is_told_and_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with Scripted(RESPONSE) as server:
        base_url = server.base_url.removesuffix("/v1") + "/other"
        llm = {"model": "openai/responses/gpt-4o", "base_url": base_url, "max_tokens": 15}
        config = tmp_path / "c.json"
        config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
        done = CliRunner().invoke(app, ["doctor", "--live", "--config", str(config)])
    assert server.asked == []
    assert done.exit_code == 3
    assert "no limit below 16 tokens" in done.stdout


ALL_WRONG = [
    ("nothing listens", "http://127.0.0.1:9/v1", 200, "curl -sS http://127.0.0.1:9/v1/models"),
    ("no such model", "", 404, "/v1/models   lists the models that this server has"),
    ("no such path", "/api", 404, "stands at `/v1`"),
    (
        "a wrong key",
        "",
        401,
        "`MY_KEY` is set, and is refused; for another key, or a whole one of this address: export MY_KEY=…",
    ),
]


@pytest.mark.parametrize(
    "wrong", [pytest.param(case, id=case[0], marks=HEAVY if case[1] == "/api" else ()) for case in ALL_WRONG]
)
def test_what_a_newcomer_has_wrong_is_told_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: tuple[str, str, int, str]
) -> None:
    case, base_url, status, hint = wrong
    if base_url == "/api" and find_spec("litellm") is None:
        pytest.skip("the extra `litellm` is not installed")
    monkeypatch.setenv("MY_KEY", "sk-0123456789")
    with Scripted({"error": {"message": case}}, status=status) as server:
        url = base_url if base_url.startswith("http") else server.base_url.removesuffix("/v1") + (base_url or "/v1")
        llm = {"model": "openai/fake", "base_url": url, "api_key_env": "MY_KEY"}
        config = tmp_path / "c.json"
        config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
        done = CliRunner().invoke(app, ["doctor", "--live", "--config", str(config)])
    assert done.exit_code == 3
    assert done.stdout.count(hint) == 3, done.stdout
    assert done.stdout.count("no trainer or task of this config asks it") == 2  # agent and judge


@pytest.mark.parametrize("value", [None, ""])
def test_a_key_that_is_not_set_is_told_apart_from_a_wrong_one(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    assert mend("auth: 401", None, "MY_KEY") == "`MY_KEY` is not set in this shell: export MY_KEY=…"
    monkeypatch.setenv("MY_KEY", "sk-0123456789")
    assert "is set, and is refused" in mend("auth: 401", None, "MY_KEY")


def test_fields_that_are_sent_as_written_are_told_where_they_look_misspelt(tmp_path: Path) -> None:
    llm = {
        "model": "openai/fake",
        "base_url": "http://127.0.0.1:9/v1",
        "extra_body": {"top_k": 20, "repetion_penalty": 1.1, "my_own_field": 1},
        "extra_headers": {"X-Titel": "MY_TITLE", "X-My-Own": "MY_OWN", "Anthropic-Beta": "MY_BETA"},
        "roles": {"judge": {"extra_body": {"min_p": 0.1, "frequency_penlty": 1}}},
    }
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
    done = CliRunner().invoke(app, ["validate", "--config", str(config)])
    said = [line for line in (done.stdout + done.stderr).splitlines() if "sent as it is written" in line]
    assert len(said) == 3, done.stdout
    for place, name, near in (
        ("llm.extra_body", "repetion_penalty", "repetition_penalty"),
        ("llm.extra_headers", "X-Titel", "x-title"),
        ("llm.roles.judge.extra_body", "frequency_penlty", "frequency_penalty"),
    ):
        assert [line for line in said if f"{place}: holds `{name}`" in line and f"`{near}`?" in line], said
