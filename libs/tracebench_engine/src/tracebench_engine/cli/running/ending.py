"""How a run ends on a screen: the verdict, and one line that says what to type next; where its files are when that is asked for."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_core.errors import RunDirError, quoted
from tracebench_engine.api.console import output
from tracebench_engine.cli.results.evaluated import SCORE, is_evaluated, print_evaluated

if TYPE_CHECKING:
    from tracebench_engine.api import RunSummary
    from tracebench_engine.api.records import Run

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="At the end, say where each file of the run is.")]
INTERRUPTED = 130
FLAGS = {"evaluations": "--max-evaluations", "llm_calls": "--max-calls", "tokens": "--max-tokens", "usd": "--max-usd"}
"""What raises a cap of a run that goes on."""
SCORING = "scoring budget:"
UNFINISHED = ("failed", "timeout", "cancelled", "unscored")
FILES = {
    "Run dir": "",
    "Manifest": "meta/manifest.json",
    "Results": "results.csv",
    "Summary": "summary.json",
    "Leaderboard": "leaderboard.csv",
    "Files index": "meta/files_index.json",
}


def finish(summary: RunSummary, *, as_json: bool, verbose: bool = False) -> None:
    """Print the verdict and the command to go on with; exit with the run's code."""
    if not as_json:
        try:
            tell_end(summary, verbose=verbose)
        except KeyboardInterrupt as err:
            err.add_note(next_command(summary))
            raise
    output.note(next_command(summary))
    raise typer.Exit(summary.exit_code)


def tell_end(summary: RunSummary, *, verbose: bool = False) -> None:
    """Print how a run ended, by what it is known again wherever it is, and what it says of its trainers."""
    from tracebench_engine.api.records import SHORT_HEAD, chain_of, chain_words, load_run

    run_dir = Path(summary.run_dir)
    state = "interrupted" if summary.exit_code == INTERRUPTED else "complete"
    if summary.stopped_by.startswith("cancelled"):
        state = summary.stopped_by
    opened: Run | Path = run_dir
    with suppress(RunDirError):  # of a damaged one the verdict tells
        opened = load_run(run_dir)
    chain = chain_of(run_dir, trust=None if isinstance(opened, Path) else opened.trust)
    known_by = "not chained" if chain is None else f"head {chain.head[:SHORT_HEAD]}"
    output.line(f"Run {state}: {summary.run_id} ({known_by})")
    if verbose:
        output.line(f"Head: {chain_words(chain)}")
        for name, path in FILES.items():
            if (run_dir / path).exists():
                output.line(f"{name}: {run_dir / path}")
    _verdict(run_dir, opened)


def _verdict(run_dir: Path, run: Path | Run) -> None:
    """Print what the run says of its trainers, where there are some to compare; of one that cannot be opened, by its folder, why."""
    from tracebench_engine.api.verdicts import verdict_at_end

    with suppress(RunDirError):
        if not isinstance(run, Path) and is_evaluated(run):
            print_evaluated(run, metric=SCORE)
            return
    told = verdict_at_end(run)
    if len(told.entrants) != 1 or told.without_scores:
        for sentence in filter(None, (told.sentence, *told.remarks, told.next_step)):
            output.prose(sentence.replace("`--at", f"`trace-bench compare {quoted(run_dir)} --at"))


def _enough(summary: RunSummary, axis: str) -> str:
    """Return the cap of a run that pays for every job that is left; `N` where jobs have no cap that says what they may cost."""
    from tracebench_engine.api.records import load_run

    run = load_run(summary.run_dir)
    spent = sum(getattr(brief.used, axis) or 0 for brief in run.briefs.values())
    left = [getattr(run.job(i).budget, axis) for i, brief in run.briefs.items() if brief.status == "not_run"]
    if None in left:
        return "N"
    return f"{math.ceil((spent + sum(left)) * 1e4) / 1e4}" if axis == "usd" else str(int(spent + sum(left)))


def _unpaid_axis(summary: RunSummary) -> str:
    """Return the axis of the cap that left a job unscored; empty where none did."""
    from tracebench_engine.api.records import load_run

    reasons = (result.stop_reason for result in load_run(summary.run_dir).results.values())
    return next((reason.removeprefix(SCORING) for reason in reasons if reason.startswith(SCORING)), "")


def next_command(summary: RunSummary) -> str:
    """Return what to type next: what is left to run, else what there is to see."""
    counts = summary.counts
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "no job"
    if counts.get("not_run") and (axis := summary.stopped_by.removeprefix("run budget:")) in FLAGS:
        more = output.command("resume", summary.run_dir, FLAGS[axis], _enough(summary, axis))
        less = f"or run it anew with a smaller `budget.{axis}`, or a larger `run_budget.{axis}`"
        return f"{told}: the run's budget of {axis} does not pay for the next job. Give it more:  {more}\n  {less}"
    if counts.get("not_run"):
        return f"{told}. Continue:  {output.command('resume', summary.run_dir)}"
    if counts.get("unscored") and (axis := _unpaid_axis(summary)):
        more = output.command("resume", summary.run_dir, "--failed", FLAGS[axis].replace("max", "max-scoring"), "N")
        return f"{told}: what `scoring_budget` allows of {axis} does not pay for scoring. Give it more:  {more}"
    if any(counts.get(status) for status in UNFINISHED):
        return f"{told}. Try those again:  {output.command('resume', summary.run_dir, '--failed')}"
    if summary.exit_code == 1:
        closer = output.command("fsck", summary.run_dir)
        return f"{told}, in a run that nothing reads until its damaged journal is accepted. Look closer:  {closer}"
    return f"{told}. Look:  {output.command('show', summary.run_dir)}"
