"""The gateway as a process: killed and restarted, orphaned, and the only one that knows a key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.llm.conftest import KEY, Open, say
from tests.processes import has_ended

from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget
from tracebench_gateway import gateway_process
from tracebench_gateway.client import GatewayClient
from tracebench_testing.fake_openai import FakeOpenAI


def test_jobs_wait_for_a_killed_gateway_and_the_ledger_is_whole(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=100))
    before = [door.client.complete(say(f"question {n}"), role="agent")[0].text for n in range(5)]
    os.kill(door.gateway.pid, signal.SIGKILL)
    answers: list[str] = []

    def ask() -> None:
        answers.append(door.client.complete(say("during"), role="agent")[0].text)
        door.client.close()

    caller = threading.Thread(target=ask)
    caller.start()
    time.sleep(0.3)
    assert answers == []
    assert not door.gateway.is_alive()
    door.gateway.restart()
    caller.join(30)

    assert len(answers) == 1
    assert len(before) == 5
    assert door.client.used().llm_calls == 6
    assert [record.call for record in door.client.records()] == list(range(1, 7))
    assert door.gateway.run_used().llm_calls == 6


@pytest.mark.parametrize("has_asked", [True, False])
def test_who_asks_a_held_gateway_is_answered_by_the_next_one(open_door: Open, *, has_asked: bool) -> None:
    door = open_door()
    door.client.complete(say("hi"), role="agent")
    if has_asked:
        door.gateway.run_used()
    os.kill(door.gateway.pid, signal.SIGSTOP)
    told: list[int] = []
    asker = threading.Thread(target=lambda: told.append(door.gateway.run_used().llm_calls))
    asker.start()
    time.sleep(0.3)
    door.gateway.restart()
    asker.join(60)
    assert told == [1]


def test_who_asks_a_gateway_that_is_closed_is_told_so_and_keeps_nobody_waiting(
    open_door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_process, "END_SECONDS", 0.5)
    door = open_door()
    door.gateway.run_used()
    os.kill(door.gateway.pid, signal.SIGSTOP)
    told: list[BaseException] = []

    def ask() -> None:
        with pytest.raises(ConnectionError) as err:
            door.gateway.run_used()
        told.append(err.value)

    asker = threading.Thread(target=ask)
    asker.start()
    time.sleep(0.3)
    door.gateway.close()
    asker.join(60)
    assert len(told) == 1


def test_a_restarted_gateway_goes_on_with_the_same_sampling(open_door: Open) -> None:
    texts = []
    for run, restart in (("one", False), ("two", True)):
        door = open_door(run=run)
        answers = [door.client.complete(say("a b c d e f g"), role="agent")[0].text]
        if restart:
            door.gateway.restart()
        answers.append(door.client.complete(say("a b c d e f g"), role="agent")[0].text)
        texts.append(answers)
    assert texts[0] == texts[1]
    assert texts[0][0] != texts[0][1]


def test_a_torn_ledger_line_costs_only_itself(open_door: Open) -> None:
    door = open_door()
    door.client.complete(say("hi"), role="agent")
    os.kill(door.gateway.pid, signal.SIGKILL)
    with (door.run_dir / "llm" / "ledger.jsonl").open("a") as ledger:
        ledger.write('{"v": 1, "kind": "llm_c')
    door.gateway.restart()
    door.client.complete(say("hi"), role="agent")
    door.gateway.restart()
    assert door.client.used().llm_calls == 2


def test_closing_ends_the_process_and_frees_the_port(open_door: Open) -> None:
    door = open_door()
    door.client.complete(say("hi"), role="agent")
    door.gateway.close()
    door.gateway.close()
    assert not door.gateway.is_alive()


RUNNER = """
import os, sys, time
from pathlib import Path
from tracebench_gateway.gateway_process import start_gateway
from tracebench_core.specs import Budget, LLMConfig
gateway = start_gateway(LLMConfig(), mode="stub", run_dir=Path(sys.argv[1]), run_budget=Budget())
gateway.wait_ready()
print(gateway.pid, flush=True)
time.sleep(60)
"""


def test_a_gateway_does_not_outlive_a_killed_runner(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        runner.kill()
    assert has_ended(pid)


def test_the_key_is_nowhere_but_in_the_gateways_memory(open_door: Open) -> None:
    with FakeOpenAI(script=["401", None], error_text=f"wrong key {KEY}") as server:
        door = open_door(mode="real", base_url=server.base_url, record=True)
        with pytest.raises(ModelError) as failure:
            door.client.complete(say("hi"), role="agent")
        door.client.complete(say("hi"), role="agent")
        assert server.log.keys == {KEY}
    assert KEY not in str(failure.value)
    written = [path for path in door.run_dir.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY.encode() not in Path(f"/proc/{door.gateway.pid}/environ").read_bytes()
    assert KEY.encode() not in Path(f"/proc/{door.gateway.pid}/cmdline").read_bytes()
    assert KEY not in door.gateway._environ.values()
    assert KEY not in door.client._access.model_dump_json()


def test_records_are_the_jobs_own(open_door: Open) -> None:
    door = open_door()
    models = door.client._access.models
    other = GatewayClient(door.gateway.register("other", budget=Budget(), seed=1, models=models))
    door.client.complete(say("hi"), role="agent")
    other.complete(say("hi"), role="judge")
    assert [record.role for record in door.client.records()] == ["agent"]
    assert [record.role for record in other.records()] == ["judge"]
    assert other.records(after=1) == []
    assert [record.role for record in door.gateway.records("other")] == ["judge"]
    other.close()
