"""Measure one candidate: guards, run, evaluation, metrics; and say how it ended in words that an optimizer can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tracebench_autoresearch.evaluation.box import Ran, run_in_box
from tracebench_autoresearch.evaluation.extraction import NoMetric, read_metric
from tracebench_autoresearch.evaluation.graphics import taken
from tracebench_autoresearch.evaluation.outside import run_outside
from tracebench_autoresearch.evaluation.racing import is_settled, speedup
from tracebench_autoresearch.experiment import OUTSIDE, Command, Metric, SystemExperiment
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_core.contracts import Context, NotMeasured
from tracebench_core.specs import Feedback, FeedbackStatus

Outcome = Literal["measured", "crashed", "timed out", "no metric", "guard failed", "refused"]
STATUS: dict[Outcome, FeedbackStatus] = {
    "measured": "ok",
    "crashed": "error",
    "timed out": "timeout",
    "no metric": "invalid",
    "guard failed": "invalid",
    "refused": "invalid",
}
TAIL_LINES, TAIL_CHARS = 30, 3000
SEEDS = 1 << 31
"""Seeds that every language takes are below this: awk makes one and the same of all larger ones, numpy refuses them."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """How one experiment ended, and what it measured."""

    outcome: Outcome
    words: str
    metrics: dict[str, float] = field(default_factory=dict)
    """In the metrics' own units; those that were found."""
    seconds: float = 0.0
    """Of the run."""
    tail: str = ""
    """The last lines that it printed."""

    def feedback(self, metric: Metric) -> Feedback:
        """Return the score, higher is better, with the words and the last lines."""
        ok = self.outcome == "measured"
        words = f"{self.outcome}: {self.words}"
        if self.tail:
            words += f"\nLast lines of the output:\n{self.tail}"
        score = metric.sign * self.metrics[metric.name] if ok else 0.0
        return Feedback(score=score, text=words, metrics=self.metrics, status=STATUS[self.outcome])


class _Ended(Exception):  # noqa: N818 - ends a measurement early
    def __init__(self, measurement: Measurement) -> None:
        super().__init__(measurement.words)
        self.measurement = measurement


def measure(
    experiment: SystemExperiment,
    files: Snapshot,
    context: Context,
    *,
    seed: int,
    initial: Snapshot,
    baseline: Mapping[str, float],
    python: Path | None = None,
) -> Measurement:
    """Run an experiment on a candidate's files, each command in a box of its own: what one of them changes, the next never sees.

    `initial` holds the initial files, with which a speed-up compares. `baseline` holds their metrics, for guards that compare with them;
    one that is not there binds nobody.

    Raises:
        NotMeasured: when the initial files, with which a speed-up compares, do not run.
    """
    running = _Running(experiment, files, context, seed, python)
    try:
        for guard in experiment.guards:
            running.run(guard, name="guard")
        ran = running.run(experiment.run, name="run")
        seconds = ran.seconds
        counted = _counted(running, ran, initial)
        if experiment.evaluate is not None:
            if missing := [name for name in experiment.run.outputs if name not in ran.outputs]:
                words = f"`run` left no plain file `{missing[0]}`, which `evaluate` is given"
                return Measurement("no metric", words, seconds=seconds, tail=last_lines(ran))
            ran = running.run(experiment.evaluate, name="evaluate", given=ran.outputs)
    except _Ended as err:
        return err.measurement
    return _judge(experiment, ran, seconds, baseline, counted)


def _counted(running: _Running, ran: Ran, initial: Snapshot) -> Mapping[str, float]:
    """Return the metrics that are counted outside of the box in which `run` has just been."""
    wanted = {metric.kind: metric.name for metric in running.experiment.all_metrics if metric.kind in OUTSIDE}
    found: dict[str, float] = {}
    if "cpu_seconds" in wanted and ran.cpu_seconds is not None:
        found[wanted["cpu_seconds"]] = ran.cpu_seconds
    if "speedup" in wanted and (ratio := _race(running, ran, initial)) is not None:
        found[wanted["speedup"]] = ratio
    return found


def _race(running: _Running, first: Ran, initial: Snapshot) -> float | None:
    """Return how many times the processor time of the candidate's box that of the initial files takes, from runs by turns.

    Each run has a box of its own, beyond which no signal reaches, and what it starts and leaves running counts as its own. Who comes first
    changes from round to round.
    """
    rival, command = replace(running, files=initial), running.experiment.run

    def theirs() -> Ran:
        try:
            return rival.run(command, name="run of the initial files")
        except _Ended as err:
            raise NotMeasured(f"The initial files, with which a speed-up compares, do not run: {err}") from err

    def mine() -> Ran:
        return first if not seconds[0] else running.run(command, name="run")

    seconds: tuple[list[float], list[float]] = [], []
    while not is_settled(seconds[1]):
        if len(seconds[0]) % 2:
            their_run, my_run = theirs(), mine()
        else:
            my_run, their_run = mine(), theirs()
        if differing := [name for name, data in their_run.outputs.items() if my_run.outputs.get(name) != data]:
            words = f"`{differing[0]}` is not what the initial files write"
            raise _Ended(Measurement("guard failed", words, tail=last_lines(my_run)))
        if not my_run.cpu_seconds or not their_run.cpu_seconds:
            return None
        seconds[0].append(my_run.cpu_seconds)
        seconds[1].append(their_run.cpu_seconds)
    return speedup(*seconds)


@dataclass(frozen=True, slots=True)
class _Running:
    """One candidate under measurement."""

    experiment: SystemExperiment
    files: Snapshot
    context: Context
    seed: int
    python: Path | None

    def run(self, command: Command, *, name: str, given: Mapping[str, bytes] | None = None) -> Ran:
        """Run one of its commands; raises _Ended when it fails."""
        context = self.context
        context.check()
        line = " ".join(command.command)
        context.activity(f"{name}: {line}")
        stdin = self.files.texts.get(command.stdin, "") if command.stdin else ""
        files = self.files.without(self.experiment.hidden).with_files(
            {path: Entry("100644", data) for path, data in (given or {}).items()}
        )
        how: dict[str, Any] = {"stdin": stdin, "seed": self.seed, "python": self.python}
        with taken(command.gpus, context.check) as graphics:
            left = context.deadline  # asked for after the wait for a graphics processor, which is no candidate's doing
            if command.gpus and left is not None and left <= 0:
                raise NotMeasured("no graphics processor was free in time")
            seconds = how["seconds"] = command.seconds if left is None else max(0.01, min(command.seconds, left))
            if command.outside:
                ran = run_outside(command, files, check=context.check, graphics=graphics, **how)
            else:
                ran = run_in_box(context.sandbox, command, files, graphics=graphics, **how)
        tail = last_lines(ran)
        if ran.end == "late":
            raise _Ended(Measurement("timed out", f"`{line}` was ended after {seconds:g} s", tail=tail))
        if ran.end == "ended" and (not command.exit_codes or ran.code in command.exit_codes):
            return ran
        end = f"ended with exit code {ran.code}" if ran.end == "ended" else f"was killed: {ran.why}"
        outcome: Outcome = "guard failed" if name == "guard" else "crashed"
        raise _Ended(Measurement(outcome, f"`{line}` {end}", seconds=ran.seconds, tail=tail))


def _judge(
    experiment: SystemExperiment,
    ran: Ran,
    seconds: float,
    baseline: Mapping[str, float],
    counted: Mapping[str, float],
) -> Measurement:
    metrics: dict[str, float] = {"run_seconds": seconds, **counted}
    tail = last_lines(ran)
    for metric in experiment.all_metrics:
        if metric.name in counted:
            continue
        try:
            metrics[metric.name] = read_metric(metric, ran)
        except NoMetric as err:
            if metric is experiment.metric:
                return Measurement("no metric", f"{err}", metrics, seconds, tail)
    for metric in experiment.all_metrics:
        if words := _broken_guard(metric, metrics.get(metric.name), baseline.get(metric.name)):
            return Measurement("guard failed", words, metrics, seconds, tail)
    first = experiment.metric
    better = "higher" if first.direction == "maximize" else "lower"
    shown = ", ".join(f"{m.name} {metrics[m.name]:.6g}" for m in experiment.all_metrics if m.name in metrics)
    return Measurement("measured", f"{shown} ({first.name}: {better} is better)", metrics, seconds, tail)


def _broken_guard(metric: Metric, value: float | None, baseline: float | None) -> str:
    """Return what a metric's guards object to, or nothing."""
    if not metric.is_guarded:
        return ""
    if value is None:
        return f"`{metric.name}` is guarded and was not reported"
    low, high = metric.minimum, metric.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        limits = ((low, f"at least {low}"), (high, f"at most {high}"))
        allowed = " and ".join(words for limit, words in limits if limit is not None)
        return f"`{metric.name}` is {value:.6g}; it must be {allowed}"
    if metric.may_worsen is None or baseline is None:
        return ""
    slack = abs(baseline) * metric.may_worsen / 100
    if metric.sign * (value - baseline) >= -slack:
        return ""
    return f"`{metric.name}` is {value:.6g}, and {baseline:.6g} for the initial files; it may be {metric.may_worsen:g} % worse"


def last_lines(ran: Ran) -> str:
    """Return the last lines that a command printed, errors last."""
    parts = [text.strip() for text in (ran.stdout[-2 * TAIL_CHARS :], ran.stderr[-2 * TAIL_CHARS :])]
    lines = [line for part in parts if part for line in part.splitlines()[-TAIL_LINES:]]
    return "\n".join(lines)[-TAIL_CHARS:]
