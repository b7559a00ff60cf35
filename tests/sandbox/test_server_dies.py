"""A sandbox's server that dies under an evaluation: a request is asked again, a session is an error, and no candidate is blamed."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import FrameType, FunctionType

import pytest

from tracebench_core.errors import SandboxUnavailableError
from tracebench_core.specs import Limits
from tracebench_engine.measure.bounded import Gate, OutOfTime
from tracebench_engine.measure.sandbox import MOST_DEATHS, EvaluationSandbox, EvaluationSession
from tracebench_sandbox import LocalSandbox, connect, open_sandbox
from tracebench_sandbox.session import LocalSession

READ = "def f(path):\n    with open(path) as pipe:\n        return pipe.read()\n"
CODE = "def f():\n    return 1\n"
LONG = Limits(seconds=120)


def meanwhile(work: Callable[[], object], then: Callable[[list[object]], object]) -> list[object]:
    """Return what `work` returned or raised, in a thread, while `then` is done in this one; it is given what was found so far."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except SandboxUnavailableError as err:
            found.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    then(found)
    thread.join(100)
    return found


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def kill_reader(pipe: Path, sandbox: LocalSandbox, found: list[object]) -> None:
    """Kill the server once a candidate waits at the pipe, and come back when that candidate is gone; or when something is found."""
    while True:
        try:
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:  # nobody reads
            if found:
                return
            time.sleep(0.01)
    os.set_blocking(end, True)
    os.kill(sandbox.template_pid, signal.SIGKILL)
    try:
        while True:
            os.write(end, b"x" * 4096)
    except BrokenPipeError:
        os.close(end)


def test_a_request_is_asked_again_of_a_new_server(pipe: Path) -> None:
    def then(found: list[object]) -> None:
        kill_reader(pipe, sandbox, found)
        pipe.write_text("said")

    with open_sandbox(readable=[pipe.parent]) as sandbox:
        asked = EvaluationSandbox(sandbox, Gate())
        (outcome,) = meanwhile(lambda: asked.call(READ, "f", str(pipe), limits=LONG), then)

    assert outcome.status == "ok"  # type: ignore[attr-defined]
    assert outcome.value == "said"  # type: ignore[attr-defined]


def test_a_request_that_ends_each_server_is_given_up(pipe: Path) -> None:
    def then(found: list[object]) -> None:
        while not found:  # a server that dies while it is asked counts as well, and has no reader
            kill_reader(pipe, sandbox, found)

    with open_sandbox(readable=[pipe.parent]) as sandbox:
        asked = EvaluationSandbox(sandbox, Gate())
        (err,) = meanwhile(lambda: asked.call(READ, "f", str(pipe), limits=LONG), then)

    assert isinstance(err, SandboxUnavailableError)
    assert f"{MOST_DEATHS} times" in str(err)


def test_a_session_that_was_not_begun_is_asked_for_again_with_what_it_has() -> None:
    """A template without a descriptor to spare starts nothing; what the request carries must still be open when it is asked again."""
    with open_sandbox(require="process") as own:
        address, pid = own.open(), own.template_pid
        taken: set[int] = set()
        while taken != (taken := {int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir()}):
            time.sleep(0.2)  # it may still be starting
        few = next(
            n for n in count() if n - sum(fd < n for fd in taken) == 4
        )  # for what a request carries, and no child
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, before[1]))
        lifting = threading.Timer(0.3, lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, before))
        lifting.start()
        with EvaluationSandbox(connect(address), Gate()).session("def f(x):\n    return x + 1\n", "f") as session:
            assert lifting.finished.is_set()
            outcome = session.call(1)
        lifting.join()

    assert outcome.value == 2


def test_a_template_that_cannot_be_reached_is_started_anew() -> None:
    with open_sandbox(require="process") as sandbox:
        Path(sandbox.open()).unlink()
        outcome = EvaluationSandbox(sandbox, Gate()).call("def f(x):\n    return x + 1\n", "f", 1)

    assert outcome.value == 2


def call_once(sandbox: EvaluationSandbox) -> None:
    """Have a session, and forget it with all frames that knew it."""
    with suppress(OutOfTime), sandbox.session(CODE, "f", limits=Limits(shared_mb=1)) as session:
        session.call()


@pytest.mark.parametrize(
    ("when", "where"),
    [
        ("return", LocalSession.__init__),
        ("return", EvaluationSandbox.session),
        ("call", EvaluationSession.__enter__),
        ("call", EvaluationSession.__exit__),
    ],
)
def test_nothing_of_a_session_stays_open_whose_evaluation_ends_around_it(when: str, where: FunctionType) -> None:
    gate = Gate()

    def end_it(frame: FrameType, event: str, _: object) -> None:
        if event == when and frame.f_code is where.__code__ and not is_ended:
            is_ended.append(True)
            gate.close(threading.get_ident())

    is_ended: list[bool] = []
    with open_sandbox(require="process") as sandbox:
        sandbox.open()
        before = {fd.name for fd in Path("/proc/self/fd").iterdir()}
        sys.setprofile(end_it)
        try:
            call_once(EvaluationSandbox(sandbox, gate))
        finally:
            sys.setprofile(None)
        after = {fd.name for fd in Path("/proc/self/fd").iterdir()}

    assert is_ended
    assert after <= before


def test_a_session_is_not_begun_anew(pipe: Path) -> None:
    with open_sandbox(readable=[pipe.parent]) as sandbox:
        session = EvaluationSandbox(sandbox, Gate()).session(READ, "f", limits=LONG)
        (err,) = meanwhile(lambda: session.call(str(pipe)), lambda found: kill_reader(pipe, sandbox, found))

    assert isinstance(err, SandboxUnavailableError)
    assert "under a session" in str(err)
