"""A plugin for pytest: tells marks which test runs now, and names those that passed with their seconds.

`RECORDED=FOLDER python -m pytest -p tests.mutants.recorder …`. What several tests share, such as a fixture of a module, has a number of its
own, which counts for each test that uses it.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_folder = Path(os.environ["RECORDED"])
with (_folder / "now").open("r+b") as _file:
    _now = mmap.mmap(_file.fileno(), 4)
_seconds: dict[str, float] = {}
_failed: set[str] = set()
_numbers: dict[object, int] = {}
_of_tests: dict[str, set[int]] = {}


def _switch(to: int) -> int:
    before = int.from_bytes(_now[:4], "little")
    _now[:4] = to.to_bytes(4, "little")
    return before


def _number(what: object) -> int:
    return _numbers.setdefault(what, len(_numbers) + 1)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give what runs now to this test."""
    _of_tests.setdefault(item.nodeid, set()).add(_number(item.nodeid))
    before = _switch(_number(item.nodeid))
    try:
        return (yield)
    finally:
        _switch(before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Give what a shared fixture does to all that use it."""
    if fixturedef.scope == "function":
        return (yield)
    before = _switch(_number((fixturedef.baseid, fixturedef.argname)))
    try:
        return (yield)
    finally:
        _switch(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Write down which shared fixtures a test uses."""
    known: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - it is not typed
    used = [
        definition for definitions in known.values() for definition in definitions if definition.scope != "function"
    ]
    _of_tests[item.nodeid] |= {_number((definition.baseid, definition.argname)) for definition in used}
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up a test's seconds; one that did not pass serves for nothing."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write each test's seconds and numbers, but for those that did not pass."""
    passed = {test: round(seconds, 3) for test, seconds in _seconds.items() if test not in _failed}
    numbers = {test: sorted(_of_tests[test]) for test in passed}
    (_folder / "recorded.json").write_text(json.dumps({"seconds": passed, "numbers": numbers}))
