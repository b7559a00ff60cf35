"""The ranking of a job's candidates as its events have it, at any point of them."""

from __future__ import annotations

from tracebench_core.specs.events import (
    CandidateSeen,
    ComparisonSet,
    Decision,
    EvaluationDone,
    Event,
    ExamplesKnown,
    JobStarted,
)
from tracebench_runs.events.ranking import INITIAL, Aggregate, FindAggregate, Ranking, mean, mean_alone


class Standings:
    """Takes events in their order and ranks as the engine did when it wrote them."""

    def __init__(self, find: FindAggregate = mean_alone) -> None:
        """`find` tells how the task makes one score of many; where it cannot, nobody is ranked and `is_known` is false."""
        self._find = find
        self._aggregate: Aggregate | None = mean
        self._worst_score: float | None = None
        self._ranking: Ranking | None = None

    def add(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case JobStarted():
                self._worst_score = event.worst_score
                self._aggregate = self._find(event.aggregate)
            case ExamplesKnown() if self._aggregate is not None:
                self._ranking = Ranking(
                    train=event.train,
                    validation=event.validation,
                    worst_score=self._worst_score,
                    aggregate=self._aggregate,
                )
            case _ if self._ranking is not None:
                _rank(self._ranking, event)

    @property
    def is_known(self) -> bool:
        """Whether candidates can be ranked."""
        return self._aggregate is not None

    @property
    def best(self) -> str:
        """The best candidate's id."""
        return INITIAL if self._ranking is None else self._ranking.best

    @property
    def best_score(self) -> float | None:
        """Its score on the comparison set."""
        return None if self._ranking is None else self._ranking.best_score

    def finalists(self, most: int) -> list[str]:
        """Return the best candidates of the comparison set, the leaders of the other sets, and the initial one."""
        return [INITIAL] if self._ranking is None else self._ranking.finalists(most)


def _rank(ranking: Ranking, event: Event) -> None:
    match event:
        case CandidateSeen():
            ranking.see(event.id)
        case EvaluationDone(by="trainer"):
            ranking.record(
                event.candidate, event.example, score=event.score, status=event.status, metrics=event.metrics
            )
        case ComparisonSet():
            ranking.compare_on(event.examples)
        case Decision():
            ranking.judge(event.candidate, event.verdict)
