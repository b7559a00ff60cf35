"""Limits of time where others want the same processor: work that fits is done, and who spins, sleeps or starves is told apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tests.whole import cells, one_in

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs import Limits, Outcome
from tracebench_sandbox import LocalSandbox, open_sandbox

SPINNING = 2
CODE = """
import signal, sys, time
def work(seconds):
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass
    return "done"
def deaf(seconds):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    return work(seconds)
def rest(seconds):
    time.sleep(seconds)
"""
PROGRAM = f"{CODE}\nprint(globals()[sys.argv[1]](float(sys.argv[2])))\n"
FOREVER = 3600.0
Way = Callable[[LocalSandbox, str, float, Limits], Outcome]


def _call(sandbox: LocalSandbox, entry: str, seconds: float, limits: Limits) -> Outcome:
    return sandbox.call(CODE, entry, seconds, limits=limits)


def _session(sandbox: LocalSandbox, entry: str, seconds: float, limits: Limits) -> Outcome:
    with sandbox.session(CODE, entry, limits=limits) as session:
        session.call(seconds / 2)
        return session.call(seconds / 2)


def _command(sandbox: LocalSandbox, entry: str, seconds: float, limits: Limits) -> Outcome:
    """Share the work out among four processes, none of which has too much of it."""
    script = f"for n in 1 2 3 4; do {sys.executable} program.py {entry} {seconds / 4}; done"
    return sandbox.command(["sh", "-c", script], files={"program.py": PROGRAM}, limits=limits)


WAYS = pytest.mark.parametrize("way", one_in(3, [_call, _session, _command]))


@pytest.fixture(scope="module")
def pinned() -> Iterator[tuple[LocalSandbox, list[subprocess.Popen[bytes]]]]:
    """A sandbox that has one core, and others for the same one, which are held until a test wants them."""
    with ExitStack() as stack:
        with _one_core():
            others = [  # each in a session of its own: a kernel may share processors out among sessions, as a sandbox's (autogroup)
                subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
                for _ in range(SPINNING)
            ]
            for other in others:
                stack.callback(other.wait)
                stack.callback(other.kill)
                other.send_signal(signal.SIGSTOP)
            sandbox = stack.enter_context(open_sandbox())
        yield sandbox, others


@pytest.fixture
def busy(pinned: tuple[LocalSandbox, list[subprocess.Popen[bytes]]]) -> Iterator[LocalSandbox]:
    """A sandbox whose only core is wanted by two others."""
    sandbox, others = pinned
    with _one_core():
        for other in others:
            other.send_signal(signal.SIGCONT)
        yield sandbox
        for other in others:
            other.send_signal(signal.SIGSTOP)


@contextmanager
def _one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox() as opened:
        yield opened


@WAYS
def test_work_that_needs_half_of_its_time_is_done_on_a_busy_machine(busy: LocalSandbox, way: Way) -> None:
    outcome = way(busy, "work", 0.3, Limits(seconds=0.6, patience=100))

    assert outcome.status == "ok", outcome.error
    assert outcome.value == "done" or outcome.value["stdout"] == "done\n" * 4


@WAYS
def test_who_starves_is_not_measured(busy: LocalSandbox, way: Way) -> None:
    with pytest.raises(
        NotMeasured, match=r"busy: within .* of its 0.5 s of processor time, and waited .* for a processor"
    ):
        way(busy, "work", FOREVER, Limits(seconds=0.5, patience=1.4))


def test_after_that_a_session_is_over(busy: LocalSandbox) -> None:
    with busy.session(CODE, "work", limits=Limits(seconds=0.5, patience=1.4)) as session:
        with pytest.raises(NotMeasured):
            session.call(FOREVER)
        assert "The session is over" in session.call(0.1).error


@pytest.mark.parametrize(
    ("way", "entry"),
    cells(
        [(_call, "work"), (_session, "deaf"), (_command, "work"), (_command, "deaf")],
        always=[(_session, "deaf"), (_command, "work")],
    ),
)
def test_who_spins_is_told_so(sandbox: LocalSandbox, way: Way, entry: str) -> None:
    """Processes of a command that have too little each to be ended, and one that does not listen to the system's signal, are."""
    outcome = way(sandbox, entry, 5.0, Limits(seconds=1.0, patience=100))

    assert (outcome.status, outcome.error) == ("timeout", "The CPU time limit of 1 s was reached.")


@WAYS
def test_who_sleeps_is_told_so(sandbox: LocalSandbox, way: Way) -> None:
    outcome = way(sandbox, "rest", FOREVER, Limits(seconds=1.0, patience=1.5))

    assert outcome.status == "timeout"
    assert "1.5 s on the clock was reached; of its 1 s of processor time the process had used" in outcome.error


def test_without_patience_the_clock_decides(busy: LocalSandbox) -> None:
    outcome = busy.call(CODE, "work", 0.5, limits=Limits(seconds=0.5, patience=1))

    assert (outcome.status, outcome.error) == ("timeout", "The time limit of 0.5 s was reached.")
