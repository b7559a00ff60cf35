"""Groups of heavy tests: what needs large libraries, a browser, a model or a proof checker runs only where it is asked for.

`TRACEBENCH_HEAVY=coq,torch pytest …` runs those groups, `TRACEBENCH_HEAVY=all` every group; `.ci/run` or `.ci/soak` has a
step for each. The tests of all other groups are left out, and counted at the end: to skip thousands one by one takes processors, too.
`TRACEBENCH_CELLS=3` leaves out all but the first three cells of each test.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["tests.home"]
_left = pytest.StashKey[Counter[str]]()

with suppress(ImportError):
    from hypothesis import settings

    # a busy one takes as long as it takes, and the soak goes through more
    settings.register_profile(
        "any machine", deadline=None, max_examples=int(os.environ.get("TRACEBENCH_EXAMPLES", "30"))
    )
    settings.load_profile("any machine")
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # processes that tests start would compile everything from source, each time


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark `heavy(group)`, and look for no garbage while tests are collected: there is none."""
    gc.disable()
    if "TRACEBENCH_HEAVY" not in os.environ:  # nor are the interpreters that the user prepared one of theirs
        os.environ.setdefault("TRACEBENCH_PYTHONS", str(Path(os.environ["XDG_STATE_HOME"], "no-pythons")))
    config.addinivalue_line("markers", "heavy(group): runs only where TRACEBENCH_HEAVY names the group, or `all`")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one worker: what they share is made once."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - it is not everywhere

    return LoadFileScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker begin in another place of a folder: a file whose assertions one has rewritten is read by the others."""
    report = yield
    if isinstance(collector, pytest.Directory) and (worker := getattr(collector.config, "workerinput", None)):
        number = int("0" + "".join(filter(str.isdigit, worker["workerid"])))
        start = number * len(report.result) // worker["workercount"]
        report.result[:] = report.result[start:] + report.result[:start]
    return report


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and never among the thousands of tests."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of every group that was not asked for; the others are in the same order in each worker."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.parts)
    if most := int(os.environ.get("TRACEBENCH_CELLS", "0")):
        _keep_first(most, config, items)
    wanted = {name.strip() for name in os.environ.get("TRACEBENCH_HEAVY", "").split(",")}
    if "all" in wanted:
        return
    kept, left = [], []
    for item in items:
        unwanted = next((mark.args[0] for mark in item.iter_markers("heavy") if mark.args[0] not in wanted), None)
        if unwanted is None:
            kept.append(item)
        else:
            left.append(item)
            _left_out(config)[unwanted] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def _keep_first(most: int, config: pytest.Config, items: list[pytest.Item]) -> None:
    cells: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        test = item.nodeid.partition("[")[0]
        cells[test] += 1
        (kept if cells[test] <= most else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def _left_out(config: pytest.Config) -> Counter[str]:
    return config.stash.setdefault(_left, Counter())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that started this one what was left out; a session is no failure where nothing else was to be run."""
    left, told = _left_out(session.config), getattr(session.config, "workeroutput", None)
    if told is not None:
        told["left out"] = dict(left)
    elif left and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker left out: each has collected the same."""
    node.config.stash[_left] = Counter(getattr(node, "workeroutput", {}).get("left out", {})) | _left_out(node.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the groups that tests were left out of, and how many."""
    if left := _left_out(config):
        terminalreporter.section("heavy tests, left out")
        for group, number in left.most_common():
            terminalreporter.line(f"{number} of the group `{group}`: set TRACEBENCH_HEAVY={group} to run them")
