"""`trace-bench preregister`: promise jobs before the first call, and see whether runs keep the promise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tracebench_core.errors import UsageError
from tracebench_engine import api
from tracebench_engine.api.configs import load_config, placing
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, Overrides, Root, RunsDir
from tracebench_engine.api.records import load_run
from tracebench_open.checking import compare
from tracebench_open.registration import Registration, content_of, promise, read, write

MOST_TOLD = 10
"""Lines of a kind that are printed; `--json` has all."""

app = typer.Typer(
    help="Publish which jobs you will run, then check the runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Configs = Annotated[list[Path], typer.Argument(metavar="CONFIG…", help="Run configs, YAML or JSON.")]
Names = Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs, as directories or ids.")]
To = Annotated[Path, typer.Option(metavar="FILE", help="Where the registration is written.")]
Head = Annotated[str | None, typer.Option(metavar="HEX", help="The head that was published; another one is refused.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="What `commit` wrote.")]


@app.command()
def commit(configs: Configs, *, to: To, root: Root = None, override: Overrides = None) -> None:
    """Write down every job, and print the head to publish. To be done before anything is run; no model is asked."""
    made = promised_by(configs, root=root, override=override or ())
    write(made, to)
    output.line(made.head)
    output.note(
        f"{sum(len(one.seeds) for one in made.jobs)} jobs are written down in {to}. Publish the head now, the file when you like."
    )
    output.note(f"After the runs:  {output.command('preregister', 'check', to, 'RUN…')}")


def promised_by(configs: Sequence[Path], *, root: Path | None = None, override: Sequence[str] = ()) -> Registration:
    """Return the registration of all jobs that some configs mean."""
    changes = [*override]
    jobs: list[tuple[dict[str, Any], int]] = []
    plugins: set[str] = set()
    for path in configs:
        settings = load_config(path, overrides=changes)
        with placing(path, overrides=changes):
            host = api.open_host(root=root, plugins=settings.plugins)
            plan = api.plan(settings, root=root, host=host)
        jobs += [(content_of(job, source=plan.tasks[job.task_id].source), job.seed) for job in plan.jobs]
        plugins |= {host.version_of("task", name) for name in plan.tasks}
        plugins |= {host.version_of("trainer", name) for name in plan.trainers}
    return promise(configs, jobs, plugins, now=datetime.now(UTC))


@app.command()
def check(file: File, names: Names, *, head: Head = None, runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """Check that runs hold just the jobs that were promised. Each once. Exits with 1 where they do not."""
    registration = read(file)
    if head is not None and head.strip().lower() != registration.head:
        raise UsageError(
            f"`{file}` is not what was published: its head is {registration.head}.",
            hint="ask for the file that was written before the head was published",
        )
    folders = [find_run(name, runs_dir=runs_dir) for name in names]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("A run is named twice.", hint="name each once")
    kept = compare(registration, [load_run(folder) for folder in folders])
    findings = {
        "missing": kept.missing,
        "run several times": kept.repeated,
        "not promised": kept.unpromised,
        "begun too early": kept.early,
        "damaged": kept.damaged,
    }
    if as_json:
        output.document(
            "preregistration-check",
            head=registration.head,
            registered_at=registration.registered_at.isoformat(),
            kept=kept.is_whole,
            promised=kept.promised,
            statuses=dict(kept.statuses),
            findings={name: [*found] for name, found in findings.items()},
            told=[*kept.told],
        )
    else:
        ended = ", ".join(f"{n} {status}" for status, n in kept.statuses.most_common()) or "none ended"
        output.line(f"head {registration.head}, {kept.promised} jobs promised: {ended}.")
        for name, found in findings.items():
            _tell(name, found)
        for words in kept.told:
            output.note(output.safe(words))
        if kept.is_whole:
            output.line("Kept: every promised job was run, once, and no other.")
    if not kept.is_whole:
        raise typer.Exit(1)


def _tell(name: str, found: Sequence[str]) -> None:
    if not found:
        return
    output.line(f"{name}: {len(found)}")
    for words in found[:MOST_TOLD]:
        output.line(output.safe(f"  {words}"))
    if len(found) > MOST_TOLD:
        output.line(f"  and {len(found) - MOST_TOLD} more: --json")
