"""Processor time of a session's calls, counted where the code in it cannot reach."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracebench_sandbox import LocalSandbox, open_sandbox

CODE = """
import time
time.process_time = time.perf_counter = time.monotonic = lambda: 0.0
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
def rest(seconds):
    time.sleep(seconds)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox() as opened:
        with opened.session(CODE, "work") as session:
            if session.call(1).cpu_seconds is None:
                pytest.skip("a candidate's processor time cannot be told here: it lives in namespaces")
        yield opened


def test_work_takes_time_and_rest_takes_none(sandbox: LocalSandbox) -> None:
    with sandbox.session(CODE, "work") as session:
        little, much = session.call(1_000), session.call(3_000_000)
        rest = session.call(0.2, entry="rest")

    assert None not in (little.cpu_seconds, much.cpu_seconds, rest.cpu_seconds)
    assert much.cpu_seconds > 10 * little.cpu_seconds >= 0  # type: ignore[operator]
    assert rest.cpu_seconds < much.cpu_seconds  # type: ignore[operator]
    assert rest.seconds >= 0.2


def test_a_single_call_and_a_process_that_is_gone_have_none(sandbox: LocalSandbox) -> None:
    assert sandbox.call(CODE, "work", 10).cpu_seconds is None
    with sandbox.session("import os\ndef end():\n    os._exit(0)", "end") as session:
        assert session.call().cpu_seconds is None
