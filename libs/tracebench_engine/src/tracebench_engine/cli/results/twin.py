"""`verify --twin`: whether a library's own program visits what the job visited whose trainer is built on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tracebench_core.errors import NotApplicableError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_job, find_run

if TYPE_CHECKING:
    from pathlib import Path

    from tracebench_engine.api.rundirs.twins import Again, Beside

EXITS = {"differs": 1, "unproven": 3}
COLUMNS = ("trainer", "task", "seed", "library", "candidates", "verdict", "evaluations", "prompts",
           "seconds", "twin's", "processor s", "twin's own")  # fmt: skip


def verify_twins(name: str, *, runs_dir: str | None, overhead: bool, as_json: bool) -> None:
    """Verify one job's twin, or those of all jobs of a run that have one; exit with 1 where one differs, else 3 where one is unproven."""
    from tracebench_engine.api.rundirs.twins import repeat_job, verify_twin

    run_dir, jobs = _named(name, runs_dir)
    found: list[tuple[Beside, Again | None]] = []
    for job_id in jobs:
        beside = verify_twin(run_dir, job_id)
        found.append((beside, repeat_job(run_dir, job_id) if overhead else None))
    if as_json:
        rows = [beside._asdict() | {"replayed": again and again._asdict()} for beside, again in found]
        output.document("twins", run_dir=str(run_dir), jobs=rows)
    else:
        output.table(COLUMNS, [_row(beside, again) for beside, again in found])
        for beside, _ in found:
            output.note(output.safe(f"{beside.trainer}, seed {beside.seed}: {beside.words}."))
    verdicts = {beside.verdict for beside, _ in found}
    if code := next((code for verdict, code in EXITS.items() if verdict in verdicts), 0):
        raise typer.Exit(code)


def _named(name: str, runs_dir: str | None) -> tuple[Path, list[str]]:
    from tracebench_engine.api.rundirs.twins import jobs_with_twins

    job = find_job(name, runs_dir=runs_dir)
    if job is not None:
        return job.parent.parent, [job.name]
    run_dir = find_run(name, runs_dir=runs_dir)
    jobs = [job.job_id for job in jobs_with_twins(run_dir)]
    if not jobs:
        raise NotApplicableError(f"No trainer of `{run_dir.name}` declares a twin.", hint="trace-bench list-trainers")
    return run_dir, jobs


def _row(beside: Beside, again: Again | None) -> tuple[str, ...]:
    return (
        beside.trainer,
        beside.task,
        str(beside.seed),
        f"{beside.library} {beside.version}",
        str(beside.candidates),
        beside.verdict,
        "{} of {}".format(*beside.measured),
        "{} of {}".format(*beside.prompts),
        output.number(again.seconds) if again else "",
        output.number(beside.twin_seconds),
        output.number(again.cpu_seconds) if again else "",
        output.number(beside.twin_cpu_seconds),
    )
