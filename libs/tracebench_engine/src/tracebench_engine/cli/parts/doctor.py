"""`doctor`: what this machine has, what a config needs, and the command that mends each lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Overrides, Root

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig
    from tracebench_engine.api import Diagnosis
    from tracebench_engine.api.installed.hosting import PluginHost

LEGEND = {
    "yes": "it can",
    "-": "it cannot",
    "metered": "it can, until the cap of its budget",
    "limited": "it can, up to what the config allows programs (`sandbox.programs`)",
}
"""What the answers of `--as` mean."""
MISSING = 3
LONGEST_WORDS = 300


def doctor(
    *,
    participant: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="WHO",
            help="Look from the place of a candidate, candidate-program, agent, command, trainer, guide or viewer-user, "
            "or from one that an executor names, such as worker.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Check what this config needs.")
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="With --config: ask each role's model once, as a run will; this costs a call each."
        ),
    ] = False,
    runs_dir: Annotated[
        Path | None,
        typer.Option("--runs-dir", metavar="DIR", help="Try what a folder of runs must do: locks, renames, and more."),
    ] = None,
    root: Root = None,
    override: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Check what this machine has. Exits 3 when something that is needed is missing."""
    given = {"--live": live, "--config": config is not None, "--runs-dir": runs_dir is not None, "-o": bool(override)}
    if participant is not None:
        _refuse([name for name in given if given[name]], beside=("--as", participant))
        _look_as(participant, root, as_json=as_json)
        return
    from tracebench_engine.api import diagnose
    from tracebench_engine.api.configs import load_config
    from tracebench_engine.api.installed.hosting import open_host

    if live:
        _refuse(["--runs-dir"] if runs_dir is not None else [], beside=("--live", "--config", config or "FILE"))
    if config is None:
        _refuse(["-o"] if override else [], beside=())
    settings = load_config(config, overrides=override or ()) if config is not None else None
    host = open_host(root=root, plugins=settings.plugins if settings else None)
    if live:
        _ask_live(settings, host, as_json=as_json)
        return
    rows = diagnose(settings, host=host)
    if runs_dir is not None:
        from tracebench_engine.api import try_folder

        rows += try_folder(runs_dir)
    _tell(rows, as_json=as_json)


def _refuse(ignored: Sequence[str], *, beside: Sequence[object]) -> None:
    """Refuse options that mean nothing beside another, with the command without them.

    Raises:
        UsageError: when there is one.
    """
    from tracebench_core.errors import UsageError

    if ignored:
        where = f"beside `{beside[0]}`" if beside else "without `--config`"
        raise UsageError(f"`{ignored[0]}` means nothing {where}.", hint=output.command("doctor", *beside))


def _tell(rows: Sequence[Diagnosis], *, as_json: bool) -> None:
    """Print what was looked at, each lack with what mends it; exit where something that is needed is missing."""
    lacking = [row for row in rows if row.needed and not row.ok]
    if as_json:
        output.document("doctor", ok=not lacking, checks=[asdict(row) for row in rows])
    else:
        width = max(len(row.name) for row in rows)
        for row in rows:
            mark = "ok  " if row.ok else "FAIL" if row.needed else "-   "
            output.line(output.safe(f"{mark}  {row.name:<{width}}  {row.value}"))
            if not row.ok and row.hint:
                output.line(output.safe(f"      {'':<{width}}  {row.hint}"))
    if lacking:
        output.note(f"Missing: {', '.join(row.name for row in lacking)}.")
        raise typer.Exit(MISSING)


def _ask_live(config: RunConfig | None, host: PluginHost, *, as_json: bool) -> None:
    """Print what came of one call of each role."""
    from tracebench_core.errors import UsageError
    from tracebench_engine.api.live import ask_live

    if config is None:
        raise UsageError("`--live` asks the models of a config.", hint="trace-bench doctor --live --config FILE")
    found = list(ask_live(config, host))
    if as_json:
        output.document("doctor-live", ok=all(asked.ok for asked in found), calls=[asdict(asked) for asked in found])
    for asked in found if not as_json else ():
        cost = "price unknown" if asked.usd is None else f"{asked.usd:.6g} USD"
        dropped = f", left out: {', '.join(asked.left_out)}" if asked.left_out else ""
        place = f" at {asked.address}" if asked.address else ""
        dropped += "" if asked.is_used else "; no trainer or task of this config asks it"
        mark = "ok  " if asked.ok else "FAIL"
        output.line(output.safe(f"{mark}  {asked.role}: {asked.model}{place}, {asked.seconds:.2f} s, {cost}{dropped}"))
        output.line(output.safe(f"      {asked.words[:LONGEST_WORDS]}"))
        if asked.hint:
            output.line(output.safe(f"      hint: {asked.hint}"))
    if not all(asked.ok for asked in found):
        raise typer.Exit(MISSING)


def _look_as(participant: str, root: Path | None, *, as_json: bool) -> None:
    """Print what a participant of a run can read, write, connect to, signal and spend here, as a probe in its place found it."""
    from tracebench_core.errors import UsageError
    from tracebench_engine.api.reaching import PARTICIPANTS, looks_of_executors, reach

    who = next((name for name in PARTICIPANTS if name == participant), None)
    if who is None:
        others = looks_of_executors()
        if participant in others:
            _tell([*others[participant](root)], as_json=as_json)
            return
        raise UsageError(
            f"`--as {participant}` is none of {', '.join([*PARTICIPANTS, *others])}.",
            hint=f"trace-bench doctor --as {PARTICIPANTS[0]}",
        )
    found = reach(who)
    if as_json:
        output.document("doctor-as", participant=who, reach=found)
        return
    width = max(map(len, found))
    for row, answer in found.items():
        output.line(f"{row:<{width}}  {answer}")
    said = {answer: LEGEND[answer] for answer in LEGEND if answer in found.values()}
    output.note("; ".join(f"{answer}: {words}" for answer, words in said.items()))
