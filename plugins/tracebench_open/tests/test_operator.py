"""`trace-bench mcp`, asked by a client of the official SDK over its pipe: from a question to a verdict, and never past the cap."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.whole import HEAVY

from tracebench_core.errors import UsageError
from tracebench_open.operator.allowance import Allowance
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_testing.teacher import Lesson, Teacher

pytestmark = pytest.mark.timeout(600)
if TYPE_CHECKING:
    from mcp import Client
PROMPT, COMPLETION = 100.0, 400.0
"""USD per million tokens: dear, so that a small cap is met."""
STUDY: dict[str, Any] = {
    "tasks": [{"id": "internal:numeric_param", "eval_kwargs": {"noise": 0.5}}],
    "trainers": ["NoOp", "SequentialRefine"],
    "seeds": [1, 2, 3],
    "budget": {"llm_calls": 4},
}
Session = Callable[["Client"], Awaitable[None]]


@pytest.fixture
def model() -> Any:
    better = Teacher(Lesson(lambda v, _: {k: x + 1 for k, x in v.items()}, lambda v, _: v), improves=1.0, harms=0.0)
    with FakeOpenAI(reply=lambda messages: better(str(messages[-1]["content"]), 0)) as server:
        yield server


def session(folder: Path, model: FakeOpenAI, what: Session, *, usd: float = 1.0) -> None:
    """Start the command as an agent's host does, and let a client speak to it."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    command = str(Path(sys.executable).with_name("trace-bench"))
    given = ["mcp", "--max-usd", str(usd), "--model", "some-model", "--base-url", model.base_url]
    given += ["--price", f"some-model={PROMPT},{COMPLETION}", "--runs-dir", str(folder)]

    async def speak() -> None:
        async with Client(
            StdioServerParameters(command=command, args=given, cwd=folder), read_timeout_seconds=120
        ) as client:
            await what(client)

    asyncio.run(speak())


async def ask(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    text = getattr(result.content[0], "text", "") if result.content else ""
    assert not result.is_error, text
    return dict(result.structured_content or json.loads(text))


async def refused(client: Client, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error, result
    return str(getattr(result.content[0], "text", ""))


async def ended(client: Client, run: str) -> dict[str, Any]:
    for _ in range(20):
        told = await ask(client, "watch", run=run, seconds=30)
        if told["ended"]:
            return told
    raise AssertionError(told)


def paid(model: FakeOpenAI) -> float:
    """Return what the server was asked for, by its own log and at the person's prices."""
    served = model.log.served
    return sum(s.prompt_tokens * PROMPT + s.completion_tokens * COMPLETION for s in served) / 1e6


@HEAVY
def test_from_a_question_to_a_verdict(tmp_path: Path, model: FakeOpenAI) -> None:
    async def speak(client: Client) -> None:
        assert {"offer", "plan", "validate", "run", "watch", "compare", "explain", "cancel"} == {
            tool.name for tool in (await client.list_tools()).tools
        }
        offer = await ask(client, "offer")
        assert offer["left_usd"] == 1.0
        assert "internal:numeric_param" in offer["tasks"]
        assert await ask(client, "plan", study=STUDY)
        assert await ask(client, "validate", study=STUDY)
        assert model.log.served == []
        run = (await ask(client, "run", study=STUDY, usd=0.8))["run"]
        left = (await ended(client, run))["left_usd"]
        assert 0 < paid(model) == pytest.approx(1.0 - left, abs=1e-9)
        told = await ask(client, "compare", runs=[run])
        assert told["verdict"]
        assert any(pair["difference"]["low"] is not None for pair in told["pairs"])
        assert (await ask(client, "explain", run=run))["verdict"] == told["verdict"]

    session(tmp_path, model, speak)


@HEAVY
def test_nothing_is_spent_beyond_the_cap(tmp_path: Path, model: FakeOpenAI) -> None:
    """Whatever is asked for: more than there is, twice at once, other prices, other models, files, programs, a second start."""
    cap = 0.3
    large = STUDY | {"budget": {"llm_calls": 30}, "seeds": [1, 2]}

    async def speak(client: Client) -> None:
        for changed in (
            {"llm": {"prices": {"some-model": {"prompt": 0, "completion": 0}}}},
            {"run_budget": {"usd": 100}},
            {"model": "gpt-4o"},
            {"trainers": ["Command"]},
            {"trainers": [{"id": "Command", "params": {"command": "curl"}}]},
            {"tasks": [{"id": "./own.py:task"}]},
            {"tasks": [{"id": "own.py:task"}]},
            {"plugins": {}},
            {"seeds": []},
        ):
            assert await refused(client, "run", study=STUDY | changed, usd=0.1)
        without_seeds = {key: value for key, value in STUDY.items() if key != "seeds"}
        told = await refused(client, "run", study=without_seeds | {"plugins": {}}, usd="much")
        assert (
            "`run` needs `study.seeds`. `run` has no field `study.plugins`. `usd` of `run`: Input should be a valid number"
            in told
        )
        assert "pydantic" not in told
        for usd in (0, -1, float("nan")):
            assert await refused(client, "run", study=STUDY, usd=usd)
        for run in ("../..", "study-x", ""):
            assert await refused(client, "watch", run=run)
        both = await asyncio.gather(
            ask(client, "run", study=large, usd=0.2), client.call_tool("run", {"study": large, "usd": 1e9})
        )
        assert both[0]["share_usd"] <= 0.2 + 1e-12
        shares = (await ask(client, "offer"))["runs"]
        assert sum(one["share"] for one in shares.values()) <= cap + 1e-12
        for run in shares:
            await ended(client, run)

    async def again(client: Client) -> None:
        left = (await ask(client, "offer"))["left_usd"]
        assert left <= cap - paid(model) + 1e-9
        for _ in range(3):
            result = await client.call_tool("run", {"study": large, "usd": 5})
            if not result.is_error:
                await ended(client, dict(result.structured_content or {})["run"])
        assert paid(model) <= cap + 1e-9

    session(tmp_path, model, speak, usd=cap)
    assert 0 < paid(model) <= cap + 1e-9
    session(tmp_path, model, again, usd=cap)
    assert paid(model) <= cap + 1e-9


def processes(folder: Path, *words: str) -> list[int]:
    """Return the processes whose command names a folder and some words."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if any(str(folder) in word for word in line) and all(word in line for word in words):
                found.append(int(entry.name))
    return found


def until(holds: Callable[[], bool], *, seconds: float) -> None:
    late = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.1)


@HEAVY
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "left in peace"])
def test_a_run_ends_with_a_server_that_was_killed(tmp_path: Path, model: FakeOpenAI, *, killed: bool) -> None:
    """Nothing goes on, what was spent is known, and the next start tells; a server that is left in peace leaves its run to go on."""
    cap, share = 10.0, 6.0
    study = STUDY | {"trainers": ["SequentialRefine"], "seeds": [1, 2, 3, 4, 5, 6], "budget": {"llm_calls": 8}}
    answers = model.reply
    model.reply = lambda messages: (time.sleep(0.3), answers(messages))[1]
    begun: list[str] = []

    async def killed_in_the_middle(client: Client) -> None:
        begun.append((await ask(client, "run", study=study, usd=share))["run"])
        until(lambda: len(model.log.served) > 3, seconds=120)
        if killed:
            (server,) = processes(tmp_path, "mcp")
            os.kill(server, signal.SIGKILL)

    with suppress(Exception if killed else ()):
        session(tmp_path, model, killed_in_the_middle, usd=cap)
    assert begun
    if killed:
        assert len(model.log.served) < 6 * 8
    until(lambda: not processes(tmp_path), seconds=120)
    at_the_end = len(model.log.served)
    time.sleep(1)
    assert len(model.log.served) == at_the_end
    assert (at_the_end < 6 * 8) == killed

    async def again(client: Client) -> None:
        offer = await ask(client, "offer")
        told = offer["runs"][begun[0]]
        assert told["state"] == ("cut off" if killed else "ended")
        assert [begun[0] in one and "cut off" in one for one in offer["remarks"]] == ([True] if killed else [])
        assert paid(model) - 1e-9 <= told["counted"] <= share
        assert offer["left_usd"] == pytest.approx(cap - told["counted"])

    session(tmp_path, model, again, usd=cap)
    assert len(model.log.served) == at_the_end


def test_an_allowance_is_one_and_stays_one(tmp_path: Path) -> None:
    one = Allowance(tmp_path, 2.0)
    assert one.draw("a", 1.5) == 1.5
    assert Allowance(tmp_path, 2.0).draw("b", 1.5) == pytest.approx(0.5)
    for again in ("a", "c"):
        with pytest.raises(UsageError):
            one.draw(again, 0.1)
    with pytest.raises(UsageError, match="not changed"):
        Allowance(tmp_path, 3.0)
    one.give_back("b")
    assert one.left() == pytest.approx(0.5)
    (tmp_path / "a").mkdir()
    one.give_back("a")
    assert one.left() == pytest.approx(0.5)
    (tmp_path / "allowance.json").write_text('{"usd": 9')
    with pytest.raises(UsageError, match="cannot be read"):
        one.left()
    (tmp_path / "allowance.json").unlink()
    with pytest.raises(UsageError, match="nothing is allowed"):
        one.draw("d", 0.1)
