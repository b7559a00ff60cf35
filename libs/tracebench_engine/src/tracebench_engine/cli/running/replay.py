"""`replay`: repeat a recorded run without a model, and say whether it came out the same."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import DEFAULT_RUNS_DIR, find_run, is_run
from tracebench_engine.api.console.options import AsJson, MaxWorkers, RunsDir
from tracebench_engine.cli.running.run import finish, reporter_name

if TYPE_CHECKING:
    from tracebench_engine.api.rundirs.replaying import Difference

DEMO = Path(__file__).parents[1] / "demo.zip"
"""A recorded run: `docs/how-to/record-and-replay.md` says how it is made."""
DEMOS = "tracebench.demos"
"""Entry points by which plugins offer recorded runs: the name, and a package that holds `<name>.zip`."""
DIFFERENT = 4
SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A recorded run: its directory, or its id in `--runs-dir`. With `--demo`, the name of a plugin's.",
        ),
    ] = None,
    *,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Replay a recorded run that is installed, the core's own or a named one."),
    ] = False,
    runs_dir: RunsDir = None,
    max_workers: MaxWorkers = None,
    as_json: AsJson = False,
) -> None:
    """Run a recorded run again, from its recording: no model, no key, no cost. Exits with 4 when it comes out differently."""
    from tracebench_engine import api
    from tracebench_engine.api.rundirs.replaying import differences, replay_of

    recorded = unpack_demo(Path(runs_dir or DEFAULT_RUNS_DIR), name) if demo else _named(name, runs_dir)
    again = replay_of(recorded, runs_dir=runs_dir, max_workers=max_workers)
    summary = api.run(
        again.config,
        root=again.root,
        limit=again.jobs,
        reporter=reporter_name(as_json=as_json),
        stream=sys.stdout if as_json else sys.stderr,
    )
    found = list(differences(api.load_run(recorded), api.load_run(summary.run_dir)))
    _tell(found, recorded=recorded, replayed=summary.run_dir, as_json=as_json)
    if found:
        raise typer.Exit(DIFFERENT)
    finish(summary, as_json=as_json)


def unpack_demo(runs_dir: Path, name: str | None = None) -> Path:
    """Return the run directory of a demo in `runs_dir`, made on first use; the core's own when no name is given.

    Raises:
        UsageError: when no installed plugin offers the name.
    """
    with zipfile.ZipFile(DEMO if name is None else _offered(name)) as archive:
        run_dir = runs_dir / archive.namelist()[0].partition("/")[0]
        if not is_run(run_dir):
            archive.extractall(runs_dir)
    return run_dir


def _offered(name: str) -> Path:
    """Return the archive of a plugin's demo."""
    points = entry_points(group=DEMOS)
    if name not in points.names:
        raise UsageError(
            f"No installed plugin offers the demo `{name}`.{did_you_mean(name, points.names)}",
            hint=f"offered: {', '.join(sorted(points.names)) or 'none; pip install tracebench-hfqa'}",
        )
    return Path(str(files(points[name].value))) / f"{name}.zip"


def _named(name: str | None, runs_dir: str | None) -> Path:
    if name is None:
        raise UsageError("Name a recorded run.", hint="trace-bench replay --demo")
    return find_run(name, runs_dir=runs_dir)


def _tell(found: list[Difference], *, recorded: Path, replayed: Path, as_json: bool) -> None:
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
        output.document("replay", recorded=str(recorded), replayed=str(replayed), differences=rows)
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
