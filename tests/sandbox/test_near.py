"""A session's process on the core of its caller: while calls are short, and not a moment longer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tracebench_core.contracts import Session
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.session import ENOUGH, LONG, SHORT, Near

CODE = """
import os, threading, time
found, wanted = [], threading.Event()
def look():
    while not wanted.wait(0.01): pass
    found.append(sorted(os.sched_getaffinity(0)))
def short(): return None
def cores(): return sorted(os.sched_getaffinity(0))
def start(): threading.Thread(target=look).start()
def rest():
    time.sleep(0.1)
    wanted.set()
    while not found: time.sleep(0.01)
    return [cores(), found[0]]
"""
CORES = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="this host has one core")


@pytest.fixture
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox() as opened:
        yield opened


@pytest.fixture
def session(sandbox: LocalSandbox) -> Iterator[Session]:
    with sandbox.session(CODE, "short") as opened:
        if opened.call().cpu_seconds is None:
            pytest.skip("a candidate's process is out of sight here: it lives in namespaces")
        yield opened
    os.sched_setaffinity(0, CORES)


def near(session: Session) -> list[int]:
    """Call until the process has been moved, however busy the machine is; return the cores it may use."""
    for _ in range(200):
        for _ in range(2 * ENOUGH):
            session.call()
        found: list[int] = session.call(entry="cores").value
        if len(found) == 1:
            return found
    raise AssertionError("no sixteen calls in a row were short")


def test_the_process_goes_where_its_caller_is(session: Session) -> None:
    assert session.call(entry="cores").value == CORES
    for core in (CORES[-1], CORES[0], CORES[-1]):
        os.sched_setaffinity(0, {core})
        assert near(session) == [core]


def test_a_long_call_and_the_threads_of_it_may_use_all_cores_again(session: Session) -> None:
    os.sched_setaffinity(0, {CORES[0]})
    near(session)
    session.call(entry="start")

    assert session.call(entry="rest").value == [CORES, CORES]
    assert near(session) == [CORES[0]]


def test_another_process_that_has_its_number_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        held = Near(lambda: other.pid, channel=1)
        for _ in range(2 * ENOUGH):
            held.begin()
            held.end(SHORT / 2)
        assert os.sched_getaffinity(other.pid) == set(CORES)
        held.end(2 * LONG)
        other.communicate(b"\n")


def test_a_process_that_has_gone_or_is_unknown_is_no_error() -> None:
    for pid in (0, 2**22 + 1):
        held = Near(lambda pid=pid: pid, channel=1)  # type: ignore[misc]
        for _ in range(2 * ENOUGH):
            held.begin()
            held.end(SHORT / 2)
        held.part()
