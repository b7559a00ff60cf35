"""An experiment as a task: its editable files are the one parameter, a measurement is the one example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_autoresearch.evaluation.baseline import Baseline
from tracebench_autoresearch.evaluation.measuring import SEEDS, Measurement, measure
from tracebench_autoresearch.evaluation.neighbours import Neighbours
from tracebench_autoresearch.experiment import SystemExperiment
from tracebench_autoresearch.sources.environment import open_python
from tracebench_autoresearch.sources.opening import open_snapshot
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot, matches
from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.errors import UsageError
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values

PARAMETER = "files"
EXAMPLE = "experiment"
_SHOWN_CHARS = 20_000
_WILD = frozenset("*?[")


class ExperimentTask:
    """Implements `contracts.Task` for one experiment."""

    def __init__(self, experiment: SystemExperiment) -> None:
        """Open the repository and read the revision.

        Raises:
            UsageError: when it cannot be read, prepared, given its environment, or holds nothing that may be edited.
        """
        self.experiment = experiment
        self.snapshot = open_snapshot(experiment)
        self._python = open_python(experiment.environment, self.snapshot) if experiment.environment else None
        self._neighbours = Neighbours()
        self._baseline = Baseline(experiment, self._python)
        edited = {p: t for p, t in self.snapshot.texts.items() if matches(p, experiment.editable)}
        self._fixed = [pattern for pattern in experiment.editable if not _WILD & set(pattern)]
        if missing := [name for name in self._fixed if name not in edited]:
            raise UsageError(f"The editable file `{missing[0]}` is not a text file of `{experiment.repo}`.")
        if not edited:
            raise UsageError(f"No text file of `{experiment.repo}` matches {list(experiment.editable)}.")
        self.objective = _objective(experiment, self.snapshot)
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name=PARAMETER,
                kind="files",
                initial=dict(edited),
                description=f"The files that may be edited: {', '.join(experiment.editable)}.",
                max_length=10 * sum(map(len, edited.values())) + 100_000,
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {"train": (Example(id=EXAMPLE),)}

    def run(self, values: Values, example: Example, context: Context) -> Measurement:
        """Measure a candidate's files.

        Raises:
            EvaluationFailed: when they hold what may not be edited.
        """
        files: Any = values[PARAMETER]
        if reason := self.refusal(files):
            refused = Measurement("refused", reason)
            self._record(context, refused)
            raise EvaluationFailed(refused.feedback(self.experiment.metric))
        with self._neighbours.during(context.candidate) as beside:
            measurement = self.measure(files, context, seed=context.seed % SEEDS)
        self._record(context, measurement, beside=sorted(beside))
        return measurement

    def measure(self, files: Mapping[str, str], context: Context, *, seed: int) -> Measurement:
        """Measure files that `refusal` has nothing against."""
        initial: Any = self.parameters[0].initial
        start = self._applied(initial)
        baseline = {} if files == initial else self._baseline.metrics(start, context)
        return measure(
            self.experiment,
            self._applied(files),
            context,
            seed=seed,
            initial=start,
            baseline=baseline,
            python=self._python,
        )

    def guide(self, example: Example, output: Measurement, context: Context, /) -> Feedback:
        """Turn the measurement into a score and words.

        Raises:
            EvaluationFailed: when there is none.
        """
        feedback = output.feedback(self.experiment.metric)
        if feedback.status != "ok":
            raise EvaluationFailed(feedback)
        return feedback

    def refusal(self, files: Mapping[str, str]) -> str:
        """Return why these files may not be run, or nothing."""
        editable = self.experiment.editable
        if outside := sorted(path for path in files if not matches(path, editable)):
            return f"`{outside[0]}` may not be edited; these may: {', '.join(editable)}"
        if gone := [name for name in self._fixed if name not in files]:
            return f"`{gone[0]}` must stay"
        taken = {path: e for path, e in self.snapshot.entries.items() if e.text is None or not matches(path, editable)}
        if clash := [p for p in files if p in taken or any(other.startswith(f"{p}/") for other in taken)]:
            return f"`{clash[0]}` is in the way of another file of the repository"
        return ""

    def _applied(self, files: Mapping[str, str]) -> Snapshot:
        """Return the revision with a candidate's files in the place of all that may be edited."""
        kept = {
            p: e
            for p, e in self.snapshot.entries.items()
            if not (e.text is not None and matches(p, self.experiment.editable))
        }
        written = {path: Entry("100644", text.encode(errors="replace")) for path, text in files.items()}
        return Snapshot(self.snapshot.revision, kept | written)

    def _record(self, context: Context, measurement: Measurement, *, beside: Sequence[str] = ()) -> None:
        context.record(
            "outcome",
            {
                "outcome": measurement.outcome,
                "words": measurement.words,
                "metrics": dict(measurement.metrics),
                "seconds": measurement.seconds,
                "metric": self.experiment.metric.name,
                "direction": self.experiment.metric.direction,
                "revision": self.snapshot.revision,
                "seed": context.seed % SEEDS,
                "beside": list(beside),
            },
        )


def _objective(experiment: SystemExperiment, snapshot: Snapshot) -> str:
    metric = experiment.metric
    better = "highest" if metric.direction == "maximize" else "lowest"
    lines = [
        experiment.objective.strip() or experiment.title,
        f"Edit {', '.join(f'`{p}`' for p in experiment.editable)} so that `{metric.name}` becomes the {better}.",
        f"An experiment runs `{' '.join(experiment.run.command)}` for at most {experiment.run.seconds:g} s, without network.",
    ]
    lines += [f"This must go on succeeding: `{' '.join(guard.command)}`." for guard in experiment.guards]
    for other in experiment.all_metrics:
        lines += [f"`{other.name}` must be at least {other.minimum:g}."] if other.minimum is not None else []
        lines += [f"`{other.name}` must be at most {other.maximum:g}."] if other.maximum is not None else []
    lines.append("Every other file is restored before each experiment.")
    for path, text in snapshot.without(experiment.hidden).texts.items():
        if matches(path, experiment.shown) and not matches(path, experiment.editable):
            lines.append(f"Read only, `{path}`:\n```\n{text[:_SHOWN_CHARS]}\n```")
    return "\n".join(line for line in lines if line)
