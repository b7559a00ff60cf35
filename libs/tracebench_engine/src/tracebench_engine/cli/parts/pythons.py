"""`pythons`: named interpreters for libraries that do not live beside Trace-Bench."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `pythons list` shows.")]
group = typer.Typer(name="pythons", help="Prepare environments for libraries that need their own.")


@group.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """List the environments, and which are ready."""
    from tracebench_engine.api.installed.hosting import open_host
    from tracebench_engine.api.interpreters import list_pythons

    found = list_pythons(open_host())
    if as_json:
        output.document("pythons", pythons=[asdict(python) for python in found])
        return
    rows = [
        (p.name, ("stale" if p.stale else "ready") if p.ready else "not built", p.path if p.ready else "", p.title)
        for p in found
    ]
    output.table(("name", "state", "path", "for"), rows)


@group.command()
def create(name: Name, *, as_json: AsJson = False) -> None:
    """Build an interpreter with pinned packages, or build it anew."""
    from tracebench_engine.api.installed.hosting import open_host
    from tracebench_engine.api.interpreters import create_python

    built = create_python(name, open_host())
    if as_json:
        output.document("python", **asdict(built))
    else:
        output.line(built.path)


@group.command()
def remove(name: Name) -> None:
    """Remove an interpreter."""
    from tracebench_engine.api.interpreters import remove_python

    remove_python(name)
    output.note(f"`{name}` is gone.")
