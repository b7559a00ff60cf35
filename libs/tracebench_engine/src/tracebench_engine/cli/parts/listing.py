"""`list-tasks`, `list-trainers`, `list-suites`, the lists of parts, `plugins`: what can be run here, and why the rest cannot."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Bench, Root, suite_names
from tracebench_engine.api.installed.catalogue import TASK_FIELDS, Row, describe_catalogue, read_catalogue, unavailable
from tracebench_engine.cli.parts.check import check, checks
from tracebench_engine.cli.parts.describing import component_document, print_document, task_document

if TYPE_CHECKING:
    from tracebench_engine.api.installed.hosting import Kind

_SETTINGS = {
    "trainer": "params_variants", "optimizer": "optimizer_kwargs", "guide": "guide_kwargs", "logger": "logger_kwargs",
}  # fmt: skip
"""Where a config gives the settings of a part."""
group = typer.Typer(name="plugins")
group.command()(check)
group.command()(checks)


def list_tasks(
    task: Annotated[str | None, typer.Argument(metavar="ID", help="One task, in full, with its settings.")] = None,
    *,
    bench: Bench = None,
    root: Root = None,
    pattern: Annotated[str | None, typer.Option(metavar="GLOB", help="Only ids that match, as in `*packing*`.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tasks, or show one. With titles on a terminal, one id per line elsewhere."""
    if task is not None:
        from tracebench_engine.api.installed.hosting import open_host

        host = open_host(root=root)
        _show(task_document(task, host.task(task), host), settings_go_into="eval_kwargs", as_json=as_json)
        return
    offered = _tasks(suite_names(bench), root)
    rows = [row for row in offered if pattern is None or fnmatchcase(row["id"], pattern)]
    if root is not None and not {row["id"] for row in offered} - {row["id"] for row in read_catalogue()["tasks"]}:
        _tell_that_nothing_is_added(root)
    if as_json:
        shown = [{name: row[name] for name in ("id", *TASK_FIELDS)} | _state_of(row) for row in rows]
        output.document("tasks", tasks=shown)
        return
    if output.is_read():
        output.table(("task", "title"), [(row["id"], row["title"]) for row in rows])
    else:
        for row in rows:
            output.line(row["id"])
    if not rows:
        output.note(f"No task matches `{pattern}`." if pattern is not None else "No task is offered.")


def _tell_that_nothing_is_added(root: Path) -> None:
    of_one = "" if root.exists() else str(root).partition("=")[2]
    folder = Path(os.path.expanduser(of_one)) if of_one else root  # noqa: PTH111 - `Path.expanduser` raises where there is no such user
    told = f"`{folder}` adds no task to those of the installed suites."
    if not folder.exists():
        told = f"`{folder}` does not exist."
    elif folder.is_dir() and os.access(folder, os.R_OK) and not any(folder.iterdir()):
        told = f"`{folder}` is empty."
    output.note(output.safe(told))
    look = shlex.join(["ls", str(folder if folder.is_dir() else folder.parent)])
    output.note(output.safe(f"  hint: {look}   (what a suite looks for there, its page says at `--root`)"))


def list_trainers(
    trainer: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One trainer, in full, with its settings.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Those that cannot run here too, with the reason.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the trainers that can run here, or show one.

    On a terminal with titles. Elsewhere a line is `id<TAB>available` or `id<TAB>unavailable<TAB>reason`.
    """
    if trainer is not None or every:
        from tracebench_engine.api.installed.hosting import open_host
    if trainer is not None:
        spec = open_host().component("trainer", trainer)
        _show(component_document(spec.name, spec), settings_go_into=_SETTINGS["trainer"], as_json=as_json)
        return
    rows = describe_catalogue(open_host().find_trainers())["trainer"] if every else read_catalogue()["trainer"]
    titles = {row["id"]: row["title"] for row in rows}
    reasons = {row["id"]: f"excluded: {row['excluded']}" if row["excluded"] else unavailable(row) for row in rows}
    shown = {name: reason for name, reason in reasons.items() if every or not reason}
    if as_json:
        trainers = [
            {
                "id": name,
                "available": not reason,
                "reason": reason or None,
                "title": titles[name],
            }
            for name, reason in shown.items()
        ]
        output.document("trainers", trainers=trainers)
        return
    if output.is_read():
        columns = ("trainer", "title", "why it cannot run here")[: 3 if any(shown.values()) else 2]
        output.table(columns, [(name, titles[name], reason)[: len(columns)] for name, reason in shown.items()])
        return
    for name, reason in shown.items():
        state = f"{name}\tunavailable\t{output.flat(reason)}" if reason else f"{name}\tavailable"
        output.line(state)


def list_suites(*, as_json: AsJson = False) -> None:
    """List suites with their task counts."""
    suites = read_catalogue()["suites"]
    if as_json:
        output.document("suites", suites=suites)
        return
    output.table(("suite", "tasks", "title"), [(row["name"], str(row["tasks"]), row["title"]) for row in suites])


def _lister(kind: Kind) -> Callable[..., None]:
    """Return the command that lists the parts of one kind, or shows one of them."""

    def list_parts(
        name: Annotated[
            str | None, typer.Argument(metavar="NAME", help="One of them, in full, with its settings.")
        ] = None,
        *,
        as_json: AsJson = False,
    ) -> None:
        if name is not None:
            from tracebench_engine.api.installed.hosting import open_host

            spec = open_host().component(kind, name)
            _show(component_document(spec.name, spec), settings_go_into=_SETTINGS[kind], as_json=as_json)
            return
        rows = [row for row in read_catalogue()[kind] if not row["excluded"]]
        if as_json:
            parts = [{"id": row["id"], "title": row["title"]} | _state_of(row) for row in rows]
            output.document(f"{kind}s", **{f"{kind}s": parts})
            return
        output.table((kind, "title", "missing"), [(row["id"], row["title"], unavailable(row)) for row in rows])

    list_parts.__doc__ = f"List the {kind}s, or show one."
    list_parts.__name__ = f"list_{kind}s"
    return list_parts


LISTS = (list_tasks, list_trainers, list_suites, _lister("optimizer"), _lister("guide"), _lister("logger"))


def _show(document: dict[str, Any], *, settings_go_into: str, as_json: bool) -> None:
    if as_json:
        output.document("description", **document)
    else:
        print_document(document, settings_go_into=settings_go_into)


@group.callback(invoke_without_command=True)
def plugins(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List plugins, broken ones included. Says for each whether it was loaded, and if not, why; exits 1 when one cannot be used."""
    from tracebench_engine.api.installed.hosting import open_host

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


def _tasks(suites: list[str], root: Path | None) -> list[Row]:
    """Return the tasks of the named suites, in that order, or all; a suite may be named by another name of it."""
    listed = read_catalogue(root)
    if not suites:
        return list(listed["tasks"])
    names = {other: row["name"] for row in listed["suites"] for other in (row["name"], *row["aliases"])}
    by_suite: dict[str, list[Row]] = {}
    for row in listed["tasks"]:
        by_suite.setdefault(row["id"].partition(":")[0], []).append(row)
    wanted = dict.fromkeys(names.get(suite.strip(), suite.strip()) for suite in suites)
    if missing := next((suite for suite in wanted if suite not in by_suite), None):
        from tracebench_engine.api.installed.hosting import open_host, resolve_task_ids

        resolve_task_ids(open_host(root=root), f"{missing}:all")  # says why there is none
    return [row for suite in wanted for row in by_suite.get(suite, ())]


def _state_of(row: Row) -> dict[str, str | None]:
    return {"unavailable": unavailable(row) or None}
