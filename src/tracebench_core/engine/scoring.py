"""The engine's own measurements after training: initial, best and final candidate on validation, initial and best once on test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracebench_core.engine.archive import mean_score
from tracebench_core.engine.evaluate import EvaluationContext, evaluate_example
from tracebench_core.engine.models import Models
from tracebench_core.engine.recorder import Recorder
from tracebench_core.ids import derive_seed
from tracebench_core.protocols import Guide, Sandbox, Task
from tracebench_core.specs import Candidate, Example, ExampleResult, Split


@dataclass(frozen=True, slots=True)
class Scorer:
    """Measures candidates on whole splits; charged to nobody's budget, recorded as the engine's."""

    task: Task
    guide: Guide
    test: Sequence[Example]
    seed: int
    sandbox: Sandbox
    workdir: Path
    models: Models
    recorder: Recorder
    failure_score: float | None

    def score(self, *, initial: Candidate, best: Candidate, final: Candidate) -> None:
        """Measure each candidate once: on validation (train where a task has none), and the initial and best on test."""
        validation = self.task.splits.get("validation") or self.task.splits["train"]
        split: Split = "validation" if self.task.splits.get("validation") else "train"
        roles: list[tuple[Literal["initial", "best", "final"], Candidate]] = [
            ("initial", initial),
            ("best", best),
            ("final", final),
        ]
        on_validation: dict[str, list[ExampleResult]] = {}
        on_test: dict[str, list[ExampleResult]] = {}
        for what, candidate in roles:
            if candidate.id not in on_validation:
                on_validation[candidate.id] = self._measure(candidate, validation, split)
            self._record(what, split, candidate, on_validation[candidate.id])
        for what, candidate in roles[:2]:
            if self.test and candidate.id not in on_test:
                on_test[candidate.id] = self._measure(candidate, self.test, "test")
            if self.test:
                self._record(what, "test", candidate, on_test[candidate.id])

    def _measure(self, candidate: Candidate, examples: Sequence[Example], split: Split) -> list[ExampleResult]:
        results = []
        for example in examples:
            context = EvaluationContext(
                seed=derive_seed(self.seed, "scoring", candidate.id, example.id),
                sandbox=self.sandbox,
                workdir=self.workdir,
                models=self.models,
                phase="scoring",
            )
            result = evaluate_example(
                self.task, candidate.values, example=example, split=split, guide=self.guide, context=context
            )
            self.recorder.evaluation(candidate.id, result, by="engine")
            results.append(result)
        self.recorder.calls(self.models)
        return results

    def _record(
        self,
        what: Literal["initial", "best", "final"],
        split: Split,
        candidate: Candidate,
        results: Sequence[ExampleResult],
    ) -> None:
        names = set.intersection(*(set(r.feedback.metrics) for r in results)) if results else set()
        metrics = {n: math.fsum(r.feedback.metrics[n] for r in results) / len(results) for n in sorted(names)}
        score = mean_score(results, self.failure_score)
        self.recorder.scored(what, split, candidate=candidate.id, score=score, metrics=metrics)
