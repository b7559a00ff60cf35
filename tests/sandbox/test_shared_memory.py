"""Memory that a session shares with its caller, and the one core on which a session can be held."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox

CODE = """
import mmap, os, threading
memory = mmap.mmap(4, 1 << 20)
def work():
    memory[1] = memory[0] + 1
def cut():
    os.ftruncate(4, 10)
def cores():
    found = []
    thread = threading.Thread(target=lambda: found.append(sorted(os.sched_getaffinity(0))))
    thread.start()
    thread.join()
    return found[0]
def leave():
    os.sched_setaffinity(0, range(os.cpu_count()))
def fail():
    raise ValueError("no")
"""
LIMITS = Limits(shared_mb=1)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox() as opened:
        yield opened


@pytest.mark.parametrize("turn", range(3), ids=["forked", "made ahead", "made ahead again"])
def test_both_sides_see_what_either_writes(turn: int, sandbox: LocalSandbox) -> None:
    with sandbox.session(CODE, "work", limits=LIMITS) as session:
        for value in (turn, 41):
            session.shared[0] = value
            assert session.call().model_dump(include={"status", "value"}) == {"status": "ok", "value": None}
            assert session.shared[1] == value + 1


def test_each_session_has_memory_of_its_own_and_most_have_none(sandbox: LocalSandbox) -> None:
    with sandbox.session(CODE, "work", limits=LIMITS) as one, sandbox.session(CODE, "work", limits=LIMITS) as other:
        one.shared[0] = 7
        assert other.shared[0] == 0
    assert len(one.shared) == 0
    with sandbox.session("def f():\n    open('/proc/self/fd/4')", "f") as session:
        assert len(session.shared) == 0
        assert session.call().status in {"error", "forbidden"}


def test_it_cannot_be_taken_from_under_its_caller(sandbox: LocalSandbox) -> None:
    with sandbox.session(CODE, "cut", limits=LIMITS) as session:
        assert session.call().status == "forbidden"
        session.shared[-1] = 1
        kept = np.frombuffer(session.shared, np.uint8)
    assert kept[-1] == 1


def test_a_call_that_hands_over_nothing_still_tells_its_failure(sandbox: LocalSandbox) -> None:
    with sandbox.session(CODE, "fail", limits=LIMITS) as session:
        for _ in range(2):
            outcome = session.call()
            assert (outcome.status, outcome.error) == ("error", "ValueError: no")
    with sandbox.session("def f():\n    print('said')\n    return 3", "f") as session:
        outcome = session.call()
        assert (outcome.value, outcome.stdout) == (3, "said\n")


@pytest.mark.parametrize("turn", range(2), ids=["forked", "made ahead"])
def test_a_session_stays_on_the_core_that_it_is_given(turn: int, sandbox: LocalSandbox) -> None:
    core = sorted(os.sched_getaffinity(0))[-1]
    with sandbox.session(CODE, "leave", limits=Limits(shared_mb=1, core=core)) as session:
        assert session.call(entry="cores").value == [core], turn
        if session.call().status != "forbidden":
            pytest.skip("this host has no seccomp, which keeps a candidate from leaving its core")
        assert session.call(entry="cores").value == [core]


FILL = """
import mmap, time
memory = mmap.mmap(4, 80 << 20)
def fill():
    memory[:] = b"x" * (80 << 20)
    time.sleep(1.5)
def hoard():
    with open("more", "wb") as file:
        for _ in range(3):
            file.write(b"x" * (1 << 20))
    held = []
    for name in range(20):
        held.append(open(f"gone{name}", "wb"))
        os.unlink(f"gone{name}")
        held[-1].write(b"x" * (1 << 20))
        held[-1].flush()
    time.sleep(3)
import os
"""


@pytest.mark.parametrize("turn", range(2), ids=["forked", "made ahead"])
def test_it_is_no_file_that_was_written_and_files_without_a_name_are(turn: int, sandbox: LocalSandbox) -> None:
    limits = Limits(shared_mb=80, file_mb=4)
    with sandbox.session(FILL, "fill", limits=limits) as session:
        filled = session.call()
        hoarded = session.call(entry="hoard")

    assert (filled.status, bytes(session.shared)) == ("ok", b"")
    assert hoarded.status == "killed"
    assert "wrote more than 16 MB of files" in hoarded.error
