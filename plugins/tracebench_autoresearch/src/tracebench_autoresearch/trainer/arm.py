"""An edit and what it would replace, as they are measured."""

from __future__ import annotations

from tracebench_autoresearch.trainer.bench import Bench
from tracebench_core.specs import Candidate, Evaluation, Values


class Arm:
    """One edit under trial."""

    def __init__(self, bench: Bench, values: Values, kept: Candidate, hypothesis: str) -> None:
        self._bench = bench
        self.values, self.kept_as, self.hypothesis = values, kept, hypothesis
        self.seen: list[Evaluation] = []
        """Measurements of the edit."""

    @property
    def first(self) -> Evaluation:
        """The first of them."""
        return self.seen[0]

    @property
    def failure(self) -> str:
        """Why the last of them has no score; nothing where it has."""
        last = self.seen[-1]
        if last.score is not None:
            return ""
        words = said_of(last).partition("\n")[0]
        return f"{words}, after {len(self.seen) - 1}" if len(self.seen) > 1 else words

    @property
    def is_unmeasured(self) -> bool:
        """Say whether that was the machine's doing, not the edit's."""
        return self.seen[-1].status == "not_measured"

    def edit(self) -> float | None:
        """Measure the edit."""
        again = bool(self.seen)
        self.seen.append(
            self._bench.evaluate(self.values, parents=[self.kept_as], origin=self.hypothesis, repeat=again)
        )
        return self.seen[-1].score

    def kept(self) -> float | None:
        """Measure what it would replace."""
        return self._bench.evaluate(self.kept_as.values, repeat=True).score


def said_of(evaluation: Evaluation) -> str:
    """Return the feedback of an evaluation in words."""
    return "\n".join(result.feedback.text for result in evaluation.results if result.feedback.text)
