"""A sandbox's server that dies under an evaluation: a request is asked again, a session is an error, and no candidate is blamed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.errors import SandboxUnavailableError
from tracebench_core.specs import Limits
from tracebench_engine.measure.bounded import Gate
from tracebench_engine.measure.sandbox import MOST_DEATHS, EvaluationSandbox
from tracebench_sandbox import LocalSandbox, open_sandbox

READ = "def f(path):\n    with open(path) as pipe:\n        return pipe.read()\n"
LONG = Limits(seconds=120)


def meanwhile(work: Callable[[], object], then: Callable[[], object]) -> list[object]:
    """Return what `work` returned or raised, in a thread, while `then` is done in this one."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except SandboxUnavailableError as err:
            found.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    then()
    thread.join(100)
    return found


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def kill_reader(pipe: Path, sandbox: LocalSandbox) -> None:
    """Kill the server once a candidate waits at the pipe, and come back when that candidate is gone."""
    end = os.open(pipe, os.O_WRONLY)  # opens when somebody reads
    os.kill(sandbox.template_pid, signal.SIGKILL)
    try:
        while True:
            os.write(end, b"x" * 4096)
    except BrokenPipeError:
        os.close(end)


def test_a_request_is_asked_again_of_a_new_server(pipe: Path) -> None:
    def then() -> None:
        kill_reader(pipe, sandbox)
        pipe.write_text("said")

    with open_sandbox(readable=[pipe.parent]) as sandbox:
        asked = EvaluationSandbox(sandbox, Gate())
        (outcome,) = meanwhile(lambda: asked.call(READ, "f", str(pipe), limits=LONG), then)

    assert outcome.status == "ok"  # type: ignore[attr-defined]
    assert outcome.value == "said"  # type: ignore[attr-defined]


def test_a_request_that_ends_each_server_is_given_up(pipe: Path) -> None:
    def then() -> None:
        for _ in range(MOST_DEATHS):
            kill_reader(pipe, sandbox)

    with open_sandbox(readable=[pipe.parent]) as sandbox:
        asked = EvaluationSandbox(sandbox, Gate())
        (err,) = meanwhile(lambda: asked.call(READ, "f", str(pipe), limits=LONG), then)

    assert isinstance(err, SandboxUnavailableError)
    assert f"{MOST_DEATHS} times" in str(err)


def test_a_session_is_not_begun_anew(pipe: Path) -> None:
    with open_sandbox(readable=[pipe.parent]) as sandbox:
        session = EvaluationSandbox(sandbox, Gate()).session(READ, "f", limits=LONG)
        (err,) = meanwhile(lambda: session.call(str(pipe)), lambda: kill_reader(pipe, sandbox))

    assert isinstance(err, SandboxUnavailableError)
    assert "under a session" in str(err)
