"""A run of more jobs than a screen can show: its leaderboard as its tables have it, and how its jobs ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_engine.api.console import output
from tracebench_engine.api.records import (
    DEMONSTRATOR,
    chain_of,
    chain_words,
    holder_of,
    is_demonstration,
    read_overview,
)

if TYPE_CHECKING:
    from tracebench_engine.api.records import Run

COLUMNS = (
    "task", "rank", "trainer", "params", "score", "n", "mean", "95 %", "jobs", "failed", "timeout", "evaluations", "calls", "tokens",
    "usd", "seconds",
)  # fmt: skip
LEAST = ("params", "tokens", "usd", "calls", "seconds", "evaluations", "timeout", "score", "jobs", "failed")
"""What a narrow terminal leaves out first."""


def show_overview(run: Run) -> None:
    """Print how the run stands; whoever wants its jobs is told how to have them."""
    found = read_overview(run.layout, run.planned, trust=run.trust)
    counts = ", ".join(f"{n} {status}" for status, n in found.counts.items())
    output.note(f"{run.run_id}: {counts}")
    if is_demonstration(run):
        output.note(
            f"A demonstration: `{DEMONSTRATOR}` shows answers that the tasks ship, so that no trainer is ranked."
        )
    else:
        output.table(COLUMNS, [_row(line) for line in found.board], least=LEAST)
    output.note(f"Head:  {chain_words(chain_of(run.layout.path, trust=run.trust))}")
    output.note(f"Every job, with flags:  {output.command('show', run.layout.path, '--all')}")
    output.note(f"Who is better, at one budget:  {output.command('compare', run.layout.path)}")
    if not found.counts.get("not_run"):
        return
    if (holder := holder_of(run.layout)) is not None:
        output.note(f"Under way in process {holder}: what is not_run has not ended yet.")
    else:
        output.note(f"Continue:  {output.command('resume', run.layout.path)}")


def _row(line: dict[str, str]) -> tuple[str, ...]:
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
