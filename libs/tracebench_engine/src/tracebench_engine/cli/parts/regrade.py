"""`regrade`: what stored candidates score under the judge that is installed now."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, RunsDir
from tracebench_engine.cli.results.evaluated import is_evaluated

if TYPE_CHECKING:
    from tracebench_engine.api.records import Run
    from tracebench_engine.api.regrading import Regrade

FAILED = 1
COLUMNS = ("job", "task", "trainer", "seed", "validation was", "is", "test was", "is now", "told")


def regrade(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="ID", help="Only jobs of this task; may be given again.")
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Score a run's candidates again by the judge of today. Exits 1 when one cannot be scored.

    Scores are added, none is changed. `compare` and `report` then take those of one judge for all jobs of a task, and say which.
    """
    from tracebench_engine.api.records import load_run
    from tracebench_engine.api.regrading import regrade as score_again
    from tracebench_engine.api.regrading import to_regrade

    path = find_run(name, runs_dir=runs_dir)
    run = load_run(path)
    total = len(to_regrade(run, task or ()))
    done: list[Regrade] = []
    with closing(score_again(path, tasks=task or ())) as again:  # type: ignore[type-var]  # a generator
        try:
            for found in again:
                done.append(found)
                output.note(f"[{len(done)}/{total}] {_told(run, found)}")
        except KeyboardInterrupt:
            output.note(f"{len(done)} of {total} jobs are scored again, and kept; the same command scores all of them.")
            raise
    failed = [found for found in done if not found.scored]
    if as_json:
        output.document("regrade", run_id=run.run_id, jobs=[found.model_dump(mode="json") for found in done])
    else:
        output.table(COLUMNS, [_row(run, found) for found in done], least=("trainer", "seed"))
        judges = {(found.judge.version, found.judge.digest) for found in done}
        for version, digest in sorted(judges):
            output.note(f"Judge: {output.safe(version)}, {digest}")
    if failed:
        output.note(f"{len(failed)} of {len(done)} jobs could not be scored again; their scores stay as they were.")
        raise typer.Exit(FAILED)
    if is_evaluated(run):
        output.note(
            "`compare` reads each row as it was measured, and none of these means: only `evaluate` measures rows."
        )
        return
    output.note(f"Next:  {output.command('compare', path)}")


def _told(run: Run, found: Regrade) -> str:
    """Return a job that was scored again in a line."""
    job = run.job(found.job_id)
    return f"{found.task_id} x {job.called} seed={job.seed}: {found.error or 'scored again'}"


def _row(run: Run, found: Regrade) -> tuple[str, ...]:
    from tracebench_engine.api.regrading import regraded

    job, before = run.job(found.job_id), run.results[found.job_id]
    now = regraded(before, found)
    told = found.error or "; ".join(found.flags.values())
    scores = (before.score_val_best, now.score_val_best, before.score_test, now.score_test)
    shown = (
        [output.number(score) for score in scores]
        if found.scored
        else [output.number(scores[0]), "-", output.number(scores[2]), "-"]
    )
    return (found.job_id, found.task_id, job.called, str(job.seed), *shown, told)
