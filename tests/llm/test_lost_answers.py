"""An answer that is lost on its way, its gateway killed or not, is given again: it is one call, paid and counted once."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.llm.conftest import Door, Open, say
from tests.whole import cells, one_in

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway import turns
from tracebench_gateway.access import Phase
from tracebench_gateway.cassette.undelivered import MOST_KEPT, Undelivered
from tracebench_gateway.exchange import ChatRequest, Metered, Reply, Tokens
from tracebench_gateway.models import resolve_models
from tracebench_gateway.server.metering.ledger import read_ledger
from tracebench_testing.fake_openai import FakeOpenAI

QUESTION = "a b c d e f g h"


def broken(door: Door) -> Callable[[], None]:
    """Return what only breaks the connection."""
    return lambda: None


def killed(door: Door) -> Callable[[], None]:
    """Return what kills the gateway, and has it replaced as a runner would."""

    def kill() -> None:
        os.kill(door.gateway.pid, signal.SIGKILL)
        threading.Thread(target=door.gateway.restart).start()

    return kill


Loss = Callable[[Door], Callable[[], None]]
LOSSES = pytest.mark.parametrize("loss", [broken, killed])


def calls(door: Door) -> list[dict[str, Any]]:
    """Return the calls of a ledger."""
    return [line for line in read_ledger(door.run_dir / "llm/ledger.jsonl") if line["kind"] == "llm_call"]


def ask(door: Door, **more: Any) -> list[str]:
    """Ask the question."""
    return [completion.text for completion in door.client.complete(say(QUESTION), role="agent", **more)]


@LOSSES
def test_the_same_question_is_answered_in_the_same_order(open_door: Open, loss: Loss) -> None:
    calm = open_door(run="calm")
    expected = [ask(calm) for _ in range(5)]
    assert len({*map(str, expected)}) > 2
    for lost in range(3):
        door = open_door(run=f"lost{lost}")
        found = []
        for n in range(5):
            door.tap.lose = loss(door) if n == lost else None
            found.append(ask(door))
        assert found == expected
        assert door.client.used().llm_calls == len(calls(door)) == len(door.client.records()) == 5


@LOSSES
@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_real_model_is_paid_once(open_door: Open, loss: Loss, is_recorded: bool) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, record=is_recorded)
        door.tap.lose = loss(door)
        first = ask(door, n=3)
        second = ask(door)
        assert len(server.log.requests) == 4
    assert len(first) == 3
    assert second
    assert door.client.used().llm_calls == len(calls(door)) == 4
    assert door.gateway.run_used().llm_calls == 4
    assert [line["status"] for line in calls(door)] == ["ok"] * 4
    assert not any(line.get("reused") for line in calls(door))
    door.gateway.release("job")
    assert [*(door.run_dir / "llm/undelivered").iterdir()] == []


@LOSSES
def test_no_cap_stands_against_the_answer_to_the_last_call_that_it_pays(open_door: Open, loss: Loss) -> None:
    calm = open_door(run="calm", budget=Budget(llm_calls=2))
    expected = [ask(calm), ask(calm)]
    door = open_door(budget=Budget(llm_calls=2))
    first = ask(door)
    door.tap.lose = loss(door)
    assert [first, ask(door)] == expected
    with pytest.raises(BudgetExhausted):
        ask(door)


def test_a_death_before_the_filing_pays_no_second_time(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url)
        kill, ledger = killed(door), door.run_dir / "llm/ledger.jsonl"

        def kill_unfiled() -> None:
            lines = ledger.read_bytes().splitlines(keepends=True)
            ledger.write_bytes(b"".join(lines[:-1]))
            kill()

        door.tap.lose = kill_unfiled
        ask(door)
        assert len(server.log.requests) == 1
    assert [line["status"] for line in calls(door)] == ["ok"]
    assert door.gateway.run_used().llm_calls == 1


@pytest.mark.parametrize(
    ("mode", "unfiled"), cells(product(["stub", "real"], [1, 2]), always=[("stub", 1), ("real", 2)])
)
def test_a_request_that_was_filed_in_part_is_charged_for_the_rest_alone(
    open_door: Open, mode: str, unfiled: int
) -> None:
    """The cap pays each of its calls once: what is filed is answered as it was, and nothing is set aside for it."""
    with FakeOpenAI() as server:
        real = {"mode": "real", "base_url": server.base_url} if mode == "real" else {}
        expected = ask(open_door(run="calm", **real), n=3)
        door = open_door(budget=Budget(llm_calls=3), **real)
        kill, ledger = killed(door), door.run_dir / "llm/ledger.jsonl"

        def kill_half_way() -> None:
            ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-unfiled]))
            kill()

        door.tap.lose = kill_half_way
        found = ask(door, n=3)
        assert len(server.log.requests) == (6 if real else 0)
    assert found == expected
    assert [line["status"] for line in calls(door)] == ["ok"] * 3
    assert door.gateway.run_used().llm_calls == 3


@pytest.mark.parametrize(
    ("mode", "unfiled"), cells(product(["stub", "real"], [0, 1]), always=[("stub", 0), ("real", 1)])
)
def test_a_streamed_answer_that_is_asked_for_again_is_sent_again(open_door: Open, mode: str, unfiled: int) -> None:
    with FakeOpenAI() as server:
        real = {"mode": "real", "base_url": server.base_url} if mode == "real" else {}
        door = open_door(**real)
        first = post(door, QUESTION, key="k", stream=True, n=2).text
        if unfiled:
            ledger = door.run_dir / "llm/ledger.jsonl"
            ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-unfiled]))
            os.kill(door.gateway.pid, signal.SIGKILL)
            door.gateway.restart()
        second = post(door, QUESTION, key="k", stream=True, n=2).text
        assert len(server.log.requests) == (2 if real else 0)
    assert said(first) == said(second)
    assert all(said(second))
    assert len(calls(door)) == 2


@pytest.mark.parametrize("pieces", one_in(2, [0, 1]))
def test_a_stream_that_its_caller_left_and_asks_for_again_is_one_call(open_door: Open, pieces: int) -> None:
    with FakeOpenAI(delay=0.5, pause=0.1) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(llm_calls=1))
        patience = 30.0 if pieces else 0.2
        with suppress(httpx.ReadTimeout), httpx.Client() as client:
            leaving = client.send(request(door, QUESTION, key="k", stream=True, seconds=patience), stream=True)
            next(leaving.iter_raw())
            leaving.close()
        again = post(door, QUESTION, key="k", stream=True)
        assert len(server.log.requests) == 1
    assert again.status_code == 200
    assert said(again.text)[0]
    assert [line["status"] for line in calls(door)] == ["ok"]


def said(stream: str) -> list[str]:
    """Return what a stream of two choices says."""
    texts = ["", ""]
    for line in stream.splitlines():
        for choice in json.loads(line[6:])["choices"] if line.startswith("data: {") else ():
            texts[choice["index"]] += choice["delta"].get("content") or ""
    return texts


def test_tasks_of_a_section_keep_their_places_through_a_death(open_door: Open) -> None:
    def answers(door: Door, *, dies_after: int) -> dict[int, list[str]]:
        ask(door)
        found = {}
        for n, task in enumerate((2, 0, 3, 1)):
            with turns.take(turns.Turn(section=1, task=task, tasks=4)):
                found[task] = ask(door)
            if n == dies_after:
                os.kill(door.gateway.pid, signal.SIGKILL)
                door.gateway.restart()
        return found

    expected = answers(open_door(run="calm"), dies_after=9)
    assert len({*map(str, expected.values())}) > 1
    for n in range(3):
        assert answers(open_door(run=f"dies{n}"), dies_after=n) == expected


def test_what_was_delivered_long_ago_is_dropped(tmp_path: Path) -> None:
    kept = Undelivered(tmp_path)
    numbers = range(3 * MOST_KEPT)
    for n in numbers:
        kept.add("attempt", _request(n), Reply({"content": str(n)}, "stop"), Metered(Tokens(1, 1), None))
    (path,) = (tmp_path / "undelivered").iterdir()
    with path.open("ab") as torn:
        torn.write(b'["k1.0.0", "di')
    again = Undelivered(tmp_path)
    assert again.find("attempt", _request(0)) is None
    assert again.find("other", _request(numbers[-1])) is None
    for n in numbers[-MOST_KEPT:]:
        found = again.find("attempt", _request(n))
        assert found is not None
        assert found.message == {"content": str(n)}
        assert again.is_of_before("attempt", _request(n))
    assert len(path.read_bytes().splitlines()) < 5 * MOST_KEPT
    again.forget("job", "attempt")
    assert not path.exists()


def _request(n: int) -> ChatRequest:
    identity = ModelIdentity(provider="p", model="m")
    return ChatRequest("job", 1, "agent", identity, say(str(n)), {}, digest=f"d{n}", key=f"k{n}.0.0")


def request(
    door: Door, question: str, *, key: str, phase: Phase = "training", seconds: float = 30.0, **more: Any
) -> httpx.Request:
    """Return a question as any program may ask it, behind the tap."""
    base_url = str(door.gateway.base_url)
    door.tap.lost += 1  # it sees none of it
    endpoint = door.client.endpoint("agent")
    headers = {"Authorization": f"Bearer {door.client._access.keys['agent'][phase]}", "Idempotency-Key": key}
    body = {"model": endpoint.model, "messages": say(question), **more}
    with httpx.Client(timeout=seconds) as client:
        return client.build_request("POST", f"{base_url.rstrip('/')}/chat/completions", headers=headers, json=body)


def post(door: Door, question: str, *, key: str, phase: Phase = "training", **more: Any) -> httpx.Response:
    """Ask it."""
    with httpx.Client() as client:
        return client.send(request(door, question, key=key, phase=phase, **more))


@pytest.mark.parametrize("mode", ["stub", "real"])
def test_another_request_under_the_same_key_is_another_call(open_door: Open, mode: str) -> None:
    with FakeOpenAI() as server:
        real = {"mode": "real", "base_url": server.base_url} if mode == "real" else {}
        door = open_door(budget=Budget(llm_calls=2), **real)
        asked = [post(door, question, key="one for all").status_code for question in ("a b", "c d", "e f", "c d")]
    assert asked == [200, 200, 402, 200]
    assert [line["status"] for line in calls(door)] == ["ok", "ok", "refused"]


def test_no_key_of_training_names_a_call_of_scoring(open_door: Open) -> None:
    door = open_door()
    answers = [post(door, QUESTION, key="k", phase=phase).status_code for phase in ("training", "scoring", "training")]
    assert answers == [200] * 3
    assert [line["phase"] for line in calls(door)] == ["training", "scoring"]


def test_what_is_asked_again_while_it_is_under_way_is_one_call(open_door: Open) -> None:
    with FakeOpenAI(delay=0.5) as server, ThreadPoolExecutor() as pool:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(llm_calls=1))
        found = [*pool.map(lambda _: post(door, QUESTION, key="k"), range(3))]
        assert len(server.log.requests) == 1
    assert {answer.status_code for answer in found} == {200}
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in found}) == 1
    assert [line["status"] for line in calls(door)] == ["ok"]


def test_nothing_is_left_of_a_job_that_was_run_again(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url)
        ask(door)
        models = resolve_models(
            LLMConfig(provider="openai", model="fake", base_url=server.base_url), mode="real", environ={}
        )
        door.gateway.register("job", budget=Budget(), seed=1, models=models)
        assert len([*(door.run_dir / "llm/undelivered").iterdir()]) == 1
        door.gateway.release("job")
    assert [*(door.run_dir / "llm/undelivered").iterdir()] == []
