"""`fsck`: say what in a run directory is inconsistent, and mend it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_core.cli import output
from tracebench_core.cli.locate import find_run
from tracebench_core.cli.options import AsJson, RunsDir

if TYPE_CHECKING:
    from tracebench_core.store.checks import Finding

INCONSISTENT = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fsck)


def fsck(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild every derived file from events.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Check a run directory, and mend it. Exits 1 when something is inconsistent and stays so."""
    from tracebench_core.store.fsck import check_run, repair_run

    run_dir = find_run(name, runs_dir=runs_dir)
    found = check_run(run_dir)
    left = repair_run(run_dir) if repair and found else found
    mended = [finding for finding in found if finding not in left]
    if as_json:
        output.document(
            "fsck",
            run_dir=str(run_dir),
            mended=[asdict(f) for f in mended],
            left=[asdict(f) for f in left],
            ok=not left,
        )
    else:
        for label, finding in [*(("MENDED", f) for f in mended), *((f.code, f) for f in left)]:
            output.line(output.safe(f"[{label}] {finding.path}: {finding.message}"))
        _advise(left, run_dir)
    if left:
        raise typer.Exit(INCONSISTENT)


def _advise(left: list[Finding], run_dir: Path) -> None:
    ways = {finding.mended_by for finding in left}
    if not left:
        output.note(f"`{run_dir}` is consistent.")
    if "repair" in ways:
        output.note(f"Rebuild from events:  {output.command('fsck', run_dir, '--repair')}")
    if "resume" in ways:
        output.note(f"Run again what is lost:  {output.command('resume', run_dir)}")
