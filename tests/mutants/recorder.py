"""A plugin for pytest under coverage: tells each test's lines apart, and names those that passed with their seconds.

`python -m coverage run -m pytest -p tests.mutants.recorder …`, with `RECORDED` naming the file for the seconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

_seconds: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give what runs now to this test: its fixtures, too."""
    measured = coverage.Coverage.current()
    assert measured is not None, "run me under coverage"
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up a test's seconds; one that did not pass serves for nothing."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write each test's seconds; nothing in their place for one that did not pass."""
    told = {test: None if test in _failed else round(seconds, 3) for test, seconds in _seconds.items()}
    Path(os.environ["RECORDED"]).write_text(json.dumps(told))
