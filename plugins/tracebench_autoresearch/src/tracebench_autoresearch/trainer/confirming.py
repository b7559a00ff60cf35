"""What was kept, measured again: all of it against the initial files, and against itself without each kept edit in turn.

What was kept is what measured well, so its measurements flatter it; here all are new ones, with seeds of their own. In each round every
set of files is measured once, in an order drawn by chance, `together` of them at a time, so that drift and neighbours strike all alike. A
kept edit whose removal cannot be told apart from lines that came later is compared as a step: with it against what it replaced.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracebench_autoresearch.edits.reverting import without
from tracebench_autoresearch.statistics.effect import effect
from tracebench_autoresearch.statistics.evidence import false_share_held, sign_flip_probability
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.side_by_side import Ask, batched, measured
from tracebench_autoresearch.trainer.workspace import Workspace
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Candidate, Values

ROUND, CONFIRMED, GAIN = "confirmation/round", "confirmation/{}/confirmed", "confirmation/{}/gain"
"""Names of the numbers that are logged; those of the whole have `all` in place of a candidate."""
LOW, HIGH, STEP = "confirmation/{}/low", "confirmation/{}/high", "confirmation/{}/step"
ALL = "all"


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """An edit that was kept, and the values that it was made from."""

    candidate: Candidate
    before: Values


@dataclass(frozen=True, slots=True)
class _Contrast:
    """Two sets of files, by their keys, and what their difference says."""

    about: str
    better: bytes
    worse: bytes
    is_step: bool = False


def confirm(
    bench: Bench,
    workspace: Workspace,
    kept: Sequence[KeptEdit],
    rng: random.Random,
    *,
    rounds: int,
    alpha: float,
    together: int = 1,
) -> str:
    """Measure for so many rounds and log what came of it; return it in words.

    Raises:
        BudgetExhausted: when the budget ends before the last round; nothing is said then.
    """
    final = kept[-1].candidate
    known = {canonical_json(values): values for values in (bench.initial, *(k.candidate.values for k in kept))}
    arms: dict[bytes, tuple[Values, str]] = {}
    contrasts = [*_contrasts(bench.initial, workspace, kept, arms)]
    scores: dict[bytes, list[float | None]] = {key: [] for key in arms}
    for number in range(1, rounds + 1):
        with bench.step():
            bench.log(ROUND, number)
            order = rng.sample(sorted(arms), len(arms))
            asks = [Ask(arms[key][0], [final], arms[key][1]) for key in order]
            found = (e for part in batched(asks, together) for e in measured(bench, part))
            for key, evaluation in zip(order, found, strict=True):
                words = arms[key][1]
                scores[key].append(evaluation.score)
                if number == 1 and key not in known:
                    bench.decide(evaluation.candidate, "rejected", words)
    return _conclude(bench, contrasts, scores, alpha)


def _contrasts(
    initial: Values, workspace: Workspace, kept: Sequence[KeptEdit], arms: dict[bytes, tuple[Values, str]]
) -> Iterator[_Contrast]:
    """Yield what is compared, and put what is to be measured into `arms`."""

    def arm(values: Values, words: str) -> bytes:
        key = canonical_json(values)
        arms.setdefault(key, (values, words))
        return key

    final = kept[-1].candidate
    yield _Contrast(ALL, arm(final.values, "what was kept"), arm(initial, "the initial files"))
    for edit in kept:
        after, before = workspace.files(edit.candidate.values), workspace.files(edit.before)
        files = without(workspace.files(final.values), before=before, after=after)
        about, what = edit.candidate.id, f"what was kept, without {edit.candidate.id}"
        if files is not None:
            yield _Contrast(about, canonical_json(final.values), arm(workspace.values(files, final.values), what))
        else:
            better = arm(edit.candidate.values, f"as far as {about}")
            yield _Contrast(about, better, arm(edit.before, f"before {about}"), is_step=True)


def _conclude(
    bench: Bench, contrasts: Sequence[_Contrast], scores: Mapping[bytes, Sequence[float | None]], alpha: float
) -> str:
    """Log and say which edits stand: of those confirmed a share of at most `alpha` changes nothing."""
    differences = {c.about: _differences(scores[c.better], scores[c.worse]) for c in contrasts}
    edits = [c.about for c in contrasts if c.about != ALL]
    p = {about: sign_flip_probability(differences[about]) if differences[about] else 1.0 for about in edits}
    confirmed = false_share_held(p, alpha)
    whole = None
    for contrast in contrasts:
        about, found = contrast.about, differences[contrast.about]
        if about != ALL:
            bench.log(CONFIRMED.format(about), float(about in confirmed))
            bench.log(STEP.format(about), float(contrast.is_step))
        if not found:
            continue
        size = effect(found)
        whole = size if about == ALL else whole
        bench.log(GAIN.format(about), size.value)
        if size.low is not None and size.high is not None:
            bench.log(LOW.format(about), size.low)
            bench.log(HIGH.format(about), size.high)
    return f"of {len(edits)} kept, {len(confirmed)} confirmed, total gain {whole or 'not measured'}"


def _differences(better: Sequence[float | None], worse: Sequence[float | None]) -> list[float]:
    return [one - other for one, other in zip(better, worse, strict=True) if one is not None and other is not None]
