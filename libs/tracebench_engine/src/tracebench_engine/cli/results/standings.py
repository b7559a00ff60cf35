"""The leaderboard as `compare` and `show` print it: intervals, both denominators, and use on every axis."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracebench_core.errors import quoted
from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from tracebench_engine.api.judging.comparing import Comparison, Interval, Summary
    from tracebench_engine.api.records import Run

SPARK = 32
"""Characters of a small curve."""

COLUMNS = (
    "trainer", "score", "95 %", "IQM", "IQM 95 %", "n", "failed", "gap", "rank", "evaluations", "calls", "tokens", "usd", "seconds",
    "proposals", "content", "form",
)  # fmt: skip
LEAST = ("proposals", "tokens", "calls", "IQM 95 %", "IQM", "seconds", "evaluations", "gap", "rank", "usd", "failed")
"""What a narrow terminal leaves out first."""


def summary_table(found: Comparison, *, columns: Sequence[str] | None = None) -> None:
    """Print the entrants over all tasks, best first: scores with the initial candidate at 0, use as the mean of a job."""
    told = COLUMNS if any(summary.content for summary in found.summaries) else COLUMNS[:-2]
    rows = [_row(summary)[: len(told)] for summary in found.summaries]
    output.table(told, rows, columns=columns, least=LEAST)


def verdict_lines(found: Comparison, run: Run) -> Iterator[str]:
    """Yield the verdict in a sentence, and what would settle what is open; nothing where there is nobody to compare with."""
    from tracebench_engine.api.judging.comparing import hints, remarks, verdict_sentence, what_next

    if len(found.outcomes.entrants) > 1 or not found.summaries[0].standing.measured:
        yield verdict_sentence(found)
        yield from remarks(found)
        yield from filter(None, [what_next(found, [run])])
        yield from hints(found, [run])


def leaderboard(run: Run, *, columns: Sequence[str] | None = None) -> None:
    """Print a run's leaderboard and, on a terminal, a small curve per trainer; nothing for a run without an ended job."""
    from tracebench_engine.api.installed.hosting import find_aggregate
    from tracebench_engine.api.judging.comparing import ENDED, compare_runs
    from tracebench_engine.api.records import DEMONSTRATOR, is_demonstration

    if not any(result.status in ENDED for result in run.briefs.values()):
        return
    if is_demonstration(run):
        output.note(
            f"A demonstration: `{DEMONSTRATOR}` shows answers that the tasks ship, so that no trainer is ranked."
        )
        return
    found = compare_runs([run], find=find_aggregate)
    for sentence in verdict_lines(found, run):
        output.prose(sentence.replace("`--at", f"`trace-bench compare {quoted(run.layout.path)} --at"))
    summary_table(found, columns=columns)
    if sys.stdout.isatty():
        _curves([run], found)
    output.line("")
    for sentence in [*_evaluations(run), *_flags(run), *_overshoot(run), *self_reported([run])]:
        output.prose(sentence)


def _evaluations(run: Run) -> Iterator[str]:
    """Yield how each trainer's evaluations came out where not all are `ok`, and what code of a task raised under them."""
    statuses: dict[str, Counter[str]] = defaultdict(Counter)
    places: dict[str, Counter[str]] = defaultdict(Counter)
    for result in run.briefs.values():
        statuses[result.trainer_id].update(result.evaluations_by_status)
        for place in result.exceptions:
            places[result.task_id][f"{place.type} (line {place.line} of {place.file})"] += place.count
    for trainer, counts in statuses.items():
        if set(counts) - {"ok"}:
            yield f"Evaluations by {trainer}: {', '.join(f'{n} {status}' for status, n in counts.most_common())}."
    for task, found in places.items():
        total = sum(sum(r.evaluations_by_status.values()) for r in run.briefs.values() if r.task_id == task)
        raised = "; ".join(f"{n} raised {what}" for what, n in found.most_common(3))
        yield f"Exceptions in the code of {task}: of {total} evaluations {raised}."


def self_reported(runs: Sequence[Run]) -> list[str]:
    """Return, for each task, which of its figures nothing but the candidate's own word stands for."""
    told = {r.task_id: r.self_reported for run in runs for r in run.briefs.values() if r.self_reported}
    return [f"self-reported by the candidates of `{task}`: {', '.join(names)}" for task, names in told.items()]


def _flags(run: Run) -> list[str]:
    """Return how many jobs carry each flag, with one of the reasons."""
    jobs = Counter(name for result in run.briefs.values() for name in result.flags)
    reasons = {name: reason for result in run.briefs.values() for name, reason in result.flags.items()}
    return [f"{n} {'job is' if n == 1 else 'jobs are'} flagged {name}: {reasons[name]}" for name, n in jobs.items()]


def _overshoot(run: Run) -> list[str]:
    """Return how far the run went past its own caps."""
    from tracebench_engine.api.records import read_whole

    try:
        over = json.loads(read_whole(run.layout.summary)).get("overshoot") or {}
    except (OSError, ValueError):
        return []
    return [f"the run went {amount:.6g} {axis} past its budget" for axis, amount in over.items()]


def _curves(runs: Sequence[Run], found: Comparison) -> None:
    from tracebench_engine.api.judging.curves import Tracks, band, grid, sparkline

    tracks = Tracks(runs, found.outcomes)
    most, gains = tracks.scale("evaluations")
    positions = grid((), points=SPARK, most=most)
    width = max((len(s.standing.entrant) for s in found.summaries), default=0)
    output.line("")
    words = f"best so far over {positions[-1]:g} evaluations, gain over the initial candidate, as trainers measured it:"
    output.prose(words, is_data=True)
    for summary in found.summaries:
        points = band(tracks.scaled(summary.standing.entrant, "evaluations", gains), positions)
        line = sparkline([point.interval.estimate for point in points]).rjust(SPARK)
        output.line(output.safe(f"{summary.standing.entrant.ljust(width)}  {line}"))


def interval_text(interval: Interval | None) -> tuple[str, str]:
    """Return an estimate and its interval; a dash for what is not known."""
    if interval is None:
        return "-", "-"
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3g}", "-"
    return f"{interval.estimate:.3g}", f"{interval.low:.3g} to {interval.high:.3g}"


def probability_text(probability: float | None) -> str:
    """Return a probability with the digits that matter."""
    if probability is None:
        return "-"
    return "<0.001" if probability < 0.001 else f"{probability:.3f}"  # noqa: PLR2004 - what three digits show


def _row(summary: Summary) -> tuple[str, ...]:
    standing, use = summary.standing, summary.use
    score, interval = interval_text(standing.interval)
    return (
        standing.entrant,
        score,
        interval,
        *interval_text(summary.iqm),
        summary.n,
        str(summary.failed),
        "-" if summary.gap is None else f"{summary.gap:.3g}",
        "-" if summary.rank is None else f"{summary.rank:.2f}",
        *(
            "-" if amount is None else f"{amount:.4g}"
            for amount in (use.evaluations, use.llm_calls, use.tokens, use.usd)
        ),
        "-" if use.seconds is None else f"{use.seconds:.2f}",
        f"{summary.proposals.usable}/{summary.proposals.asked}" if summary.proposals.asked else "-",
        interval_text(summary.content)[0],
        interval_text(summary.form)[0],
    )
