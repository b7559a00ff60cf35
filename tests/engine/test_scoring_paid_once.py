"""A scoring that is killed half-way, its process or its runner with it, pays for no model call twice."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.llm.scripted import chat, chunks
from tests.whole import HEAVY, one_in

from tracebench_core.specs.events import LLMCall
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run
from tracebench_testing.local_http import LocalServer

TESTS = [f"t{n}" for n in range(5)]
LAB = (
    f"TESTS = {TESTS}"
    """
import json, os, signal, time, urllib.request
from pathlib import Path
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Options(BaseModel, extra="forbid"):
    notes: str
    deaths: int
    at: str
    is_streamed: bool = False

class Settings(BaseModel, extra="forbid"):
    pass

def whole(context, text):
    return context.complete([{"role": "user", "content": text}], role="judge")[0].text

def streamed(context, text):
    door = context.endpoint("judge")
    body = {"model": door.model, "stream": True, "messages": [{"role": "user", "content": text}]}
    headers = {"Authorization": f"Bearer {door.api_key.get_secret_value()}", "Content-Type": "application/json"}
    asked = urllib.request.Request(door.base_url + "/chat/completions", json.dumps(body).encode(), headers)
    said = ""
    for line in urllib.request.urlopen(asked):
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                said += choice["delta"].get("content") or ""
    return said

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a")], "test": [Example(id=n) for n in TESTS]}
    def __init__(self, notes, deaths, at, is_streamed):
        self.notes, self.deaths, self.at, self.ask = Path(notes), deaths, at, streamed if is_streamed else whole
    def run(self, values, example, context):
        if example.id != "a":
            (self.notes / "pid").write_text(str(os.getpid()))
        assert self.ask(context, f"{example.id} of {values['x']}") == "so it is"
        if example.id == self.at and len(list(self.notes.glob("death-*"))) < self.deaths:
            (self.notes / f"death-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return values["x"]
    def guide(self, example, output, context): return Feedback(score=output)

class Finds:
    def __init__(self, settings): pass
    def train(self, problem): problem.evaluate({"x": 1.0}, origin="found")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="one", loader="fake_paid:Lab", title="one", options="fake_paid:Options", uses_model=True)]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Finds", loader="fake_paid:Finds", settings="fake_paid:Settings", uses_model=False)]
"""
)


class Counting:
    """A provider that counts what it answered, and does something before it answers one."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda text: None
        counting = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = asked["messages"][-1]["content"]
                counting.asked[text] += 1
                if asked.get("stream"):
                    pieces = chunks({"content": "so "}, {"content": "it is"})
                    told = [f"data: {json.dumps(piece)}\n\n".encode() for piece in pieces] + [b"data: [DONE]\n\n"]
                else:
                    told = [json.dumps(chat({"content": "so it is"})).encode()]
                self.send_response(200)
                self.send_header("Content-Length", str(sum(map(len, told))))
                self.end_headers()
                for piece in told[:-1]:
                    self.wfile.write(piece)
                    self.wfile.flush()
                    if piece is told[0]:
                        counting.before(text)
                if len(told) == 1:
                    counting.before(text)
                self.wfile.write(told[-1])

        self._server = LocalServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of_scoring(self) -> dict[str, int]:
        return {text: n for text, n in self.asked.items() if text.startswith("t")}


@pytest.fixture
def provider(install_plugin: Callable[..., None]) -> Iterator[Counting]:
    install_plugin("paid", LAB)
    found = Counting()
    yield found
    found.close()


@pytest.fixture(params=one_in(2, ["whole", "streamed"]))
def way(request: pytest.FixtureRequest) -> str:
    """How the task asks."""
    return str(request.param)


def config(
    tmp_path: Path, provider: Counting, *, way: str = "whole", deaths: int = 0, at: str = "t3", **more: Any
) -> dict[str, Any]:
    options = {"notes": str(tmp_path), "deaths": deaths, "at": at, "is_streamed": way == "streamed"}
    return {
        "run_id": "paid",
        "mode": "real",
        "tasks": [{"id": "paid:one", "eval_kwargs": options}],
        "trainers": ["Finds"],
        "runs_dir": str(tmp_path / "runs"),
        "llm": {"model": "m", "base_url": provider.base_url, "prices": {"m": {"prompt": 2.0, "completion": 8.0}}},
    } | more


ONCE = {f"{test} of {x}": 1 for test in TESTS for x in (0.0, 1.0)}


def expect_once(run_dir: Path, provider: Counting, *, is_told: bool = True) -> None:
    (result,) = api.load_run(run_dir).results.values()
    assert (result.status, result.score_test) == ("ok", 1.0)
    assert provider.of_scoring() == ONCE
    run = api.load_run(run_dir)
    calls = [event for event in run.events(result.job_id) if isinstance(event, LLMCall) and event.phase == "scoring"]
    assert {call.status for call in calls} == {"ok"}
    spent = run.spent()
    assert spent is not None
    assert not is_told or spent["total"]["llm_calls"] == sum(provider.asked.values())
    assert not (run_dir / "llm/scorings.jsonl").exists()
    assert check_run(run_dir) == []


def test_an_undisturbed_scoring_asks_everything_once(tmp_path: Path, provider: Counting, way: str) -> None:
    expect_once(api.run(parse_config(config(tmp_path, provider, way=way)), stream=io.StringIO()).run_dir, provider)


@pytest.mark.parametrize("workers", [pytest.param(1, marks=HEAVY), 3])
def test_a_process_that_is_killed_half_way_pays_for_nothing_twice(
    tmp_path: Path, provider: Counting, way: str, workers: int
) -> None:
    settings = config(tmp_path, provider, way=way, deaths=2, eval_workers=workers)
    expect_once(api.run(parse_config(settings), stream=io.StringIO()).run_dir, provider)
    assert len([*tmp_path.glob("death-*")]) == 2


def test_a_call_that_was_under_way_is_joined_by_the_next_process(tmp_path: Path, provider: Counting, way: str) -> None:
    """The answer comes when the process that asked is dead, and the one in its place has asked."""
    killed: list[int] = []

    def kill(text: str) -> None:
        if text.startswith("t2") and not killed:
            killed.append(int((tmp_path / "pid").read_text()))
            os.kill(killed[0], signal.SIGKILL)
            deadline = time.monotonic() + 60
            while (tmp_path / "pid").read_text() == str(killed[0]) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)

    provider.before = kill
    expect_once(api.run(parse_config(config(tmp_path, provider, way=way)), stream=io.StringIO()).run_dir, provider)
    assert killed


def test_a_job_that_was_left_unscored_goes_on_with_its_answers(tmp_path: Path, provider: Counting, way: str) -> None:
    summary = api.run(parse_config(config(tmp_path, provider, way=way, deaths=3)), stream=io.StringIO())
    assert summary.counts == {"unscored": 1}
    assert (summary.run_dir / "llm/scorings.jsonl").exists()
    assert check_run(summary.run_dir) == []
    assert api.resume(summary.run_dir, failed=True, stream=io.StringIO()).counts == {"ok": 1}
    expect_once(summary.run_dir, provider)


def test_a_runner_that_is_killed_with_its_scoring_pays_for_nothing_twice(
    tmp_path: Path, provider: Counting, way: str
) -> None:
    settings = config(tmp_path, provider, way=way)
    program = (
        "import io, json, sys; from tracebench_engine import api; from tracebench_engine.config import parse_config; "
    )
    program += "api.run(parse_config(json.loads(sys.argv[1])), stream=io.StringIO())"
    runner = subprocess.Popen([sys.executable, "-c", program, json.dumps(settings)], start_new_session=True)

    def kill(text: str) -> None:
        if text == "t3 of 1.0" and runner.poll() is None:
            os.killpg(runner.pid, signal.SIGKILL)
            runner.wait()

    provider.before = kill
    runner.wait(timeout=120)
    run_dir = tmp_path / "runs/paid"
    assert (run_dir / "llm/scorings.jsonl").exists()
    assert api.resume(run_dir, stream=io.StringIO()).counts == {"ok": 1}
    asked = provider.of_scoring()
    assert asked.pop("t3 of 1.0") in {1, 2}  # whether the gateway lived to hear the answer to this one
    assert asked == {text: n for text, n in ONCE.items() if text in asked}
    assert len(asked) == len(ONCE) - 1
    provider.asked.update({"t3 of 1.0": 1 - provider.asked["t3 of 1.0"]})
    expect_once(run_dir, provider, is_told=False)
