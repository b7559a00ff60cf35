"""What every listing prints: the catalogue of all plugins as plain data, taken from the last listing where that still holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tracebench_engine.api.installed.cache import DocumentCache, Readings

if TYPE_CHECKING:
    from tracebench_core.plugins.catalog import Catalog, Kind
    from tracebench_core.specs import Component, SuiteSpec, TaskSpec

Row = Mapping[str, Any]
TASK_FIELDS = ("title", "description", "groups", "tags", "metric", "direction", "licence", "self_reported")
PARTS: tuple[Kind, ...] = ("trainer", "optimizer", "guide", "logger")
"""The kinds that have a list of their own."""


def read_catalogue(root: Path | None = None) -> dict[str, Any]:
    """Return `suites`, `tasks` and the kinds of PARTS, each a list of rows with an `id`; of what is excluded only parts are in it.

    A plugin that fails to load is told of each time, so nothing is kept then; nor is what depends on a folder of the user's.
    """
    kept = DocumentCache("catalogue")
    if root is None and (found := kept.read()) is not None:
        listed: dict[str, Any] = found
        return listed
    readings = Readings()
    from tracebench_engine.builtin.hosting import open_host  # noqa: PLC0415 - what was kept needs none

    host = open_host(root=root)
    document = describe_catalogue(host.catalog())
    if root is None and all(record.status in {"loaded", "disabled"} for record in host.records.values()):
        kept.write(document, readings)
    return document


def describe_catalogue(catalog: Catalog) -> dict[str, Any]:
    """Return a catalogue as plain data."""
    tasks = [
        {"id": id_, **_needs(spec), **spec.model_dump(mode="json", include={*TASK_FIELDS})}
        for id_, spec in catalog.tasks.items()
        if id_ not in catalog.excluded
    ]
    counts = dict.fromkeys(catalog.suites, 0)
    for task in tasks:
        suite = task["id"].partition(":")[0]
        counts[suite] = counts.get(suite, 0) + 1
    document: dict[str, Any] = {
        "tasks": tasks,
        "suites": [{"name": name, "tasks": n, **_suite(catalog.suites.get(name))} for name, n in counts.items()],
    }
    for kind in PARTS:
        document[kind] = [
            {"id": name, "title": spec.title, "excluded": catalog.excluded.get(name, ""), **_needs(spec)}
            for name, spec in sorted(catalog.components[kind].items())
        ]
    return document


def unavailable(row: Row) -> str:
    """Return why a row's task or part cannot run on this machine, looked up now; nothing where it can."""
    from tracebench_core.plugins.requirements import why_unavailable  # noqa: PLC0415 - as above

    requirements: list[Any] = [SimpleNamespace(**each) for each in row["requires"]]
    return why_unavailable(row["broken"], requirements)


def _suite(spec: SuiteSpec | None) -> dict[str, Any]:
    return {"title": "", "aliases": []} if spec is None else spec.model_dump(mode="json")


def _needs(spec: TaskSpec | Component) -> dict[str, Any]:
    return spec.model_dump(mode="json", include={"requires", "broken"})
