"""A model that the run serves itself: its server dies within an answer, is opened anew elsewhere, and is asked under the same key."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.llm.scripted import chat, chunks
from tests.whole import cells

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run

KEY = "key-of-the-kitchen"
PLUGIN = f"WHOLE, PIECES = {chat({'content': 'so it is'})!r}, {chunks({'content': 'so '}, {'content': 'it is'})!r}"
PLUGIN += """
import http.server, json, os, pathlib, signal, threading, urllib.request
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

NOTES = pathlib.Path(os.environ["NOTES"])

def note(name, words):
    with (NOTES / name).open("a") as file:
        file.write(words + "\\n")

class Cook(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = asked["messages"][-1]["content"]
        note("keys", self.headers["Authorization"])
        if asked.get("stream"):
            told = [b"data: " + json.dumps(piece).encode() + b"\\n\\n" for piece in PIECES]
            told.append(b"data: [DONE]\\n\\n")
        else:
            text = json.dumps(WHOLE).encode()
            told = [text[:20], text[20:]]
        self.send_response(200)
        self.send_header("Content-Length", str(sum(map(len, told))))
        self.end_headers()
        self.wfile.write(told[0])
        self.wfile.flush()
        if question.startswith(os.environ["DIES_AT"]) and not (NOTES / "died").exists():
            (NOTES / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        note("answered", question)
        for piece in told[1:]:
            self.wfile.write(piece)

class Kitchen:
    def __init__(self, model): pass
    def open(self, context):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cook)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        note("opened", str(self.server.server_port))
        return f"http://127.0.0.1:{self.server.server_port}"
    def close(self):
        self.server.shutdown()
        self.server.server_close()

def address(model, handle):
    return handle + "/v1"

class Options(BaseModel, extra="forbid"):
    is_streamed: bool

class Settings(BaseModel, extra="forbid"):
    pass

def whole(context, text):
    return context.complete([{"role": "user", "content": text}], role="judge")[0].text

def streamed(context, text):
    door = context.endpoint("judge")
    body = {"model": door.model, "stream": True, "messages": [{"role": "user", "content": text}]}
    headers = {"Authorization": f"Bearer {door.api_key.get_secret_value()}", "Content-Type": "application/json"}
    said = ""
    for line in urllib.request.urlopen(urllib.request.Request(door.base_url + "/chat/completions", json.dumps(body).encode(), headers)):
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:]).get("choices", ()):
                said += choice["delta"].get("content") or ""
    return said

class Guest:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a"), Example(id="b")], "test": [Example(id="t"), Example(id="u")]}
    def __init__(self, is_streamed): self.ask = streamed if is_streamed else whole
    def run(self, values, example, context):
        said = self.ask(context, f"{example.id} of {values['x']}")
        return values["x"] if said == "so it is" else -7.0
    def guide(self, example, output, context): return Feedback(score=output)

class Finds:
    def __init__(self, settings): pass
    def train(self, problem): problem.evaluate({"x": 1.0}, origin="found")

@hookimpl
def tracebench_environments():
    return [EnvironmentSpec(name="kitchen", kind="server", scope="run", loader="fake_diner:Kitchen")]

@hookimpl
def tracebench_providers():
    return [ProviderSpec(name="diner", loader="fake_diner:address", environment="kitchen", api_key_env="KITCHEN_KEY",
                         prices={"*": Price(prompt=1.0, completion=1.0)})]

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="guest", loader="fake_diner:Guest", title="guest", options="fake_diner:Options", uses_model=True)]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Finds", loader="fake_diner:Finds", settings="fake_diner:Settings", uses_model=False)]
"""


@pytest.mark.parametrize(
    ("is_streamed", "dies_at"),
    cells([(False, "b of 1"), (True, "b of 1"), (False, "u of 1"), (True, "u of 1")], always=[(True, "b of 1")]),
)
def test_a_job_goes_on_with_a_model_that_was_served_again(
    install_plugin: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_streamed: bool,
    dies_at: str,
) -> None:
    for name, value in {"NOTES": str(tmp_path), "KITCHEN_KEY": KEY, "DIES_AT": dies_at}.items():
        monkeypatch.setenv(name, value)
    install_plugin("diner", PLUGIN)
    config = {
        "mode": "real",
        "llm": {"model": "diner/soup"},
        "tasks": [{"id": "diner:guest", "eval_kwargs": {"is_streamed": is_streamed}}],
        "trainers": ["Finds"],
        "seeds": [1, 2],
        "max_workers": 2,
        "runs_dir": str(tmp_path / "runs"),
    }
    summary = api.run(parse_config(config), stream=io.StringIO())

    def lines(name: str) -> list[str]:
        return (tmp_path / name).read_text().splitlines()

    assert (tmp_path / "died").exists()
    assert summary.counts == {"ok": 2}
    run = api.load_run(summary.run_dir)
    assert {(r.status, r.score_val_best, r.score_test, r.not_measured) for r in run.results.values()} == {
        ("ok", 1.0, 1.0, 0)
    }
    assert len(set(lines("opened"))) == len(lines("opened")) == 2
    assert set(lines("keys")) == {f"Bearer {KEY}"}
    assert not any(KEY.encode() in path.read_bytes() for path in summary.run_dir.rglob("*") if path.is_file())
    assert [f.code for f in check_run(summary.run_dir) if f.mended_by != "nothing"] == []
    answered = Counter(lines("answered"))
    assert {question: n for question, n in answered.items() if question[0] in "tu"} == dict.fromkeys(
        (f"{example} of {x}" for example in "tu" for x in ("0.0", "1.0")), 2
    )
