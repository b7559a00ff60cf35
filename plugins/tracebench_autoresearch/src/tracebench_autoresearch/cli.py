"""`trace-bench autoresearch`: a job's experiments as a table, as diffs, and as commits."""

from __future__ import annotations

import difflib
import json
import math
import os
from pathlib import Path
from typing import Annotated

import typer

from tracebench_autoresearch import catalog
from tracebench_autoresearch.history.commits import Exporter
from tracebench_autoresearch.history.drawing import render
from tracebench_autoresearch.history.progress import progress
from tracebench_autoresearch.history.reading import History, find_candidate, read_history
from tracebench_autoresearch.history.table import COLUMNS, records, rows
from tracebench_autoresearch.starting.finding import Direction
from tracebench_autoresearch.starting.writing import Wanted, choose_folder, try_repository, write_experiment
from tracebench_autoresearch.task import ExperimentTask
from tracebench_core.errors import OutputError, UsageError, quoted
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_job, find_run, spare_runs
from tracebench_engine.api.console.options import Root, RunsDir
from tracebench_engine.api.console.writing import put, put_new
from tracebench_engine.api.records import Run, load_run

app = typer.Typer(
    help="Look at experiments on repositories, or prepare one.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str, typer.Argument(metavar="RUN|JOB", help="A run or job: its directory, or its id in `--runs-dir`.")]
Job = Annotated[
    str | None, typer.Option("--job", metavar="JOB", help="One job of the run; needed where it has several.")
]
RESULTS = ("results.tsv", "results.jsonl")


@app.command()
def init(
    where: Annotated[str, typer.Argument(metavar="PATH|URL", help="A folder, a git repository or its URL.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="The new folder.  [default: experiments/NAME]"),
    ] = None,
    command: Annotated[str, typer.Option(metavar="LINE", help="What is run.  [default: found]")] = "",
    editable: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="What may be edited; may be repeated.  [default: found]")
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="Of a printed line `NAME: number`.  [default: found]")
    ] = "",
    direction: Annotated[
        Direction | None, typer.Option(help="Which way is better.  [default: by the metric's name]")
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where its Python comes from; '' for Trace-Bench's own.  [default: found]"),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="The most that one run may take.")] = 600.0,
    repeats: Annotated[int, typer.Option(min=2, help="Measurements of the repository as it is.")] = 8,
    experiments: Annotated[int, typer.Option(min=1, help="Of how many the power is told.")] = 50,
) -> None:
    """Make an `experiment.yaml` of a repository. Finds what is run and read, measures its noise, and says which gains can be told."""
    folder = choose_folder(where, out)
    wanted = Wanted(command, tuple(editable or ()), metric, direction, seconds, repeats, environment)
    started = try_repository(where, wanted, output.note)
    path = write_experiment(started, folder)
    about = started.experiment["metric"]["name"]
    spread = f"standard deviation {started.spread:.3g}; up to {started.seconds:.3g} s"
    output.line(f"{about}: {started.centre:.6g} in {repeats} runs, {spread}")
    gain = started.smallest_gain(experiments)
    if not gain:
        told = "The same files measured the same each time: any gain can be told (`accept: greedy`)"
    elif math.isinf(gain):
        told = f"{experiments} experiments tell no gain by the default settings: try fewer, or a greater `max_repeats`"
    else:
        told = f"{experiments} experiments tell gains from {gain:.3g} on: four in five of them are kept"
    output.line(told)
    output.line(str(path))
    output.note(f"`{about}` is the program's own word; to keep it out of its reach, see docs/how-to/autoresearch.md")
    output.note(f"Look at it:  {output.command('list-tasks', '--bench', 'autoresearch', '--root', folder.parent)}")


@app.command()
def history(
    name: Name,
    *,
    job: Job = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="As in `results.tsv`.")] = False,
    tsv: Annotated[bool, typer.Option("--tsv", help="Print `results.tsv`, tab-separated and oldest first.")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line, oldest first.")] = False,
    runs_dir: RunsDir = None,
) -> None:
    """Show what was tried, newest first. With the metric, how often it was measured, and what became of it."""
    run, job_id = _open(name, job, runs_dir)
    found = read_history(run, job_id)
    if as_jsonl:
        for record in records(found, {}):
            output.line(json.dumps(record))
        return
    listed = list(rows(found, {}))
    if not (tsv or oldest_first):
        listed.reverse()
    mark = " (self-reported)" if found.self_reported and not tsv else ""
    columns = ("candidate", f"{found.metric}{mark}", *COLUMNS[2:])
    if tsv:
        for row in (columns, *listed):
            output.line("\t".join(map(output.flat, row)))
        return
    output.table(columns, listed)
    _note(found)


@app.command()
def diff(
    name: Name,
    *,
    candidate: Annotated[
        str | None, typer.Option(metavar="ID", help="A candidate, as `history` names it.  [default: the best]")
    ] = None,
    job: Job = None,
    runs_dir: RunsDir = None,
) -> None:
    """Print what an experiment changed. The best against the initial files, or a candidate against what it was made from."""
    run, job_id = _open(name, job, runs_dir)
    found = _measured(run, job_id)
    if candidate is None:
        old, new = "c0", found.best
    else:
        known = {one.candidate: one for one in found.experiments}
        if candidate not in known:
            raise UsageError(
                f"Job `{job_id}` has no candidate `{candidate}`.", hint=output.command("autoresearch", "history", name)
            )
        old, new = (known[candidate].parents or ("c0",))[0], candidate
    before, after = _files(run, job_id, old), _files(run, job_id, new)
    for path in sorted({*before, *after}):
        lines = (before.get(path, "").splitlines(), after.get(path, "").splitlines())
        for line in difflib.unified_diff(*lines, f"a/{path}", f"b/{path}", lineterm=""):
            output.line(output.safe(line))


@app.command()
def plot(
    name: Name,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Its ending says what: .svg, .png, .html, .json (Vega-Lite)."
        ),
    ] = Path("progress.svg"),
    job: Job = None,
    runs_dir: RunsDir = None,
) -> None:
    """Draw the metric of every experiment. With the best so far, labelled by the changes that were kept."""
    spare_runs(out)
    run, job_id = _open(name, job, runs_dir)
    content = render(progress(read_history(run, job_id)), out.suffix)
    try:
        put(out, content)
    except OSError as err:
        raise OutputError(f"`{out}` cannot be written: {err.strerror}.", hint="--output progress.svg") from err
    output.line(str(out))


@app.command()
def best(name: Name, *, job: Job = None, runs_dir: RunsDir = None) -> None:
    """Show the best, and the changes that led to it. With its measurements beside the baseline."""
    run, job_id = _open(name, job, runs_dir)
    found = _measured(run, job_id)
    by_id = {one.candidate: one for one in found.experiments}
    start, end = found.experiments[0], by_id[found.best]
    output.line(f"{found.metric}: {output.number(start.value)} -> {output.number(end.value)} ({found.direction})")
    for one in found.kept:
        runs = f"{len(one.values)} run{'s' if len(one.values) != 1 else ''}"
        output.line(
            output.safe(
                f"{one.candidate}\t{output.number(one.value)}\t{runs}\t{one.description}\t{one.reason}".rstrip()
            )
        )
    if found.confirmation is not None:
        output.line(f"Measured anew: {found.confirmation.words}")
        for line in found.confirmation.lines():
            output.line(line)


@app.command()
def export(
    name: Name,
    *,
    repo: Annotated[
        Path,
        typer.Option(metavar="DIR", help="The git repository that takes the branch; its working tree stays as it is."),
    ],
    branch: Annotated[
        str | None, typer.Option(metavar="NAME", help="The new branch.  [default: autoresearch/JOB]")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write `results.tsv` and `results.jsonl` here.")
    ] = None,
    job: Job = None,
    root: Root = None,
    runs_dir: RunsDir = None,
) -> None:
    """Write a job as commits on a new branch. One for each kept change, with its metric and hypothesis."""
    run, job_id = _open(name, job, runs_dir)
    found = _measured(run, job_id)
    if results is not None:
        _demand_free(results)
    if root is not None:
        catalog.configure({"root": root})
    experiment = catalog.find(found.task.partition(":")[2])
    if found.revision and not found.revision.startswith("sha256:"):
        experiment = experiment.model_copy(update={"revision": found.revision})
    snapshot = ExperimentTask(experiment).snapshot
    if found.revision not in {"", snapshot.revision}:
        raise UsageError("The experiment's files have changed since the run, so its commits cannot be made.")
    files = {one.candidate: _files(run, job_id, one.candidate) for one in found.experiments}
    exporter = Exporter(repo, snapshot, files, files[found.experiments[0].candidate])
    commits = exporter.export(found, branch or f"autoresearch/{job_id}")
    if results is not None:
        results.mkdir(parents=True, exist_ok=True)
        lines = ["\t".join(COLUMNS), *("\t".join(map(output.flat, row)) for row in rows(found, commits))]
        written = [json.dumps(record) for record in records(found, commits)]
        for file, texts in zip(RESULTS, (lines, written), strict=True):
            put_new(results / file, ("\n".join(texts) + "\n").encode())
    output.line(f"{branch or f'autoresearch/{job_id}'}\t{commits[found.best]}")
    output.note(f"Look at it:  git -C {quoted(repo)} log --oneline {branch or f'autoresearch/{job_id}'}")


def _demand_free(folder: Path) -> None:
    """Refuse a folder that has results already: those may be somebody's own, and `results.tsv` is what agents keep theirs in.

    Raises:
        UsageError: naming the file.
    """
    for file in RESULTS:
        if os.path.lexists(folder / file):
            raise UsageError(f"`{folder / file}` is there already.", hint=f"--results {quoted(folder / 'exported')}")


def _open(name: str, job: str | None, runs_dir: str | None) -> tuple[Run, str]:
    """Return the run, and the job that is meant."""

    place = find_job(name, runs_dir=runs_dir)
    if place is not None:
        return load_run(place.parent.parent), place.name
    run = load_run(find_run(name, runs_dir=runs_dir))
    if job is not None:
        return run, run.job(job).job_id
    jobs = [spec for spec in run.planned if spec.task_id.startswith("autoresearch:")]
    if len(jobs) == 1:
        return run, jobs[0].job_id
    if not jobs:
        raise UsageError(f"Run `{run.run_id}` has no job on a task of `autoresearch`.")
    listed = ", ".join(f"`{spec.job_id}` ({spec.task_id}, {spec.trainer_id}, seed {spec.seed})" for spec in jobs)
    raise UsageError(f"Run `{run.run_id}` has {len(jobs)} jobs: {listed}.", hint=f"--job {jobs[0].job_id}")


def _measured(run: Run, job_id: str) -> History:
    """Return a job's history, in which there is an experiment."""

    found = read_history(run, job_id)
    if not found.experiments:
        raise UsageError(f"Job `{job_id}` has measured nothing yet.")
    return found


def _files(run: Run, job_id: str, candidate: str) -> dict[str, str]:

    files = find_candidate(run, job_id, candidate).values.get("files")
    return {path: str(words) for path, words in files.items()} if isinstance(files, dict) else {}


def _note(found: History) -> None:
    counts: dict[str, int] = {}
    for one in found.experiments[1:]:
        counts[one.status] = counts.get(one.status, 0) + 1
    words = ", ".join(f"{n} {status}" for status, n in counts.items()) or "nothing tried yet"
    output.note(f"{found.job}: {found.task}, {found.trainer}: {words}")
    if found.drifts:
        output.note(
            f"What is kept did not go on measuring the same (evidence {found.drift:.3g}; 20 is much): the machine drifts. Verdicts stand: "
            "they rest on pairs in random order; means of different experiments do not compare."
        )
    if found.confirmation is not None:
        output.note(f"{found.metric}, measured anew: {found.confirmation.words}")
