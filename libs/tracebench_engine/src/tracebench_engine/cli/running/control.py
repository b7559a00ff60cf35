"""`ps`, `watch`, `pause`, `unpause`, `cancel`, `logs`: look at runs under way, and steer them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_core.errors import quoted
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_job, find_run
from tracebench_engine.api.console.options import AsJson, RunsDir

if TYPE_CHECKING:
    from tracebench_core.specs import WorkerState

INTERRUPTED = 130
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")]


def ps(*, runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """List the runs under way. All of yours on this machine, and those in `--runs-dir`."""
    from tracebench_engine.api.rundirs.control import live_runs

    runs = live_runs(Path(runs_dir or "runs"))
    if as_json:
        output.document(
            "runs", runs=[asdict(run) | {"workers": [w.model_dump(mode="json") for w in run.workers]} for run in runs]
        )
        return
    output.table(
        ("run", "pid", "done", "running", "state", "since", "directory"),
        [
            (
                run.run_id,
                str(run.pid or "-"),
                f"{run.done}/{run.jobs}",
                str(len(run.running)),
                run.state,
                run.since or "-",
                run.run_dir,
            )
            for run in runs
        ],
    )
    if any(run.workers for run in runs):
        output.line("")
        output.table(
            ("run", "worker", "on", "running", "jobs", "heard"),
            [(run.run_id, *_worker_row(worker)) for run in runs for worker in run.workers],
        )
    if not runs:
        output.note("No run is under way.")


def _worker_row(worker: WorkerState) -> tuple[str, ...]:
    heard = f"{worker.silent:.0f} s ago" + ("" if worker.is_reached else ", out of reach")
    return worker.name, worker.host, f"{len(worker.jobs)}/{worker.slots}", " ".join(worker.jobs) or "-", heard


def watch(name: RunName, *, runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """Follow a run to its end. A live table, or a line per job where there is no terminal.

    Ctrl-C ends the watching, not the run.
    """
    from tracebench_engine.api.installed.hosting import load_ref, open_host
    from tracebench_engine.api.records import load_run
    from tracebench_engine.api.rundirs.control import follow_run, workers_of
    from tracebench_engine.cli.running.run import reporter_name

    run = load_run(find_run(name, runs_dir=runs_dir))
    for worker in workers_of(run.layout.path):
        where, _, running, _, heard = _worker_row(worker)
        output.note(f"worker {output.safe(where)} on {output.safe(worker.host)}: {running} jobs, heard {heard}")
    shown = reporter_name(as_json=as_json)
    build = load_ref(open_host().component("reporter", shown).loader, owner=shown)
    try:
        follow_run(run.layout, build(sys.stdout if as_json else sys.stderr))
    except KeyboardInterrupt:
        output.note(f"The run goes on. Look again:  trace-bench watch {quoted(run.layout.path)}")
        raise typer.Exit(INTERRUPTED) from None
    output.note(f"Look:  trace-bench show {quoted(run.layout.path)}")


def pause(name: RunName, *, runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """Start no further job of a run. Those that run go on to their end."""
    answer = _tell(find_run(name, runs_dir=runs_dir), {"do": "pause"}, as_json=as_json)
    if not as_json:
        state = "paused" if answer["changed"] else "paused already"
        output.line(f"{answer['run_id']}: {state}; {len(answer['running'])} jobs go on to their end")
        output.note(f"Go on:  trace-bench unpause {quoted(answer['run_dir'])}")


def unpause(name: RunName, *, runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """Let a paused run start jobs again."""
    answer = _tell(find_run(name, runs_dir=runs_dir), {"do": "unpause"}, as_json=as_json)
    if not as_json:
        output.line(f"{answer['run_id']}: {'goes on' if answer['changed'] else 'was not paused'}")


def cancel(
    name: Annotated[str, typer.Argument(metavar="RUN|JOB", help="A run or job under way: its directory, or its id.")],
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept with the run.")],
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a job, or a whole run as Ctrl-C would. What was found is kept, and the reason with it.

    For a running job, the command says how it ended: one that was just done stays done.
    """
    from tracebench_engine.api.rundirs.control import await_end

    run_dir, job_id = _target(name, runs_dir)
    request = {"do": "cancel", "reason": reason} | ({"job": job_id} if job_id is not None else {})
    answer = _tell(run_dir, request)
    ended = None if job_id is None else await_end(run_dir, job_id, answer)
    if as_json:
        _print_answer(answer, **({} if ended is None else {"ended": ended or None}))
    elif ended is not None:
        what = "is cancelled" if ended == "cancelled" else f"ended as `{ended}` before it could be cancelled"
        output.line(f"{answer['run_id']}: job {job_id} {what if ended else 'was asked to end, and has not ended yet'}")
        if not ended:
            output.note(f"Look:  trace-bench watch {quoted(answer['run_dir'])}")
    else:
        output.line(f"{answer['run_id']}: cancelled; {len(answer['running'])} jobs are being ended")
        output.note(f"Continue it later:  trace-bench resume {quoted(answer['run_dir'])}")


def logs(
    name: Annotated[str, typer.Argument(metavar="JOB", help="A job: its directory, or its id in `--runs-dir`.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Print what a job has printed. With `--json`, one object a line."""
    from tracebench_core.errors import UsageError
    from tracebench_engine.api.records import JobLayout, holder_of
    from tracebench_engine.api.rundirs.control import follow_lines, workers_of

    found = find_job(name, runs_dir=runs_dir)
    if found is None:
        raise UsageError(f"There is no job `{name}` in `{runs_dir or 'runs'}`.", hint="trace-bench show RUN")
    layout = JobLayout(found)
    for worker in workers_of(layout.run.path):
        if layout.job_id in worker.jobs:
            where = output.safe(f"{worker.name} on {worker.host}")
            output.note(f"It runs at worker {where}: what it prints is here when a phase of it has ended.")
    try:
        for line in follow_lines(
            layout.stdout,
            goes_on=lambda: follow and not layout.results.exists() and holder_of(layout.run) is not None,
        ):
            _print_line(line.decode(errors="replace"), as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _print_line(text: str, *, as_json: bool) -> None:
    if as_json:
        output.record("log_line", line=text)
    else:
        output.line(output.safe(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _tell(run_dir: Path, request: dict[str, Any], *, as_json: bool = False) -> dict[str, Any]:
    from tracebench_engine.api.rundirs.control import tell

    answer = tell(run_dir, request)
    if as_json:
        _print_answer(answer)
    return answer


def _print_answer(answer: dict[str, Any], **more: Any) -> None:
    output.document("control", **{k: v for k, v in answer.items() if k != "ok"}, **more)


def _target(name: str, runs_dir: str | None) -> tuple[Path, str | None]:
    """Return the run that is meant, and the job in it when one is.

    Raises:
        UsageError: when there is neither.
    """
    from tracebench_core.errors import UsageError
    from tracebench_engine.api.rundirs.control import find_live_job

    path = Path(name)
    if path.parent.name == "jobs":
        return find_run(str(path.parent.parent), runs_dir=runs_dir), path.name
    if (run_dir := find_live_job(name)) is not None:
        return run_dir, name
    if (job := find_job(name, runs_dir=runs_dir)) is not None:
        return job.parent.parent, job.name
    try:
        return find_run(name, runs_dir=runs_dir), None
    except UsageError as err:
        from tracebench_engine.api.rundirs.control import nearest_live_run

        near = nearest_live_run(name)
        if near is None:
            raise
        raise UsageError(f"There is no run `{name}`. Did you mean `{near}`?", hint="trace-bench ps") from err
