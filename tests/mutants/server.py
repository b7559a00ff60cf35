"""Runs tests in forks of one process that has imported what most need: `python -m tests.mutants.server LOG`, orders on its input.

An order is a line of JSON, `{"tests": [...], "module": "tracebench_core.ids", "seconds": 60}`; the answer names what failed first: a
test, `time`, or `""` for nothing. A fork forgets the module, whatever imported it, and whatever imported that, before it runs the tests.
A session that fails before its first test, for an option it does not know or a name that is not there, fails nothing.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

AHEAD = (
    *(
        "_pytest.assertion.rewrite",
        "hypothesis",
        "pydantic",
        "yaml",
        "numpy",
        "scipy.stats",
        "httpx",
        "rich.console",
        "typer",
    ),
    *(
        "tracebench_engine.api.running",
        "tracebench_engine.api.records",
        "tracebench_engine.api.analysis",
        "tracebench_engine.cli.app",
    ),
    *("tracebench_testing", "tracebench_gateway.server.service", "tracebench_opto.plugin", "tracebench_llm4ad.plugin"),
)
"""What many tests import."""
OURS = "tracebench_"
QUIETLY = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]


ENDS = 60
"""Seconds in which a test has to end."""


class Importers:
    """Who imports what, as it is seen while it happens."""

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = defaultdict(set)
        self._ordinary = builtins.__import__

    def __enter__(self) -> Importers:
        builtins.__import__ = self._watched
        return self

    def __exit__(self, *exc: object) -> None:
        builtins.__import__ = self._ordinary
        for importer, module in [*sys.modules.items()]:  # what came by another way, such as a lazy attribute
            if importer.startswith(OURS):
                for value in [*vars(module).values()]:
                    origin = getattr(value, "__module__", None)
                    if isinstance(origin, str) and origin.startswith(OURS) and origin != importer:
                        self._of[origin].add(importer)

    def _watched(
        self, name: str, space: Mapping[str, Any] | None = None, local: Any = None, names: Any = (), level: int = 0
    ) -> ModuleType:
        found = self._ordinary(name, space, local, names, level)
        importer = (space or {}).get("__name__")
        if importer:
            whole = resolve_name("." * level + name, space["__package__"]) if level and space else name
            for imported in (whole, *(f"{whole}.{item}" for item in names or ())):
                self._of[imported].add(importer)
        return found

    def forget(self, module: str) -> None:
        """Forget a module and all that stands on it."""
        left, gone = [module], set[str]()
        while left:
            name = left.pop()
            if name not in gone and name in sys.modules:
                gone.add(name)
                left += [*self._of[name], *(inner for inner in sys.modules if inner.startswith(f"{name}."))]
        for name in gone:
            del sys.modules[name]
            package, _, last = name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(last, None)


class First:
    """Writes down the first failure, and ends the session when it has lasted long enough."""

    def __init__(self, told: Path, seconds: float) -> None:
        self._told = told
        self._until = _used() + seconds

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file of tests could not be imported."""
        if report.failed:
            self._told.write_text(f"import of {report.nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test failed."""
        if report.failed:
            self._told.write_text(report.nodeid)

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """A test is next."""
        if _used() > self._until:
            item.session.shouldstop = "enough"


def _used() -> float:
    """Return the seconds of processors that this process and those it waited for have used: a busy machine cuts no session short."""
    return sum(os.times()[:4])


def first_failure(tests: list[str], *, forget: Callable[[], None], log: Path, seconds: float) -> str:
    """Run tests in a process of their own, for so many seconds of processors; return the first that fails or hangs, "" if none does."""
    told = log.with_suffix(".failed")
    told.write_text("")
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number, end in enumerate((os.open(os.devnull, os.O_RDONLY), out, out)):
                os.dup2(end, number)
            forget()
            pytest.main([*QUIETLY, f"--timeout={ENDS}", *tests], plugins=[First(told, seconds)])
        finally:
            os._exit(0)
    until = time.monotonic() + 10 * (seconds + ENDS)
    ended = 0
    while time.monotonic() < until and not ended:
        time.sleep(0.02)
        ended, _ = os.waitpid(pid, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
    return told.read_text() or ("" if ended else "time")


def main() -> None:
    """Serve until the input ends."""
    with Importers() as importers:
        for name in AHEAD:
            with suppress(ImportError):
                importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        forget = partial(importers.forget, order["module"])
        failed = first_failure(order["tests"], forget=forget, log=Path(sys.argv[1]), seconds=order["seconds"])
        print(json.dumps(failed), flush=True)


if __name__ == "__main__":
    main()
