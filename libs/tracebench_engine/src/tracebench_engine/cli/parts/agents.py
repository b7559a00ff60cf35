"""`agents`: coding agents that optimise, each in an environment of its own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `agents list` shows.")]
group = typer.Typer(name="agents", help="Install coding agents, each in its own environment.")


@group.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """List the coding agents, and which are installed."""
    from tracebench_engine.api.agents import list_agents
    from tracebench_engine.api.installed.hosting import open_host

    found = list_agents(open_host())
    if as_json:
        output.document("agents", agents=[asdict(agent) for agent in found])
        return
    states = {True: "stale", False: "ready"}
    rows = [
        (
            a.name,
            states[a.stale] if a.path else "not here",
            a.version,
            a.wire,
            ", ".join(a.packages) or a.by_hand,
            a.title,
        )
        for a in found
    ]
    output.table(("name", "state", "version", "asks by", "from", "what it is"), rows)


@group.command()
def install(name: Name, *, as_json: AsJson = False) -> None:
    """Install an agent from PyPI or npm, or install it anew."""
    from tracebench_engine.api.agents import install_agent
    from tracebench_engine.api.installed.hosting import open_host

    found = install_agent(name, open_host())
    if as_json:
        output.document("agent", **asdict(found))
    else:
        output.line(f"{found.path}  ({found.version})")


@group.command()
def remove(name: Name) -> None:
    """Remove an agent that was installed."""
    from tracebench_engine.api.agents import remove_agent

    remove_agent(name)
    output.note(f"`{name}` is gone.")
