"""What a program is told by its door's client when the door is gone, closes or refuses."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine.door.foreign.tracebench_client import PROTOCOL, BudgetExhausted, DoorError, _Line


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A path that is short enough for a socket."""
    monkeypatch.chdir(tmp_path)
    return "door"


@pytest.fixture
def door(short: str) -> Callable[..., list[Any]]:
    """A door that answers one connection with these lines and then closes it; it returns what it heard."""

    def answering(*answers: Any) -> list[Any]:
        heard: list[Any] = []
        server = socket.socket(socket.AF_UNIX)
        server.bind(short)
        server.listen(1)

        def serve() -> None:
            with server, server.accept()[0] as line, line.makefile("rb") as lines:
                for answer in answers:
                    heard.append(json.loads(lines.readline()))
                    line.sendall(json.dumps(answer).encode() + b"\n")

        threading.Thread(target=serve, daemon=True).start()
        return heard

    return answering


@pytest.mark.parametrize("there", ["nothing", "a file", "a socket without a listener", "a folder"])
def test_a_door_that_is_not_there_is_told_as_gone(short: str, there: str) -> None:
    if there == "a file":
        Path(short).touch()
    elif there == "a folder":
        Path(short).mkdir()
    elif there != "nothing":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(short)
    with pytest.raises(DoorError, match=r"^the job's door is gone: .*(No such file|Connection refused)") as caught:
        _Line(short, "token")
    assert isinstance(caught.value.__cause__, OSError)


def test_a_door_is_opened_with_the_token_and_the_protocol(door: Callable[..., list[Any]], short: str) -> None:
    heard = door(["ok", {"seed": 7}])
    line = _Line(short, "secret")
    assert heard == [["open", {"token": "secret", "protocol": PROTOCOL}]]
    assert (line.pid, line.told) == (os.getpid(), {"seed": 7})
    line.close()


def test_a_door_that_refuses_is_left(door: Callable[..., list[Any]], short: str) -> None:
    door(["error", "another token"])
    with pytest.raises(DoorError, match=r"^another token$"):
        _Line(short, "guess")


@pytest.mark.parametrize("length", [1, 10_000_000])
def test_a_door_that_closes_is_told(door: Callable[..., list[Any]], short: str, length: int) -> None:
    door(["ok", {}])
    line = _Line(short, "secret")
    with pytest.raises(DoorError, match=r"^the job's door is (closed$|gone: .*(Broken pipe|reset))"):
        line.ask("log", name="x" * length, value=1.0)
    line.close()


def test_an_end_of_the_budget_and_a_fault_are_told_apart(door: Callable[..., list[Any]], short: str) -> None:
    door(["ok", {}], ["budget", ["evaluations", "run"]], ["error", "no example"], ["ok", [1]])
    line = _Line(short, "secret")
    with pytest.raises(BudgetExhausted) as caught:
        line.ask("submit")
    assert (caught.value.axis, caught.value.scope) == ("evaluations", "run")
    with pytest.raises(DoorError, match=r"^no example$"):
        line.ask("examples")
    assert line.ask("collect") == [1]
    line.close()
