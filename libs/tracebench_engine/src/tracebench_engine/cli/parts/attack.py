"""`attack`: try the attacks that plugins offer on the tasks of a suite, and say how many they withstood."""

from __future__ import annotations

from typing import Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Root

FELL = 1


def attack(
    names: Annotated[list[str], typer.Argument(metavar="TASK|SUITE|PLUGIN", help="What to attack.")],
    *,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Try to cheat on tasks that run code. With the cheats of plugins and of the tasks' authors. Exits 1 when a cheat succeeds."""
    from tracebench_engine.api import open_host
    from tracebench_engine.api.checking import attack_tasks, attacked_versions, attackers_versions

    found = []
    host = open_host(root=root)
    for attacked in attack_tasks(host, names, root=root):
        found.append(attacked)
        if as_json:
            continue
        by = ", ".join(f"{number} of {name}" for name, number in attacked.by.items())
        told = f"{attacked.task}  withstood {attacked.withstood} forgeries"
        output.line(output.safe(f"{told} ({by})" if by else told))
        for words in attacked.believed:
            output.line(output.safe(f"    FAIL  {words}"))
        if attacked.remark:
            output.line(output.safe(f"    note: {attacked.remark}"))
        if attacked.skipped:
            output.line(output.safe(f"    not tried: {attacked.skipped}"))
    total, fell = sum(one.withstood for one in found), sum(len(one.believed) for one in found)
    if as_json:
        tasks = [
            {
                "task": one.task,
                "withstood": one.withstood,
                "by": one.by,
                "believed": one.believed,
                "skipped": one.skipped,
                "remark": one.remark,
            }
            for one in found
        ]
        of = attacked_versions(host, [one.task for one in found])
        tools = attackers_versions(host)
        output.document("attack", withstood=total, believed=fell, distributions=of, attackers=tools, tasks=tasks)
    else:
        output.note(f"withstood {total} forgeries, believed {fell}")
    if fell:
        raise typer.Exit(FELL)
