"""Gates: a claim such as `PrioritySearch > NoOp`, or `New ~ Old` within a margin, that a comparison must bear out."""

from __future__ import annotations

from dataclasses import dataclass

from tracebench_analysis.comparison.verdicts import ALPHA, DECIDED, Comparison, PairVerdict
from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean


@dataclass(frozen=True, slots=True)
class Gate:
    """The claim that one entrant is better than another, or as good within the comparison's margin."""

    better: str
    worse: str
    alike: bool = False

    def __str__(self) -> str:
        return f"{self.better} {'~' if self.alike else '>'} {self.worse}"


def parse_gate(text: str) -> Gate:
    """Read a gate.

    Raises:
        UsageError: when it is not two names with `>` or `~` between them.
    """
    sign = ">" if ">" in text else "~"
    better, _, worse = (part.strip() for part in text.partition(sign))
    if not better or not worse or sign in worse or worse.startswith("="):
        raise UsageError(f"`{text}` is no gate.", hint='--gate "PrioritySearch > NoOp"')
    return Gate(better, worse, alike=sign == "~")


def is_met(gate: Gate, comparison: Comparison) -> bool:
    """Tell whether a comparison over all tasks resolves that the first is better, or that the two lie within its margin of each other.

    The claim was made beforehand, so it is not corrected for the other pairs of the table; in a sequential design its decision counts.
    A difference that is real and within the margin meets `~`, too. Of an entrant without a single score no claim is met.

    Raises:
        UsageError: when an entrant is not there, the two have no task in common, their tasks disagree and have no fixed scale, or
            `~` has no margin.
    """
    blank = comparison.without_scores()
    entrants = [*dict.fromkeys([*(summary.standing.entrant for summary in comparison.summaries), *blank])]
    for name in (gate.better, gate.worse):
        if name not in entrants:
            raise UsageError(
                f"Gate `{gate}`: no entrant is called `{name}`.{did_you_mean(name, entrants)}",
                hint=f"one of: {', '.join(entrants)}",
            )
    pair = comparison.pair(gate.better, gate.worse)
    if pair is None and {gate.better, gate.worse} & {
        *blank,
        *(s.standing.entrant for s in comparison.summaries if not s.standing.measured),
    }:
        return False
    if pair is None:
        raise UsageError(f"Gate `{gate}`: the two have no task in common, or the baseline leaves them out.")
    if pair.against and pair.difference.scale == "standardised":
        raise UsageError(
            f"Gate `{gate}`: the tasks disagree ({', '.join(pair.against)} clearly the other way), and no declared target or bounds say "
            "what a lead on one of them is worth on another: over all of them nobody is better.",
            hint="gate runs of one task each, or declare `target` or `score_bounds` in the tasks' specs",
        )
    if gate.alike:
        return _is_alike(gate, pair, comparison.margin)
    if pair.decision is not None:
        return pair.decision.verdict == "better"
    probability = pair.difference.probability
    return probability is not None and probability < ALPHA and pair.difference.interval.estimate > 0


def _is_alike(gate: Gate, pair: PairVerdict, margin: float | None) -> bool:
    if margin is None:
        raise UsageError(f"Gate `{gate}`: as good within what?", hint=f'--margin 0.02 --gate "{gate}"')
    if pair.against:
        return False
    if pair.decision is not None:
        return pair.decision.verdict in DECIDED and pair.decision.interval.lies_within(margin)
    probability = pair.difference.contrast.equivalence(margin)
    return probability is not None and probability < ALPHA
