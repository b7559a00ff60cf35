"""`verify`: whether a report tells what its runs hold, a run is the one whose head somebody kept, and a trainer is the library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tracebench_core.errors import MissingRequirementError, NotApplicableError, TraceBenchError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_job, find_run
from tracebench_engine.api.console.options import AsJson, RunsDir
from tracebench_engine.cli.results.report import compared, load_runs

if TYPE_CHECKING:
    from tracebench_engine.api.rundirs.twins import Again, Beside

EXITS = {"match": 0, "whole": 0, "differs": 1, "lost": 1, "not chained": 3}
_HEAD = re.compile(r"[0-9a-f]{16,64}")


def verify(
    name: Annotated[
        str, typer.Argument(metavar="REPORT|RUN|JOB", help="A report as HTML, a run, or with `--twin` a job.")
    ],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN…]", help="For a report: its runs, as directories or ids.")
    ] = None,
    *,
    head: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="For a run: the head that `run` or `show` printed, or its first 16 digits."),
    ] = None,
    twin: Annotated[
        bool,
        typer.Option(
            "--twin",
            help="For a recorded job, or for those of a run: run the library's own program, without Trace-Bench, on the recorded replies, "
            "and say whether it visits the same candidates.",
        ),
    ] = False,
    overhead: Annotated[bool, typer.Option(help="With `--twin`: replay the job, too, and show what both take.")] = True,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Check a report, a run or a trainer, offline.

    Does a report agree with its runs? Is a run what it was when its head was printed? Does a trainer do what its library does by itself?
    """
    if twin:
        if names or head is not None:
            raise UsageError("`--twin` takes one job, or one run.", hint=output.command("verify", "--twin", name))
        verify_twins(name, runs_dir=runs_dir, overhead=overhead, as_json=as_json)
        return
    if names:
        if head is not None:
            raise UsageError("`--head` is of one run, not of a report.", hint="trace-bench verify RUN --head HEX")
        _verify_report(Path(name), names, runs_dir=runs_dir, as_json=as_json)
        return
    if Path(name).is_file():
        raise UsageError("A report is verified with its runs.", hint=output.command("verify", name, "RUN"))
    _verify_run(find_run(name, runs_dir=runs_dir), head=head, as_json=as_json)


def _verify_run(run_dir: Path, *, head: str | None, as_json: bool) -> None:
    from tracebench_engine.api.records import findings_told, verify_run

    head = head.strip().lower() if head is not None else None
    if head is not None and _HEAD.fullmatch(head) is None:
        raise UsageError(
            f"`{head[:80]}` is no head: it has 64 hexadecimal digits, of which the first 16 will do.",
            hint=f"{output.command('show', run_dir)} prints the present one",
        )
    found = verify_run(run_dir, head=head)
    if as_json:
        output.document(
            "run-verification",
            run_dir=str(run_dir),
            verdict=found.verdict,
            words=found.words,
            head=found.head or None,
            findings=findings_told(found.findings),
        )
    else:
        output.line(output.safe(f"{found.verdict}: {found.words}."))
        for line in findings_told(found.findings):
            output.line(output.safe(line))
        if found.findings or found.verdict == "lost":
            output.note(f"More:  {output.command('fsck', run_dir)}")
    if EXITS[found.verdict]:
        raise typer.Exit(EXITS[found.verdict])


def _verify_report(file: Path, names: list[str], *, runs_dir: str | None, as_json: bool) -> None:
    from tracebench_engine.api.judging.reports import (
        DATA,
        FIRST_METHOD,
        MAIN,
        METHOD,
        check_charts,
        differing_parts,
        render_main,
        report_data,
    )

    try:
        text = file.read_text(encoding="utf-8")
        found = DATA.search(text)
        told = json.loads(found[1]) if found else None
        asked = {"margin": None} | told["options"] if told else {}
        options = {name: asked[name] for name in ("baseline", "axis", "at", "policy", "margin")} if told else None
    except (OSError, ValueError, TypeError, KeyError) as err:
        raise UsageError(
            f"`{file}` cannot be read as a report: {err}.", hint="trace-bench report RUN -o report.html"
        ) from err
    if told is None or options is None:
        raise UsageError(
            f"`{file}` is no report: it holds no comparison.", hint="trace-bench report RUN -o report.html"
        )
    runs = load_runs(names, runs_dir)
    recomputed = compared(runs, options)
    expected = json.loads(json.dumps(report_data(recomputed, options=options)))
    if told.get("method", FIRST_METHOD) != METHOD:
        _verify_scores(file, told, expected["comparison"], names, as_json=as_json)
    differing = differing_parts(told.get("comparison"), expected["comparison"])
    main = MAIN.search(text)
    if main is None or main[0] != render_main(runs, recomputed):
        differing.append("the tables as shown")
    try:
        drawn, unchecked = check_charts(text, runs, recomputed)
        differing += [f"chart `{name}`" for name in drawn]
    except MissingRequirementError:
        unchecked = ["all, for `altair` is not installed"]
    if as_json:
        output.document("verification", agrees=not differing, differing=differing, charts_not_checked=unchecked)
    elif not differing:
        told_of = "tables and charts" if not unchecked else "tables"
        output.line(f"{file}: its {told_of} agree with {', '.join(r.run_id for r in runs)}.")
        if unchecked:
            output.line(f"Charts not checked: {', '.join(unchecked)}.")
    if differing:
        raise TraceBenchError(f"`{file}` does not agree with the runs in: {', '.join(differing)}.")


def _verify_scores(
    file: Path, told: dict[str, Any], expected: dict[str, Any], names: list[str], *, as_json: bool
) -> NoReturn:
    """Say of a report that compares in another way than this version whether its scores are the runs', and that no more can be said."""
    from tracebench_engine.api.judging.reports import FIRST_METHOD, METHOD, differing_scores

    method, before = told.get("method", FIRST_METHOD), told.get("comparison")
    differing = differing_scores(before, expected)
    gained = sorted({*expected} - {*before}) if isinstance(before, dict) else []
    if as_json:
        output.document(
            "verification", agrees=False, differing=differing, charts_not_checked=["all"], method=method, fields_gained=gained
        )  # fmt: skip
    if differing:
        raise TraceBenchError(f"`{file}` does not agree with the runs in: {', '.join(differing)}.")
    which = "a later" if isinstance(method, int) and method > METHOD else "an earlier"
    more = f" Since then a comparison has gained {', '.join(f'`{name}`' for name in gained)}." if gained else ""
    raise TraceBenchError(
        f"`{file}` was made by {which} version, which compared in another way. Its scores are those of the runs; its verdict, intervals "
        f"and tables as shown cannot be made again by this version.{more}",
        hint=f"a report of today's: {output.command('report', *names)} -o report.html",
    )


TWIN_EXITS = {"differs": 1, "unproven": 3}
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
    if code := next((code for verdict, code in TWIN_EXITS.items() if verdict in verdicts), 0):
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
