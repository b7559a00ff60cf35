"""`list-tasks`, `list-trainers`, `list-suites`, the lists of parts, `plugins`: what can be run here, and why the rest cannot."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_core.api.console import output
from tracebench_core.api.console.options import AsJson, Bench, Root, suite_names
from tracebench_core.cli.check import check, checks
from tracebench_core.cli.describing import component_document, print_document, task_document

if TYPE_CHECKING:
    from tracebench_core.plugins import PluginHost
    from tracebench_core.plugins.catalog import Kind

_SETTINGS = {
    "trainer": "params_variants", "optimizer": "optimizer_kwargs", "guide": "guide_kwargs", "logger": "logger_kwargs",
}  # fmt: skip
"""Where a config gives the settings of a part."""


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(list_tasks)
    app.command()(list_trainers)
    app.command()(list_suites)
    app.command("list-optimizers")(_lister("optimizer"))
    app.command("list-guides")(_lister("guide"))
    app.command("list-loggers")(_lister("logger"))
    group = typer.Typer(name="plugins", invoke_without_command=True, callback=plugins)
    group.command()(check)
    group.command()(checks)
    app.add_typer(group)


def list_tasks(
    task: Annotated[str | None, typer.Argument(metavar="ID", help="One task, in full, with its settings.")] = None,
    *,
    bench: Bench = None,
    root: Root = None,
    pattern: Annotated[str | None, typer.Option(metavar="GLOB", help="Only ids that match, as in `*packing*`.")] = None,
    as_json: AsJson = False,
) -> None:
    """List task ids, one per line; with an id, show that task."""
    from tracebench_core.builtin.hosting import open_host
    from tracebench_core.plugins import Catalog

    host = open_host(root=root)
    if task is not None:
        _show(task_document(task, host.task(task)), settings_go_into="eval_kwargs", as_json=as_json)
        return
    ids = [id_ for id_ in _task_ids(host, suite_names(bench)) if pattern is None or fnmatchcase(id_, pattern)]
    if not as_json:
        for id_ in ids:
            output.line(id_)
        if not ids:
            output.note(f"No task matches `{pattern}`." if pattern is not None else "No task is offered.")
        return
    tasks = []
    for id_ in ids:
        spec = host.task(id_)
        tasks.append(
            {
                "id": id_,
                "title": spec.title,
                "description": spec.description,
                "groups": spec.groups,
                "tags": spec.tags,
                "metric": spec.metric,
                "direction": spec.direction,
                "licence": spec.licence,
                "unavailable": Catalog.availability(spec) or None,
            }
        )
    output.document("tasks", tasks=tasks)


def list_trainers(
    trainer: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One trainer, in full, with its settings.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Those that cannot run here too, with the reason.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the trainers that can run here, or show one. A line is `id<TAB>available` or `id<TAB>unavailable<TAB>reason`."""
    from tracebench_core.builtin.hosting import open_host

    if trainer is not None:
        spec = open_host().component("trainer", trainer)
        _show(component_document(spec.name, spec), settings_go_into=_SETTINGS["trainer"], as_json=as_json)
        return
    catalog = open_host().find_trainers() if every else open_host().catalog()
    reasons = {name: catalog.availability(spec) for name, spec in catalog.trainers.items()}
    reasons |= {
        name: f"excluded: {catalog.excluded[name]}"
        for name in catalog.components["trainer"]
        if name in catalog.excluded
    }
    shown = {name: reason for name, reason in sorted(reasons.items()) if every or not reason}
    if as_json:
        trainers = [
            {
                "id": name,
                "available": not reason,
                "reason": reason or None,
                "title": catalog.components["trainer"][name].title,
            }
            for name, reason in shown.items()
        ]
        output.document("trainers", trainers=trainers)
        return
    for name, reason in shown.items():
        state = f"{name}\tunavailable\t{output.flat(reason)}" if reason else f"{name}\tavailable"
        output.line(state)


def list_suites(*, as_json: AsJson = False) -> None:
    """List suites with their task counts."""
    from tracebench_core.builtin.hosting import open_host

    catalog = open_host().catalog()
    counts = dict.fromkeys(catalog.suites, 0)
    for id_ in catalog.tasks:
        suite = id_.partition(":")[0]
        if id_ not in catalog.excluded:
            counts[suite] = counts.get(suite, 0) + 1
    if as_json:
        suites = [
            {"name": name, "tasks": counts[name], **spec.model_dump(mode="json")}
            for name, spec in catalog.suites.items()
        ]
        output.document("suites", suites=suites)
        return
    titles = {name: spec.title for name, spec in catalog.suites.items()}
    output.table(
        ("suite", "tasks", "title"), [(name, str(count), titles.get(name, "")) for name, count in counts.items()]
    )


def _lister(kind: Kind) -> Callable[..., None]:
    """Return the command that lists the parts of one kind, or shows one of them."""

    def list_parts(
        name: Annotated[
            str | None, typer.Argument(metavar="NAME", help="One of them, in full, with its settings.")
        ] = None,
        *,
        as_json: AsJson = False,
    ) -> None:
        from tracebench_core.builtin.hosting import open_host
        from tracebench_core.plugins import Catalog

        if name is not None:
            spec = open_host().component(kind, name)
            _show(component_document(spec.name, spec), settings_go_into=_SETTINGS[kind], as_json=as_json)
            return
        catalog = open_host().catalog()
        parts = {n: spec for n, spec in sorted(catalog.components[kind].items()) if n not in catalog.excluded}
        if as_json:
            rows = [
                {"id": n, "title": s.title, "unavailable": Catalog.availability(s) or None} for n, s in parts.items()
            ]
            output.document(f"{kind}s", **{f"{kind}s": rows})
            return
        output.table((kind, "title", "missing"), [(n, s.title, Catalog.availability(s)) for n, s in parts.items()])

    list_parts.__doc__ = f"List the {kind}s, or show one."
    return list_parts


def _show(document: dict[str, Any], *, settings_go_into: str, as_json: bool) -> None:
    if as_json:
        output.document("description", **document)
    else:
        print_document(document, settings_go_into=settings_go_into)


def plugins(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List plugins, broken ones included. Says of each what became of it, and why; exits 1 when one cannot be used."""
    from tracebench_core.builtin.hosting import open_host

    if context.invoked_subcommand is not None:
        return
    host = open_host()
    host.catalog()
    records = [
        {"name": r.name, "distribution": r.distribution, "version": r.version, "status": r.status, "error": r.error}
        for r in host.records.values()
    ]
    if as_json:
        output.document("plugins", plugins=records)
    else:
        columns = ("name", "distribution", "version", "status", "error")
        output.table(columns, [tuple(record[column] for column in columns) for record in records])
    broken = [r.name for r in host.records.values() if r.status in {"failed", "incompatible"}]
    if broken:
        names = ", ".join(f"`{name}`" for name in broken)
        output.note(f"Cannot be used: {names}. See where:  TRACEBENCH_STRICT_PLUGINS=1 trace-bench plugins --debug")
        raise typer.Exit(1)


def _task_ids(host: PluginHost, suites: list[str]) -> list[str]:
    """Return the full ids of the named suites, or of all; excluded tasks are not offered."""
    from tracebench_core.plugins.resolve import resolve_task_ids

    if suites:
        return list(dict.fromkeys(id_ for suite in suites for id_ in resolve_task_ids(host, f"{suite.strip()}:all")))
    catalog = host.catalog()
    return [id_ for id_ in catalog.tasks if id_ not in catalog.excluded]
