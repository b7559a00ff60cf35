"""`show`: a run or a job, read from its directory; no plugin and no engine needed."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_core.errors import OutputError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_job, find_to_read, spare_runs
from tracebench_engine.api.console.options import AsJson, Columns, RunsDir
from tracebench_engine.api.console.tables import chosen
from tracebench_engine.api.console.writing import put
from tracebench_engine.cli.results import standings
from tracebench_engine.cli.results.evaluated import SCORE, is_evaluated, print_evaluated

if TYPE_CHECKING:
    from tracebench_core.specs import JobResult
    from tracebench_engine.api.analysis import Shown
    from tracebench_engine.api.records import Brief, Run

COLUMNS = (
    "job", "task", "trainer", "seed", "status", "initial", "best", "test", "evaluations", "calls", "tokens", "usd", "seconds",
)  # fmt: skip
"""Of a run that is shown with every job."""
LEAST = ("tokens", "calls", "usd", "seconds", "evaluations", "initial", "test", "seed")
"""What a narrow terminal leaves out first."""


def show(
    name: Annotated[
        str, typer.Argument(metavar="RUN|JOB", help="A run or job: its directory, or its id in `--runs-dir`.")
    ],
    *,
    evaluation: Annotated[
        int | None,
        typer.Option(metavar="N", help="For a job: show its N-th evaluation, and what the suite kept of it."),
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the pictures and tables of its suite into a folder: .svg, .png, .vl.json, .csv."
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="For a run with very many jobs: compare its trainers and list every job all the same."
        ),
    ] = False,
    columns: Columns = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a run or a job. A run starts with its leaderboard; a job is shown with its steps and its best candidate."""
    from tracebench_engine.api.records import load_run

    shown = chosen(columns, standings.COLUMNS, COLUMNS)
    job = find_job(name, runs_dir=runs_dir)
    if evaluation is not None:
        from tracebench_engine.cli.results.evaluation import show_evaluation

        if job is None:
            raise UsageError("`--evaluation` is of a job, not of a run.", hint="trace-bench show JOB --evaluation N")
        show_evaluation(load_run(job.parent.parent).layout.job(job.name), evaluation, as_json=as_json)
    elif views is not None:
        run = load_run(find_to_read(name, runs_dir=runs_dir) if job is None else job.parent.parent)
        write_views(run, None if job is None else job.name, views, as_json=as_json)
    elif job is not None:
        _show_job(load_run(job.parent.parent), job, as_json=as_json)
    else:
        run = load_run(find_to_read(name, runs_dir=runs_dir))
        if every or shown is not None or as_json or not is_large(run):
            _show_run(run, columns=shown, as_json=as_json)
        else:
            show_overview(run)


def is_large(run: Run) -> bool:
    """Tell whether a run has more jobs than a screen shows."""
    from tracebench_engine.api.verdicts import LARGE

    return len(run.planned) > LARGE


def _show_run(run: Run, *, columns: Sequence[str] | None, as_json: bool) -> None:
    from tracebench_engine.api.records import chain_of, chain_words

    counts = dict(Counter(brief.status for brief in run.briefs.values()))
    chain = chain_of(run.layout.path, trust=run.trust)
    if as_json:
        from tracebench_engine.api.verdicts import verdict_at_end

        jobs = [result.model_dump(mode="json", exclude={"steps"}) for result in run.results.values()]
        folder = str(run.layout.path)
        output.document(
            "run",
            run_id=run.run_id,
            run_dir=folder,
            counts=counts,
            spent=run.spent(),
            left_out=run.left_out(),
            head=chain.head if chain is not None else None,
            chained=chain is not None,
            key_lost=bool(chain is not None and chain.lost_keys),
            verdict=verdict_at_end(run).model_dump(mode="json"),
            jobs=jobs,
        )
        return
    output.note(f"{run.run_id}: {', '.join(f'{n} {status}' for status, n in counts.items()) or 'no job'}")
    if is_evaluated(run):
        print_evaluated(run, metric=SCORE)
    else:
        standings.leaderboard(run, columns=columns)
    rows = (_row(brief, run.job(job_id).called) for job_id, brief in run.briefs.items())
    output.table(COLUMNS, rows, columns=columns, least=LEAST)
    if told := spent_text(run.spent()):
        output.prose(f"Spent: {told}")
    if told := left_out_text(run.left_out()):
        output.note(f"Left out of requests:  {output.safe(told)}")
    output.note(f"Head:  {chain_words(chain)}")
    for job_id in islice(run.briefs, 1):
        output.note(f"One of them:  {output.command('show', run.layout.job(job_id).path)}")
    if counts.get("not_run"):
        _print_how_it_goes_on(run)


def _row(result: Brief, called: str) -> tuple[str, ...]:
    used = result.used
    what = (result.job_id, result.task_id, called, str(result.seed), result.status)
    if result.status == "not_run":
        return (*what, *["-"] * (len(COLUMNS) - len(what)))
    scores = (result.score_val_initial, result.score_val_best, result.score_test)
    counts = (str(used.evaluations), str(used.llm_calls), str(used.tokens))
    return (*what, *map(output.number, scores), *counts, output.number(used.usd), output.number(result.time_seconds))


def by_status(result: JobResult) -> str:
    """Return how a job's evaluations came out, where not all of them are `ok`."""
    counts = result.evaluations_by_status
    return ", ".join(f"{n} {status}" for status, n in counts.items()) if set(counts) - {"ok"} else ""


def raised(result: JobResult) -> str:
    """Return what code of the task raised under a job's evaluations, and where."""
    total = sum(result.evaluations_by_status.values())
    return "; ".join(
        f"{place.count} of {total} evaluations raised {place.type} (line {place.line} of {place.file})"
        for place in result.exceptions
    )


def spent_text(spent: dict[str, Any] | None) -> str:
    """Return spending as a sentence: the total, then each role and model; nothing where nothing is known, or no call was made."""
    if spent is None or not spent["by"]:
        return ""
    whole = f"{_amounts(spent['total'])} over all attempts"
    parts = [f"{used['role']} {used['model']}: {_amounts(used)}" for used in spent["by"]]
    return whole + (
        f" ({'; '.join(parts)})" if len(parts) > 1 else f" ({spent['by'][0]['role']} {spent['by'][0]['model']})"
    )


def left_out_text(fields: dict[str, int]) -> str:
    """Return in words which fields of how many requests did not reach the model; nothing where all did."""
    return ", ".join(f"{name} ({count} {'call' if count == 1 else 'calls'})" for name, count in fields.items())


def _amounts(used: dict[str, Any]) -> str:
    tokens = used["prompt_tokens"] + used["completion_tokens"]
    share = f" ({used['estimated_tokens'] / tokens:.0%} estimated)" if used["estimated_tokens"] else ""
    return f"{used['llm_calls']} calls, {tokens} tokens{share}, {output.number(used['usd'])} USD"


def _show_job(run: Run, job_dir: Path, *, as_json: bool) -> None:
    spec = run.job(job_dir.name)
    result = run.results[spec.job_id]
    best = next((c for c in run.candidates_of(spec.job_id) if c.id == result.best_candidate), None)
    if as_json:
        output.document(
            "job",
            run_id=run.run_id,
            spec=spec.model_dump(mode="json"),
            result=result.model_dump(mode="json"),
            spent=run.spent(spec.job_id),
            left_out=run.left_out(spec.job_id),
            best=best.model_dump(mode="json") if best else None,
        )
        return
    facts = {
        "job": f"{result.job_id} of {run.run_id}",
        "task": result.task_id,
        "trainer": f"{result.trainer_id} {json.dumps(spec.params)}" if spec.params else result.trainer_id,
        "label": spec.label,
        "seed": str(result.seed),
        "mode": result.mode,
        "status": f"{result.status} ({result.stop_reason})",
        "validation": f"{output.number(result.score_val_initial)} -> {output.number(result.score_val_best)} (best)"
        f" -> {output.number(result.score_val_final)} (last)",
        "test": f"{output.number(result.score_test_initial)} -> {output.number(result.score_test)}",
        "used": f"{result.used.evaluations} evaluations, {result.used.llm_calls} calls, {result.used.tokens} tokens,"
        f" {output.number(result.used.usd)} USD, {result.time_seconds:.2f} s",
        "evaluated": by_status(result),
        "raised": raised(result),
        "spent": spent_text(run.spent(spec.job_id)),
        "left out": left_out_text(run.left_out(spec.job_id)),
        "calibrated": result.calibration or "",
        "by itself": f"self-reported by the candidates: {', '.join(result.self_reported)}"
        if result.self_reported
        else "",
        "feedback": result.feedback,
        "files": str(job_dir),
    }
    for name, fact in facts.items():
        if fact:
            output.line(f"{name + ':':<12}{output.safe(fact)}")
    if result.steps:
        output.line("")
        output.table(
            ("step", "score", "best", "evaluations", "seconds"),
            [
                (
                    str(s.index),
                    output.number(s.score),
                    output.number(s.best),
                    str(s.used.evaluations),
                    f"{s.seconds:.2f}",
                )
                for s in result.steps
            ],
        )
    if best is not None:
        output.line(f"\nbest candidate {best.id}{f', by {best.origin}' if best.origin else ''}:")
        for parameter, value in best.values.items():
            output.line(output.safe(f"{parameter} = {value if isinstance(value, str) else json.dumps(value)}"))


OF_OVERVIEW = (
    "task", "rank", "trainer", "params", "score", "n", "mean", "95 %", "jobs", "failed", "timeout", "evaluations", "calls", "tokens",
    "usd", "seconds",
)  # fmt: skip
LEAST_OF_OVERVIEW = ("params", "tokens", "usd", "calls", "seconds", "evaluations", "timeout", "score", "jobs", "failed")


def show_overview(run: Run) -> None:
    """Print how the run stands; whoever wants its jobs is told how to have them."""
    from tracebench_engine.api.records import DEMONSTRATOR, chain_of, chain_words, is_demonstration, read_overview

    found = read_overview(run.layout, run.planned, trust=run.trust)
    counts = ", ".join(f"{n} {status}" for status, n in found.counts.items())
    output.note(f"{run.run_id}: {counts}")
    if is_demonstration(run):
        output.note(
            f"A demonstration: `{DEMONSTRATOR}` shows answers that the tasks ship, so that no trainer is ranked."
        )
    else:
        output.table(OF_OVERVIEW, [_line_row(line) for line in found.board], least=LEAST_OF_OVERVIEW)
    output.note(f"Head:  {chain_words(chain_of(run.layout.path, trust=run.trust))}")
    output.note(f"Every job, with flags:  {output.command('show', run.layout.path, '--all')}")
    output.note(f"Who is better, at one budget:  {output.command('compare', run.layout.path)}")
    if found.counts.get("not_run"):
        _print_how_it_goes_on(run)


def _print_how_it_goes_on(run: Run) -> None:
    from tracebench_engine.api.records import holder_of

    if (holder := holder_of(run.layout)) is not None:
        output.note(f"Under way in process {holder}: what is not_run has not ended yet.")
    else:
        output.note(f"Continue:  {output.command('resume', run.layout.path)}")


def _line_row(line: dict[str, str]) -> tuple[str, ...]:
    interval = f"{_number(line['ci95_low'])} to {_number(line['ci95_high'])}" if line["ci95_low"] else "-"
    params = line["params"] if line["params"] != "{}" else "-"
    what = (
        line["task_id"],
        line["rank"] or "-",
        line.get("label") or line["trainer_id"],
        params,
        line["score"],
        line["n"],
    )
    axes = ("evaluations", "llm_calls", "tokens", "usd", "seconds")
    used = [_number(line[f"used_{axis}"]) for axis in axes]
    return (*what, _number(line["mean"]), interval, line["jobs"], line["failed"], line["timeout"], *used)


def _number(text: str) -> str:
    return output.number(float(text)) if text else "-"


KINDS = ("columns", "chart", "picture")


def write_views(run: Run, job_id: str | None, folder: Path, *, as_json: bool) -> None:
    """Write a file for every view that has something to show, and print what was written.

    Raises:
        UsageError: when no plugin draws anything of it.
        OutputError: when a file cannot be written.
    """
    from tracebench_engine import api
    from tracebench_engine.api.analysis import build_views

    shown = [*build_views(api.open_host().catalog(), run, job_id, kinds=KINDS)]
    if not shown:
        what = f"job `{job_id}`" if job_id else f"run `{run.run_id}`"
        raise UsageError(f"No plugin draws anything of {what}.", hint="trace-bench plugins")
    rows: list[dict[str, Any]] = []
    written: set[Path] = set()
    for view in shown:
        path, problem = None, view.problem
        try:
            path = None if problem else _write(view, folder, written)
        except (TypeError, ValueError) as err:
            problem = f"`{view.name}` is no JSON: {err}"
        rows.append({"view": view.name, "title": view.title, "file": str(path) if path else None, "problem": problem})
    if as_json:
        output.document("views", run_id=run.run_id, job_id=job_id, views=rows)
        return
    output.table(("view", "file"), [(row["view"], row["file"] or row["problem"]) for row in rows])


def _write(view: Shown, folder: Path, written: set[Path]) -> Path:
    """Write the file of a view, under a number where another view's has its name, and add it to those that are written."""
    ending, content = _file(view)
    name = view.name.replace("/", "-")
    path, number = folder / f"{name}{ending}", 1
    while path in written:
        number += 1
        path = folder / f"{name}-{number}{ending}"
    written.add(path)
    spare_runs(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        put(path, content)
    except OSError as err:
        raise OutputError(
            f"`{path}` cannot be written: {err.strerror}.", hint="trace-bench show JOB --views DIR"
        ) from err
    return path


def _file(view: Shown) -> tuple[str, bytes]:
    if view.kind == "picture":
        return (".png", view.content) if isinstance(view.content, bytes) else (".svg", view.content.encode())
    if view.kind == "chart":
        return ".vl.json", json.dumps(view.content, indent=1, allow_nan=False).encode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(view.content)
    writer.writerows(zip_longest(*view.content.values()))
    return ".csv", text.getvalue().encode()
