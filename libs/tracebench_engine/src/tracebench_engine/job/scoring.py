"""The engine's own measurements after training: who wins, by full validation, and what the winner is worth on test, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tracebench_core import averages
from tracebench_core.specs import Candidate, Example, ExampleResult, Split
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.repeats import Repeats, scores_by_example
from tracebench_engine.measure.service import EvaluationService, Result
from tracebench_runs.events.ranking import INITIAL, Aggregate, aggregate_score, mean


@dataclass(frozen=True, slots=True)
class Scorer:
    """Measures candidates on whole splits; charged to nobody's budget, recorded as the engine's."""

    service: EvaluationService
    validation: Sequence[Example]
    """Train, where a task has no validation."""
    split: Split
    test: Sequence[Example]
    models: Models
    recorder: Recorder
    worst_score: float | None
    aggregate: Aggregate = mean
    content: str = ""
    """The metric that stands beside the score: examples become one figure of it as they do of the score."""
    repeats: Repeats | None = None
    """How the winner is measured again."""

    def choose(self, finalists: Sequence[Candidate], *, final: Candidate) -> Candidate:
        """Measure the finalists on validation, record the initial, best and final candidate, and return the best.

        Who leads is measured again until the leader is one that was: nobody wins by one lucky measurement. Among equals the first is the
        best. A finalist that was not measured on an example cannot win.
        """
        everyone = {candidate.id: candidate for candidate in [*finalists, final]}
        started = {id_: self._begin(candidate, self.validation, self.split) for id_, candidate in everyone.items()}
        results = {id_: self._take(everyone[id_], taken) for id_, taken in started.items()}
        initial = next(candidate for candidate in finalists if candidate.id == INITIAL)
        times = {id_: [found] for id_, found in results.items()}
        settled: set[str] = set()
        while (best := self._leader(finalists, times) or initial).id not in settled:
            settled.add(best.id)
            times[best.id] += self._again(best, self.validation, self.split, results[best.id])
        self._tell_chance(times[best.id], self.split)
        for candidate in finalists:
            if candidate not in (initial, best):
                self._record("finalist", self.split, candidate, times[candidate.id])
        self._record("initial", self.split, initial, times[initial.id])
        self._record("best", self.split, best, times[best.id])
        self._record("final", self.split, final, times[final.id])
        return best

    def test_once(self, initial: Candidate, best: Candidate) -> None:
        """Measure the initial and the best candidate on test, once for all."""
        if not self.test:
            return
        everyone = {candidate.id: candidate for candidate in (initial, best)}
        started = {id_: self._begin(candidate, self.test, "test") for id_, candidate in everyone.items()}
        times = {id_: [self._take(everyone[id_], taken)] for id_, taken in started.items()}
        times[best.id] += self._again(best, self.test, "test", times[best.id][0])
        self._tell_chance(times[best.id], "test")
        self._record("initial", "test", initial, times[initial.id])
        self._record("best", "test", best, times[best.id])

    def measure_given(
        self,
        candidate: Candidate,
        split: Split,
        examples: Sequence[Example],
        watched: Callable[[Iterable[ExampleResult]], Iterable[ExampleResult]],
    ) -> None:
        """Measure a candidate that was not searched for, once on each example; `watched` may end it."""
        started = self._begin(candidate, examples, split)
        try:
            results = list(watched(self._taken(candidate, started)))
        finally:
            self.recorder.calls(self.models)
        self._record("best", split, candidate, [results])

    def _again(
        self, candidate: Candidate, examples: Sequence[Example], split: Split, first: Sequence[ExampleResult]
    ) -> list[list[ExampleResult]]:
        """Measure a candidate again from the same inputs."""
        if self.repeats is None or self._score(first) is None:
            return []
        found = self.repeats.of(candidate, examples, split, first)
        for results in found:
            if scores_by_example(results) != scores_by_example(
                first
            ):  # one that is as before is told by its score alone
                for result in results:
                    self.recorder.evaluation(candidate.id, result, by="engine")
        self.recorder.calls(self.models)
        return [results for results in found if self._score(results) is not None]

    def _tell_chance(self, times: Sequence[Sequence[ExampleResult]], split: Split) -> None:
        """Say so where the winner's score is itself random."""
        scores = self._scores(times)
        if self.repeats is not None and not self.repeats.timed and scores and min(scores) != max(scores):
            span = f"{min(scores):.6g} to {max(scores):.6g} in {len(scores)} measurements from the same inputs"
            self.recorder.flag("random-candidate", f"the winner's score is itself random: {span} of {split}")

    def _leader(
        self, finalists: Sequence[Candidate], times: Mapping[str, Sequence[Sequence[ExampleResult]]]
    ) -> Candidate | None:
        """Return who has the best mean, of equals the first; None where nobody has one."""
        means = {c.id: self._mean(times[c.id]) for c in finalists}
        known = {id_: mean for id_, mean in means.items() if mean is not None}
        return max((c for c in finalists if c.id in known), key=lambda c: known[c.id], default=None)

    def _begin(self, candidate: Candidate, examples: Sequence[Example], split: Split) -> list[Result]:
        return self.service.begin(candidate, [(e, split) for e in examples], phase="scoring")

    def _take(self, candidate: Candidate, started: Sequence[Result]) -> list[ExampleResult]:
        results = list(self._taken(candidate, started))
        self.recorder.calls(self.models)
        return results

    def _taken(self, candidate: Candidate, started: Sequence[Result]) -> Iterator[ExampleResult]:
        """Yield results in their order, each recorded as soon as it is there."""
        for item in started:
            result = item.result()
            self.recorder.evaluation(candidate.id, result, by="engine")
            yield result

    def _scores(self, times: Sequence[Sequence[ExampleResult]]) -> list[float]:
        return [score for results in times if (score := self._score(results)) is not None]

    def _mean(self, times: Sequence[Sequence[ExampleResult]]) -> float | None:
        """Return the mean of a candidate's measurements, each of the whole split; None where one of them has no score."""
        scores = self._scores(times)
        return averages.mean(scores) if scores and len(scores) == len(times) else None

    def _score(self, results: Sequence[ExampleResult]) -> float | None:
        return aggregate_score([r.feedback for r in results], self.worst_score, self.aggregate)

    def _held(self, times: Sequence[Sequence[ExampleResult]]) -> float | None:
        """Return the metric of content; an example that failed counts for what it does in the score. None where one does not tell."""
        found = [
            [
                f.model_copy(update={"score": f.metrics.get(self.content)}) if f.status == "ok" else f
                for f in (r.feedback for r in results)
            ]
            for results in times
        ]
        if not times or any(f.status == "ok" and f.score is None for feedbacks in found for f in feedbacks):
            return None
        figures = [aggregate_score(feedbacks, self.worst_score, self.aggregate) for feedbacks in found]
        known = [figure for figure in figures if figure is not None]
        return averages.mean(known) if len(known) == len(figures) else None

    def _record(
        self,
        what: Literal["initial", "best", "final", "finalist"],
        split: Split,
        candidate: Candidate,
        times: Sequence[Sequence[ExampleResult]],
    ) -> None:
        """Record what a candidate got: the mean of its measurements, and each of them where there are several."""
        results = [result for results in times for result in results]
        names = set.intersection(*(set(r.feedback.metrics) for r in results)) if results else set()
        metrics = {n: averages.mean([r.feedback.metrics[n] for r in results]) for n in sorted(names - {self.content})}
        if self.content and (held := self._held(times)) is not None:
            metrics[self.content] = held
        scores = self._scores(times)
        repeats = tuple(scores) if len(scores) > 1 else ()
        self.recorder.scored(
            what, split, candidate=candidate.id, score=self._mean(times), metrics=metrics, repeats=repeats
        )
