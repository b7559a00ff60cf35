"""`fsck`: say what in a run directory is inconsistent, and mend it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, RunsDir

if TYPE_CHECKING:
    from tracebench_engine.api.rundirs.mending import Finding

INCONSISTENT = 1


def fsck(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt; set damage aside.")] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept that what is lost is lost, and note so in the journal.")
    ] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Check a run directory, and mend it. Exits 1 when something is inconsistent and stays so.

    What the journal vouches for is never rewritten: where it is damaged, `--repair` moves it to `lost+found/` of the run.
    """
    from tracebench_engine.api.rundirs.mending import accept_losses, check_run, read_trust, repair_run

    run_dir = find_run(name, runs_dir=runs_dir)
    found = check_run(run_dir)
    left = repair_run(run_dir) if repair and found else found
    accepted = accept_losses(run_dir) if accept else []
    left = check_run(run_dir) if accepted else left
    mended = [finding for finding in found if finding not in left and finding not in accepted]
    losses = sorted(read_trust(run_dir).accepted)
    if as_json:
        output.document(
            "fsck",
            run_dir=str(run_dir),
            mended=[asdict(f) for f in mended],
            accepted=[asdict(f) for f in accepted],
            left=[asdict(f) for f in left],
            known_losses=losses,
            ok=all(finding.mended_by == "nothing" for finding in left),
        )
    else:
        told = [*(("MENDED", f) for f in mended), *(("ACCEPTED", f) for f in accepted), *((f.code, f) for f in left)]
        for label, finding in told:
            output.line(output.safe(f"[{label}] {finding.path}: {finding.message}"))
        for path in losses:
            output.note(output.safe(f"known loss: {path}"))
        _advise(left, run_dir)
    if any(finding.mended_by != "nothing" for finding in left):
        raise typer.Exit(INCONSISTENT)


def _advise(left: list[Finding], run_dir: Path) -> None:
    ways = {finding.mended_by for finding in left}
    if not left:
        output.note(f"`{run_dir}` is consistent.")
    if "repair" in ways:
        output.note(f"Rebuild, and set aside what is damaged:  {output.command('fsck', run_dir, '--repair')}")
    if "resume" in ways:
        output.note(f"Run again what is lost:  {output.command('resume', run_dir)}")
    if "accept" in ways:
        output.note(f"Take the loss as it is:  {output.command('fsck', run_dir, '--accept')}")
    if left and ways == {"nothing"}:
        output.note("What is left does no harm: results and tables are right.")
