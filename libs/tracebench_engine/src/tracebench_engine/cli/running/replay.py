"""`replay`: repeat a recorded run without a model, and say whether it came out the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, MaxWorkers, RunsDir
from tracebench_engine.cli.running.ending import Verbose, finish
from tracebench_engine.cli.running.run import reporter_name

if TYPE_CHECKING:
    from tracebench_engine.api import RunSummary
    from tracebench_engine.api.rundirs.replaying import Difference

DIFFERENT = 4
"""Exit code of a repeated run that came out differently."""
SHOWN = 20


def replay(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A recorded run: its directory, or its id in `--runs-dir`.",
        ),
    ] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", hidden=True)] = False,
    runs_dir: RunsDir = None,
    max_workers: MaxWorkers = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Repeat a run from its recording, offline and free. Exits with 4 when it comes out differently."""
    if demo:
        raise UsageError(
            "Recorded runs that are installed are shown by `demo`.", hint=output.command("demo", *filter(None, [name]))
        )
    recorded = _named(name, runs_dir)
    summary, found = repeat(
        recorded, runs_dir=runs_dir, max_workers=max_workers, reporter=reporter_name(as_json=as_json)
    )
    tell_differences(found, recorded=recorded, replayed=Path(summary.run_dir), as_json=as_json)
    if found:
        raise typer.Exit(DIFFERENT)
    finish(summary, as_json=as_json, verbose=verbose)


def repeat(
    recorded: Path, *, runs_dir: str | None, max_workers: int | None, reporter: str
) -> tuple[RunSummary, list[Difference]]:
    """Run a recorded run again, and return what came of it and where it differs from the recording."""
    from tracebench_engine import api
    from tracebench_engine.api.rundirs.replaying import differences, replay_of

    again = replay_of(recorded, runs_dir=runs_dir, max_workers=max_workers)
    summary = api.run(
        again.config,
        root=again.root,
        limit=again.jobs,
        reporter=reporter,
        stream=sys.stdout if reporter == "json" else sys.stderr,
    )
    return summary, list(differences(api.load_run(recorded), api.load_run(summary.run_dir)))


def _named(name: str | None, runs_dir: str | None) -> Path:
    if name is None:
        raise UsageError("Name a recorded run.", hint="trace-bench demo")
    return find_run(name, runs_dir=runs_dir)


def tell_differences(
    found: list[Difference], *, recorded: Path, replayed: Path, as_json: bool, page: str | None = None
) -> None:
    """Say whether a replay came out as its recording; as JSON, with the page that shows it where there is one."""
    if as_json:
        rows = [
            {
                "task": d.job.task_id,
                "trainer": d.job.trainer_id,
                "seed": d.job.seed,
                "field": d.field,
                "recorded": d.one,
                "replayed": d.other,
            }
            for d in found
        ]
        more = {} if page is None else {"page": page}
        output.document("replay", recorded=str(recorded), replayed=str(replayed), differences=rows, **more)
        return
    if not found:
        output.note("The same results as recorded, apart from times and the jobs' ids.")
        return
    jobs = len({difference.job.job_id for difference in found})
    output.note(f"{jobs} jobs came out differently than recorded:")
    for d in found[:SHOWN]:
        told = f"{d.job.task_id} x {d.job.trainer_id}, seed {d.job.seed}: {d.field} was {_short(d.one)}, is {_short(d.other)}"
        output.note(f"  {output.safe(told)}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - characters that fit on a line
