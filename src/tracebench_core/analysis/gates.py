"""Gates: a claim such as `PrioritySearch > NoOp` that a comparison must bear out."""

from __future__ import annotations

from dataclasses import dataclass

from tracebench_core.analysis.verdicts import ALPHA, Comparison
from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean


@dataclass(frozen=True, slots=True)
class Gate:
    """The claim that one entrant is better than another."""

    better: str
    worse: str

    def __str__(self) -> str:
        return f"{self.better} > {self.worse}"


def parse_gate(text: str) -> Gate:
    """Read a gate.

    Raises:
        UsageError: when it is not two names with `>` between them.
    """
    better, sign, worse = (part.strip() for part in text.partition(">"))
    if not sign or not better or not worse or ">" in worse or worse.startswith("="):
        raise UsageError(f"`{text}` is no gate.", hint='--gate "PrioritySearch > NoOp"')
    return Gate(better, worse)


def is_met(gate: Gate, comparison: Comparison) -> bool:
    """Tell whether a comparison over all tasks resolves that the first is better.

    The claim was made beforehand, so it is not corrected for the other pairs of the table; in a sequential design its decision counts.

    Raises:
        UsageError: when an entrant is not there, the two have no task in common, or their tasks disagree and have no fixed scale.
    """
    entrants = [summary.standing.entrant for summary in comparison.summaries]
    for name in (gate.better, gate.worse):
        if name not in entrants:
            raise UsageError(
                f"Gate `{gate}`: no entrant is called `{name}`.{did_you_mean(name, entrants)}",
                hint=f"one of: {', '.join(entrants)}",
            )
    pair = comparison.pair(gate.better, gate.worse)
    if pair is None:
        raise UsageError(f"Gate `{gate}`: the two have no task in common, or the baseline leaves them out.")
    if pair.against and pair.difference.scale == "standardised":
        raise UsageError(
            f"Gate `{gate}`: the tasks disagree ({', '.join(pair.against)} clearly the other way), and no declared target or bounds say "
            "what a lead on one of them is worth on another: over all of them nobody is better.",
            hint="gate runs of one task each, or declare `target` or `score_bounds` in the tasks' specs",
        )
    if pair.decision is not None:
        return pair.decision.verdict == "better"
    probability = pair.difference.probability
    return probability is not None and probability < ALPHA and pair.difference.interval.estimate > 0
