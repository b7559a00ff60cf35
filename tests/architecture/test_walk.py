"""The walk of a candidate: how many functions lie between what measures it and the sandbox's socket, on real calls."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tracebench_core import evaluate_task
from tracebench_core.contracts import Context
from tracebench_core.specs import Candidate, Example, Feedback, Parameter, TaskSpec
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.measure.context import Shared
from tracebench_engine.measure.models import NoModels
from tracebench_engine.measure.service import EvaluationService
from tracebench_sandbox import open_sandbox

MOST = 10
"""Frames from what measures a candidate, itself included, to what speaks to the socket."""
CODE = "def f(x=1):\n    return x\n"


def walks(work: Callable[[], object], *, since: str) -> list[list[str]]:
    """Return the functions from `since` on that stand under each word over a Unix socket, while `work` runs."""
    found: list[list[str]] = []

    def watch(frame: FrameType, event: str, called: Any) -> None:
        speaks = event == "c_call" and called.__name__ in {"connect", "sendmsg", "send"}
        if not speaks or not isinstance(called.__self__, socket.socket) or called.__self__.family != socket.AF_UNIX:
            return
        names: list[str] = []
        at: FrameType | None = frame
        while at is not None:
            names.insert(0, at.f_code.co_qualname)
            at = at.f_back
        found.append(names[names.index(since) :])

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_the_way_of_a_call_is_short() -> None:
    found = walks(lambda: evaluate_task("internal:code_param"), since="evaluate_task")

    assert len(found) == 3 * 4, "an address, a child and an order for each example"
    assert max(map(len, found)) <= MOST, "\n".join(max(found, key=len))


@pytest.mark.parametrize("where", ["program", "guide"])
def test_the_way_of_each_kind_of_request_is_short(where: str, tmp_path: Path) -> None:
    def asks(_first: object, _second: object, context: Context) -> Feedback:
        sandbox = context.sandbox
        assert sandbox.call(CODE, "f", 3).value == 3
        assert [outcome.value for outcome in sandbox.call_many(CODE, "f", [(1,), (2,)])] == [1, 2]
        assert sandbox.command(["cat"], stdin="said").value["stdout"] == "said"
        with sandbox.session(CODE, "f") as session:
            assert (session.call(4).value, session.call().value) == (4, 1)
        return Feedback(score=1.0)

    def quiet(*_: object) -> Feedback:
        return Feedback(score=1.0)

    program, guide = (asks, quiet) if where == "program" else (quiet, asks)
    task = SimpleTask(parameters=[Parameter(name="x", initial="")], objective="", program=program, guide=guide)
    spec = TaskSpec(name="walked", loader="none:none", title="Walked")
    initial = Candidate(id="c0", values={"x": ""})
    with open_sandbox() as sandbox:
        assert sandbox.call(CODE, "f").value == 1  # it is open: the template's own start is no part of the way
        shared = Shared(NoModels(), sandbox, workdir=tmp_path / "work", artifacts=tmp_path / "artifacts")
        service = EvaluationService(task, guide, shared, spec=spec, initial=initial, seed=0)
        (result,) = service.begin(initial, [(Example(id="e"), "train")], phase="training")
        found = walks(result.result, since="EvaluationService._measure")

    assert len(found) == 3 * 4 + 2
    assert max(map(len, found)) <= MOST - 2, "\n".join(max(found, key=len))
