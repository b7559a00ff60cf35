"""What whoever looks about reads, writes, reaches and spends: told truly where it may and where it may not."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.specs import Example
from tracebench_engine.api.reaching import lab, looking
from tracebench_engine.api.reaching.looking import ask_model, look, main, spend_metered, tell


def looked(verb: str, what: Any) -> str:
    (answer,) = look([(verb, "it", what)]).values()
    return answer


def test_every_target_is_answered_by_its_verb_and_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    found = look(
        [
            ("read", "a file", str(tmp_path / "a")),
            ("write", "nothing", str(tmp_path / "b")),
            ("signal", "me", os.getpid()),
        ]
    )
    assert found == {"read a file": "yes", "write nothing": "-", "signal me": "yes"}


def test_a_file_or_folder_is_read_where_something_is_there(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("x")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    answers = {name: looked("read", str(tmp_path / name)) for name in ("full", "empty", "folder", "none", "f*l", "n*")}
    assert answers == {"full": "yes", "empty": "-", "folder": "yes", "none": "-", "f*l": "yes", "n*": "-"}


def test_what_is_written_to_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("x")
    (tmp_path / "folder").mkdir()
    assert [looked("write", str(tmp_path / name)) for name in ("full", "folder", "none")] == ["yes", "yes", "-"]
    assert (tmp_path / "full").read_text() == "x"
    assert [*(tmp_path / "folder").iterdir()] == []
    (tmp_path / "folder/made-by-a-probe").touch()
    assert looked("write", str(tmp_path / "folder")) == "-"  # another's file is not removed
    assert (tmp_path / "folder/made-by-a-probe").exists()


@pytest.mark.parametrize(
    ("ending", "reply", "answer"),
    [
        (".sock", b'{"ok": true}', "yes"), (".sock", b'{"ok": false}', "-"), (".sock", b"", "-"), (".sock", b"{}", "-"),
        (".other", b"", "yes"),
    ],
)  # fmt: skip
def test_a_socket_that_answers_questions_must_not_refuse_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ending: str, reply: bytes, answer: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    place, asked = f"a{ending}", []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()

        def serve() -> None:
            with server.accept()[0] as line:
                if ending == ".sock":
                    asked.append(line.recv(1024))
                    line.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        assert looked("connect", place) == answer
        thread.join()
    assert asked == ([b'{"do": "status"}\n'] if ending == ".sock" else [])
    assert looked("connect", place) == "-"  # nobody listens


def test_an_address_is_reached_where_somebody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = [*server.getsockname()]
        assert looked("connect", address) == "yes"
    assert looked("connect", address) == "-"


def test_a_process_is_reached_that_is_there() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert [looked("signal", pid) for pid in (os.getpid(), child)] == ["yes", "-"]


LOOK_ALONE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from looking import look
print(*(look([("spend", "it", what)])["spend it"] for what in map(int, sys.argv[2:])))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")
"""


def test_a_limit_to_processes_is_told_where_the_host_has_another() -> None:
    here = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    folder = str(Path(looking.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOOK_ALONE, folder, str(here), "12345"], capture_output=True, text=True, check=True
    )
    other = "yes" if here == resource.RLIM_INFINITY else "limited"
    assert done.stdout == f"yes {other}\nno child is left\n"


class DoorError(Exception):
    """As a program's door calls what it was refused."""


def job(cap: int, end: BaseException | None, *, counts: int = 0) -> tuple[Any, Any, list[int]]:
    """A job with a cap on one axis, and what spends of it until the cap, when it ends so."""
    done: list[int] = []

    def spend() -> None:
        if len(done) == cap and end is not None:
            raise end
        done.append(1)

    problem = SimpleNamespace(budget=lambda: {"used": {"a": len(done) + counts}, "caps": {"a": cap}})
    return problem, spend, done


@pytest.mark.parametrize(
    ("end", "counts", "answer", "spent"),
    [
        (KeyboardInterrupt(), 0, "metered", 3), (ValueError(), 0, "metered", 3), (DoorError(), 0, "-", 3),
        (ValueError(), -1, "-", 3), (ValueError(), 1, "-", 3), (None, 0, "yes", 100),
    ],
)  # fmt: skip
def test_spending_is_metered_where_its_cap_ends_it(
    end: BaseException | None, counts: int, answer: str, spent: int
) -> None:
    problem, spend, done = job(3, end, counts=counts)
    assert spend_metered(problem, "a", spend) == answer
    assert len(done) == spent


@pytest.fixture
def gateway() -> Iterator[tuple[str, list[Any]]]:
    """The address of a model that keeps what it was asked."""
    asked: list[Any] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Authorization"], self.headers["Content-Type"], json.loads(body)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"said")

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_is_asked_as_any_client_asks(gateway: tuple[str, list[Any]]) -> None:
    address, asked = gateway
    door = SimpleNamespace(model="m", api_key="sk-job", base_url=address)
    assert ask_model(SimpleNamespace(endpoint=lambda: door)) == b"said"
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
    assert asked == [("/v1/chat/completions", "Bearer sk-job", "application/json", body)]


def test_what_was_found_is_a_marked_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell({"read a": "yes"})
    assert capsys.readouterr().out == 'looked: {"read a": "yes"}\n'


CLIENT = """
from types import SimpleNamespace
class Problem:
    initial = {"x": 1}
    def __init__(self): self.used = {"llm_calls": 0, "evaluations": 0}
    def budget(self): return {"used": self.used, "caps": {"llm_calls": 5, "evaluations": 2}}
    def endpoint(self): raise ValueError("there is no model")
    def evaluate(self, values):
        assert values is self.initial
        if self.used["evaluations"] == 2: raise SystemExit
        self.used["evaluations"] += 1
def connect(): return Problem()
"""


def test_a_program_of_a_job_looks_spends_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tracebench_client.py").write_text(CLIENT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tracebench_client", None)  # whatever is imported by this name goes with the test
    del sys.modules["tracebench_client"]
    monkeypatch.setattr(sys, "argv", ["x", json.dumps([["read", "it", str(tmp_path)]])])
    main()
    monkeypatch.delitem(sys.modules, "tracebench_client")
    told = json.loads(capsys.readouterr().out.removeprefix("looked: "))
    assert told == {"read it": "yes", "spend model calls": "-", "spend evaluations": "metered"}


def test_a_guide_looks_where_it_scores_the_test_split(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    targets = [["read", "it", str(tmp_path)]]
    task = lab.build(targets)
    assert {split: [e.id for e in examples] for split, examples in task.splits.items()} == {
        "train": ["train"], "validation": ["validation"], "test": ["test"],
    }  # fmt: skip
    context: Any = None
    assert task.run({"number": 2.5}, Example(id="train"), context) == 2.5
    for example in ("train", "validation"):
        assert task.guide(Example(id=example), 2.5, context).score == 2.5
    assert lab.build().guide(Example(id="test"), 0.5, context).score == 0.5
    assert capsys.readouterr().out == ""
    assert task.guide(Example(id="test"), 0.5, context).score == 0.5
    assert capsys.readouterr().out == 'looked: {"read it": "yes"}\n'


def test_a_trainer_looks_spends_and_tells(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Amounts(dict[str, int]):
        def model_dump(self) -> dict[str, int]:
            return dict(self)

    used = Amounts(llm_calls=0, evaluations=0)
    budget = SimpleNamespace(caps=Amounts(llm_calls=2, evaluations=3), used=lambda: used)

    def spend(axis: str) -> None:
        if used[axis] == budget.caps[axis]:
            raise KeyboardInterrupt
        used[axis] += 1

    problem: Any = SimpleNamespace(
        budget=budget, initial={}, complete=lambda _: spend("llm_calls"), evaluate=lambda _: spend("evaluations")
    )
    lab.Looker(lab.Settings(targets=[["read", "it", str(tmp_path)]])).train(problem)
    told = json.loads(capsys.readouterr().out.removeprefix("looked: "))
    assert told == {"read it": "yes", "spend model calls": "metered", "spend evaluations": "metered"}
    assert used == {"llm_calls": 2, "evaluations": 3}
