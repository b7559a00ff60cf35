from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.errors import NothingSelectedError, PluginError, UsageError
from tracebench_core.plugins import PluginHost, discover
from tracebench_core.plugins.resolve import resolve_task_ids

SUITE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import SuiteSpec, TaskSpec
@hookimpl
def tracebench_suite(): return SuiteSpec(title="S", aliases={aliases}, owns_bare_ids={owns})
@hookimpl
def tracebench_tasks(): return [TaskSpec(name=n, loader="m:f", title=n, groups=g) for n, g in {tasks}]
"""


@pytest.fixture
def host(install_plugin: Any) -> PluginHost:
    tasks = [("packing", ()), ("opt/tsp", ("opt",)), ("opt/bins", ("opt",)), ("a/same", ()), ("b/same", ())]
    install_plugin("design", SUITE.format(aliases=("des",), owns=True, tasks=tasks))
    install_plugin("toys", SUITE.format(aliases=(), owns=False, tasks=[("packing", ()), ("greet", ())]))
    install_plugin(
        "plain",
        SUITE.split("@hookimpl", maxsplit=1)[0]
        + "@hookimpl"
        + SUITE.format(aliases=(), owns=False, tasks=[("alone", ())]).split("@hookimpl")[2],
    )
    return PluginHost(discover({"design", "toys", "plain"}))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("design:packing", ["design:packing"]),
        ("des:packing", ["design:packing"]),
        ("design:tsp", ["design:opt/tsp"]),
        ("design:opt", ["design:opt/tsp", "design:opt/bins"]),
        ("toys:all", ["toys:packing", "toys:greet"]),
        ("packing", ["design:packing"]),
        ("tsp", ["design:opt/tsp"]),
        ("greet", ["toys:greet"]),
        ("alone", ["plain:alone"]),
    ],
)
def test_what_is_written_means(host: PluginHost, written: str, meant: list[str]) -> None:
    assert resolve_task_ids(host, written) == meant


@pytest.mark.parametrize("written", ["design:same", "same", "nowhere:x", "design:opt/tps", "gret", ""])
def test_what_cannot_be_meant_is_refused(host: PluginHost, written: str) -> None:
    with pytest.raises(UsageError):
        resolve_task_ids(host, written)


@pytest.mark.parametrize("rest", ["all", "*", "x*", "?", "x"])
def test_why_a_plugin_failed_to_load_is_told_whatever_is_asked_of_it(rest: str, install_plugin: Any) -> None:
    install_plugin("bad", "1 / 0")

    with pytest.raises(PluginError, match="plugin `bad` is not loaded: ZeroDivisionError"):
        resolve_task_ids(PluginHost(discover({"bad"})), f"bad:{rest}")


@pytest.mark.parametrize("rest", ["all", "*"])
def test_a_suite_without_tasks_offers_none(rest: str, install_plugin: Any) -> None:
    install_plugin("empty", SUITE.format(aliases=(), owns=False, tasks=[]))

    with pytest.raises(NothingSelectedError, match="Suite `empty` offers no task here"):
        resolve_task_ids(PluginHost(discover({"empty"})), f"empty:{rest}")
