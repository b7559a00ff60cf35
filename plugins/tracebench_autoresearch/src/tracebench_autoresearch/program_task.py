"""The instruction of the loop, `program.md`, as a task: a program is as good as what a few experiments under it achieve."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from tracebench_autoresearch.evaluation.measuring import SEEDS
from tracebench_autoresearch.task import EXAMPLE, PARAMETER, ExperimentTask
from tracebench_autoresearch.trainer.loop import Autoresearch
from tracebench_autoresearch.trainer.prompts import PROGRAM
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import (
    Candidate,
    Completion,
    Evaluation,
    Example,
    ExampleResult,
    Feedback,
    Message,
    Parameter,
    Role,
    Split,
    Values,
)

_MOST_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Researched:
    """What came of the experiments under one program."""

    kept: float | None
    """The mean score of what stood at the end; None where the initial files do not measure and nothing was kept."""
    minutes: tuple[str, ...]


class ProgramTask:
    """Implements `contracts.Task`; its model is asked in the role `agent`."""

    def __init__(self, experiment: ExperimentTask, settings: AutoresearchSettings) -> None:
        self._experiment = experiment
        self._settings = settings
        self.objective = (
            "Write the instruction (`program.md`) by which a researcher proposes experiments, one after another. It is told the task and "
            f"the files apart from it. {settings.num_experiments} experiments are then made, and the metric of what was kept counts. "
            f"The researcher's task:\n\n{experiment.objective}"
        )
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name="program", initial=PROGRAM, description="The researcher's instruction.", max_length=_MOST_CHARS
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {"train": (Example(id="research"),)}

    def run(self, values: Values, example: Example, context: Context) -> Researched:
        """Let the loop run under the program, each experiment in the sandbox of this evaluation."""
        bench = _Inside(self._experiment, context)
        settings = self._settings.model_copy(update={"program": str(values["program"])})
        minutes = Autoresearch(settings).research(bench)
        return Researched(bench.standing(), tuple(minutes))

    def guide(self, example: Example, output: Researched, context: Context, /) -> Feedback:
        """Return the metric of what was kept, with the minutes of the experiments.

        Raises:
            EvaluationFailed: when nothing was ever measured.
        """
        metric = self._experiment.experiment.metric
        words = "\n".join(output.minutes)
        if output.kept is None:
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=f"Nothing was measured.\n{words}"))
        value = metric.sign * output.kept
        kept = sum(line.startswith("accepted") for line in output.minutes)
        return Feedback(
            score=output.kept,
            text=f"{metric.name} {value:.6g} after {len(output.minutes) - 1} experiments, {kept} kept:\n{words}",
            metrics={metric.name: value, "kept": float(kept)},
        )


class _Inside:
    """Implements `trainer.bench.Bench` within one evaluation."""

    def __init__(self, task: ExperimentTask, context: Context) -> None:
        self._task, self._context = task, context
        self._steps, self._seeds = itertools.count(), itertools.count(context.seed)
        self._scores: dict[str, list[float]] = {}
        self._ids: dict[str, str] = {}
        self._asked: deque[Callable[[], Evaluation]] = deque()
        self._kept = "c0"
        self.parameters = task.parameters
        self.objective = task.objective
        self.rng = random.Random(context.seed)  # noqa: S311 - reproducible, not secret
        self.initial: Values = {PARAMETER: task.parameters[0].initial}

    def standing(self) -> float | None:
        """Return the mean score of what was kept last, or None where that never measured."""
        scores = self._scores.get(self._kept, [])
        return sum(scores) / len(scores) if scores else None

    @contextmanager
    def step(self) -> Iterator[int]:
        """See `contracts.Problem`."""
        self._context.check()
        yield next(self._steps)

    def check(self, values: Mapping[str, JsonValue]) -> str:
        """See `contracts.Problem`."""
        files: Any = values[PARAMETER]
        most = self.parameters[0].max_length
        if most is not None and sum(map(len, files.values())) > most:
            return f"the files are longer than {most} characters"
        return self._task.refusal(files)

    def evaluate(
        self, values: Values, *, parents: Sequence[str | Candidate] = (), origin: str = "", repeat: bool = False
    ) -> Evaluation:
        """See `contracts.Problem`; every measurement has a seed of its own."""
        files: Any = values[PARAMETER]
        identity = self._ids.setdefault(repr(sorted(files.items())), f"c{len(self._ids)}")
        candidate = Candidate(id=identity, values=values, origin=origin)
        measured = self._task.measure(files, self._context, seed=next(self._seeds) % SEEDS)
        feedback = measured.feedback(self._task.experiment.metric)
        score = feedback.score if feedback.status == "ok" else None
        if score is not None:
            self._scores.setdefault(identity, []).append(score)
        result = ExampleResult(example=EXAMPLE, split="train", feedback=feedback, seconds=measured.seconds)
        return Evaluation(candidate=candidate, results=(result,), score=score)

    def submit(
        self, values: Values, *, parents: Sequence[str | Candidate] = (), origin: str = "", repeat: bool = False
    ) -> None:
        """See `contracts.Problem`; measured when it is collected."""
        self._asked.append(lambda: self.evaluate(values, parents=parents, origin=origin, repeat=repeat))

    def collect(self, n: int = 1) -> list[Evaluation]:
        """See `contracts.Problem`."""
        return [self._asked.popleft()() for _ in range(min(n, len(self._asked)))]

    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask the model of the role `agent`: the researcher is the program under optimisation."""
        return self._context.complete(messages, role="agent", n=n, **sampling)

    def count_proposals(self, *, asked: int = 0, usable: int = 0, duplicate: int = 0, invalid: int = 0) -> None:
        """Leave the job's counts alone: these are not its trainer's proposals."""

    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None:
        """Keep an event of each experiment, and what stands."""
        self._context.record("inner", {"experiment": candidate.origin, "verdict": verdict, "reason": reason})
        if verdict == "accepted":
            self._kept = candidate.id

    def log(self, name: str, value: float) -> None:
        """Keep no curve of numbers inside an evaluation."""
