"""`trace-bench submit`: write a run as a bundle that others can check, and check one as CI does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, Root, RunsDir
from tracebench_open import submission

app = typer.Typer(help="Write a run as a bundle, or check one as CI does.", no_args_is_help=True, rich_markup_mode=None)
Reference = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Receipts of an open bench, for the alarm on what is too good.")
]


@app.command()
def write(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, as a directory or id.")],
    *,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The bundle, a ZIP.")],
    registration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What `preregister commit` wrote before the run.")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Write a finished run as a bundle. It names the machine and its packages; salts, logs and recordings stay here."""
    count = submission.bundle(find_run(run, runs_dir=runs_dir), to, registration=registration)
    output.line(str(to))
    output.note(f"{count} files. See what a check says:  {output.command('submit', 'check', to)}")


@app.command()
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="What `submit write` wrote, or a folder of such bundles.")
    ],
    *,
    reference: Reference = None,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Accept a bundle, or say which law it breaks. Exits with 1 where one is refused. Nothing of it is run.

    Of a folder every ZIP is checked, each by itself; one that holds a run that another holds already is refused.
    """
    if file.is_dir():
        _check_all(file, reference=reference, root=root, as_json=as_json)
        return
    found = submission.check(file, reference=reference, root=root)
    if as_json:
        output.document("submission-check", **_told(found))
    else:
        _say(found)
    if found.refused:
        raise typer.Exit(1)


def _check_all(folder: Path, *, reference: Path | None, root: Path | None, as_json: bool) -> None:
    found = submission.check_all(folder, reference=reference, root=root)
    if as_json:
        output.document("submissions-check", submissions={name: _told(one) for name, one in found.items()})
    else:
        for name, one in found.items():
            output.line(output.safe(f"{name}:"))
            _say(one)
    refused = sum(bool(one.refused) for one in found.values())
    output.note(f"{len(found) - refused} accepted, {refused} refused.")
    if refused:
        raise typer.Exit(1)


def _told(found: submission.Verdict) -> dict[str, Any]:
    return {
        "accepted": not found.refused,
        "run_id": found.run_id,
        "head": found.head,
        "jobs": found.jobs,
        "refused": {law: [*words] for law, words in found.refused.items()},
        "told": found.told,
    }


def _say(found: submission.Verdict) -> None:
    word = "refused" if found.refused else "accepted"
    output.line(output.safe(f"{word}: {found.run_id}, {found.jobs} jobs, head {found.head}"))
    for law, words in found.refused.items():
        output.line(f"{law}: {len(words)}")
        for one in words[:10]:
            output.line(output.safe(f"  {one}"))
    for one in found.told:
        output.note(output.safe(one))
