"""`trace-bench worker`: take jobs of a run that serves workers, on this machine."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_engine.api.console import output

app = typer.Typer(rich_markup_mode=None, add_completion=False)
VARIABLE = "TRACEBENCH_TICKET"
INTERRUPTED = 130


@app.command()
def worker(
    *,
    ticket: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"The run's ticket; without it, that in the variable {VARIABLE}."),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Jobs at a time.")] = 1,
    name: Annotated[str, typer.Option(help="How the run calls this worker.  [default: host and pid]")] = "",
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="As `--root` of the run, on this machine.")] = None,
    own: Annotated[bool, typer.Option("--own", hidden=True)] = False,
) -> None:
    """Run jobs on this machine for a run that is elsewhere. It must serve workers; ends when the run is over.

    Exits 130 when it is told to end before that (Ctrl-C, SIGTERM), so that whatever placed it can place another.
    Files that the run's config names, such as tasks and trainers of your own, are looked for in the folder where this is started.
    """
    from tracebench_workers.member import Member  # noqa: PLC0415 - every command imports this module for its help
    from tracebench_workers.ticket import Ticket  # noqa: PLC0415

    told, _, session = sys.stdin.readline().partition(" ") if own else (_read(ticket), "", "")
    member = Member(Ticket.parse(told), jobs=jobs, name=name, root=root, folder=Path.cwd(), session=session.strip())
    if own:
        threading.Thread(target=_watch_input, args=(member.stop,), daemon=True).start()
    left = member.work()
    if left.ending == "refused":
        raise UsageError(f"The run does not take this worker: {left.why}.")
    if left.ending == "absent":
        raise MissingRequirementError(f"There is no run to work for: {left.why}.")
    if not own:  # the log of its run is closed
        output.note(f"This worker is done: {left.why}.")
    if left.ending == "told":
        raise typer.Exit(INTERRUPTED)


def _watch_input(stop: Callable[[str], None]) -> None:
    sys.stdin.read()
    stop("whoever started it has ended")


def _read(ticket: Path | None) -> str:
    hint = "trace-bench run … -o executor=workers -o plugins.options.workers.listen=0.0.0.0:7400 -o plugins.options.workers.ticket=FILE"
    if ticket is None:
        if found := os.environ.pop(VARIABLE, ""):
            return found
        raise UsageError(f"Which run? There is no `--ticket`, and no variable `{VARIABLE}`.", hint=hint)
    try:
        return ticket.read_text(encoding="utf-8")
    except OSError as err:
        raise UsageError(f"The ticket `{ticket}` cannot be read: {err.strerror}.", hint=hint) from err
