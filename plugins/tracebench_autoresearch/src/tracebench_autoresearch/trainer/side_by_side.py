"""Several edits of what is kept at once: measured side by side, pair by pair, and halved as they fall behind.

Neighbours disturb each other, so the two sides of a pair are never neighbours: in the first half of a round each edit's coin says whether
the edit or what is kept is measured, in the second half the other side is. What an edit that hogs the machine takes from the rest then
strikes either side of their pairs as a coin falls, and wins nothing. Which edits are told from noise, and in which order, is the same
however many are measured at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracebench_autoresearch.trainer.arm import Arm
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.judging import Contest, PairedTrial, Ruling
from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Candidate, Evaluation, Values

KEPT_FIRST = "another was kept first"


@dataclass(frozen=True, slots=True)
class Ask:
    """Files that are to be measured once."""

    values: Values
    parents: Sequence[Candidate] = ()
    origin: str = ""
    repeat: bool = True


@dataclass(slots=True)
class Runner:
    """An edit in a race."""

    arm: Arm
    contest: Contest
    ruling: Ruling | None = None
    is_outrun: bool = False
    """Others of the race were ahead: nothing was found against it."""

    def outrun(self, why: str) -> None:
        """End its race."""
        self.ruling, self.is_outrun = self.contest.undecided(why), True


def measured(bench: Bench, asks: Sequence[Ask]) -> Iterator[Evaluation]:
    """Measure side by side; yield what came of it in the order of `asks`.

    Raises:
        BudgetExhausted: when the budget ends, once what had begun is there.
    """
    begun, spent = 0, None
    for ask in asks:
        try:
            bench.submit(ask.values, parents=ask.parents, origin=ask.origin, repeat=ask.repeat)
        except BudgetExhausted as err:
            spent = err
            break
        begun += 1
    for _ in range(begun):
        yield from bench.collect()
    if spent is not None:
        raise spent


def batched(asks: Sequence[Ask], most: int) -> Iterator[Sequence[Ask]]:
    """Yield them in parts of at most `most`."""
    return (asks[first : first + most] for first in range(0, len(asks), most))


def race(bench: Bench, rule: PairedTrial, runners: Sequence[Runner], *, halve_after: int) -> None:
    """Let edits of the same files run until one is kept or all have lost; each gets its ruling.

    Of several that could be kept, the one with the greater gain is. After `halve_after` pairs the worse half of those that still run is
    dropped, after twice as many the worse half of the rest, and so on (successive halving); 0 drops none.

    Raises:
        BudgetExhausted: when the budget ends before; who still runs has no ruling then.
    """
    rounds, halving = 0, halve_after
    while running := [runner for runner in runners if runner.ruling is None]:
        _round(bench, rule, running)
        rounds += 1
        if winners := [one for one in running if one.ruling is not None and one.ruling.verdict == "accepted"]:
            first = max(winners, key=lambda one: one.contest.gain)
            for other in running:
                if other is not first and (other.ruling is None or other in winners):
                    other.outrun(KEPT_FIRST)
            return
        if rounds == halving:
            halving *= 2
            left = sorted((one for one in running if one.ruling is None), key=lambda one: -one.contest.gain)
            for behind in left[(len(left) + 1) // 2 :]:
                behind.outrun(f"behind others of its race after {rounds}")


def _round(bench: Bench, rule: PairedTrial, running: Sequence[Runner]) -> None:
    """Measure one pair of each, both sides of it one after the other, and rule on those of which enough is known."""
    coins = [rule.coin() for _ in running]
    scores: list[dict[bool, float | None]] = [{} for _ in running]
    for runner in running:
        runner.contest.expect()
    for half in (True, False):
        turns = [
            (number, runner, coin == half)
            for number, (runner, coin) in enumerate(zip(running, coins, strict=True))
            if scores[number].get(True, 0.0) is not None
        ]
        asks = [
            Ask(runner.arm.values, [runner.arm.kept_as], runner.arm.hypothesis, repeat=bool(runner.arm.seen))
            if is_edit
            else Ask(runner.arm.kept_as.values)
            for _, runner, is_edit in turns
        ]
        for (number, runner, is_edit), evaluation in zip(turns, measured(bench, asks), strict=True):
            if is_edit:
                runner.arm.seen.append(evaluation)
            scores[number][is_edit] = evaluation.score if is_edit else rule.of_kept(evaluation.score)
    for runner, found in zip(running, scores, strict=True):
        runner.ruling = runner.contest.add(found[True], found.get(False))
