"""What the runner hears from the process that holds the jobs: ends of jobs, signs of life, and what is neither."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.process import PING_AFTER, _Line


@pytest.fixture
def ends() -> Iterator[tuple[_Line, Wire]]:
    """The runner's end of a wire, and the other one."""
    ours, theirs = (Wire(end) for end in socket.socketpair())
    nobody: Any = None  # it is asked for nothing here
    yield _Line(ours, nobody), theirs
    ours.close()
    theirs.close()


def test_any_word_ends_the_silence_and_silence_leaves_it(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    line.silent = 7.0
    assert line.hear() == []
    assert (line.silent, line.has_spoken) == (7.0, False)

    other.send({"ready": 4321, "used": 1.5})
    assert line.hear() == []
    assert (line.silent, line.has_spoken, line.used) == (0.0, True, 1.5)


def test_an_end_is_told_once_and_of_jobs_that_were_begun_here(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    line.awaited = {1: "a", 2: "b"}
    for message in (
        {"end": "a", "number": 1, "exit": "done"},
        {"end": "a", "number": 1, "exit": "done"},
        {"end": "z", "number": 2, "exit": "done"},
        {"end": "b", "number": 2, "exit": "flew away"},
        {"end": "b", "number": True, "exit": "done"},
    ):
        other.send(message)

    assert line.hear() == [{"detail": "", "end": "a", "number": 1, "exit": "done"}]
    assert line.awaited == {2: "b"}


def test_who_is_silent_is_asked_once_in_a_while(ends: tuple[_Line, Wire]) -> None:
    line, other = ends
    asked = []
    for line.silent in (PING_AFTER - 1, PING_AFTER, PING_AFTER + 1, 2 * PING_AFTER):
        line.look_after(patience=1000.0)
        asked.append(other.receive(timeout=0.0))

    assert asked == [[], [{"ping": True}], [], [{"ping": True}]]
