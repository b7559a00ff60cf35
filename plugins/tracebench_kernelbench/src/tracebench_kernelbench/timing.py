"""What pairs of times say: a ratio, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

LEAST_NOISE = 0.03
"""Half the width of the narrowest band: what two builds of one source may differ by for their places in memory alone."""
_ENOUGH, _FEW = 6, 0.25
"""How many figures make a noise of their range, and the least noise of fewer."""
_SIGMAS = 3.0
_SPREAD_OF_MEDIAN = 1.2533 * 1.4826
"""Standard error of a median, times the root of the count, over the median absolute deviation; for normal errors."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in nanoseconds, the ratio of reference to candidate, and its noise as a share of it."""

    reference: float
    reference_least: float
    candidate: float
    candidate_least: float
    raw: float
    noise: float

    @property
    def score(self) -> float:
        """The speed-up that counts: 1 inside the noise band."""
        return 1.0 if abs(math.log(self.raw)) <= math.log1p(self.noise) else self.raw


def compare(
    reference: Sequence[int], candidate: Sequence[int], *, handing: float = 0.0, least: float = LEAST_NOISE
) -> Timing:
    """Compare times that were taken by turns; pairs share what the machine did at that moment, so the ratio is the median of theirs.

    Whoever comes second in a round may find branches learnt and caches warm, which is worth a quarter to a short kernel. Each comes second
    in every second round, so two rounds make one figure, the ratio of their sums: what one call puts off until the next is counted there
    in full. A round without a partner is left out.

    `handing` is the part of each time that may be no work of a kernel. It stays in both, which moves the ratio towards 1 by at most its
    share of the shorter time; the noise holds that share, and is `least` beside it at least.
    """
    logs = _logs(zip(reference, candidate, strict=True))
    middle = median(logs)
    spread = median(abs(value - middle) for value in logs)
    error = _SIGMAS * _SPREAD_OF_MEDIAN * spread / math.sqrt(len(logs))
    noise = max(least, math.expm1(error)) + _share(handing, reference, candidate)
    return _timing(reference, candidate, raw=math.exp(middle), noise=noise)


def compare_afresh(
    spent: Sequence[Sequence[tuple[int, int]]], *, handing: float = 0.0, least: float = LEAST_NOISE
) -> Timing:
    """Compare times of reference and candidate that unlike pairs of processes took, each pair by turns.

    The ratio is the median of what the pairs say, and the noise reaches to the one that lies farthest from it: it supposes nothing of how
    what a process finds is spread, nor that turns of one process are independent. Where less than six pairs had the time (a slow kernel),
    each two turns stand for one, and so little is told no better than by `_FEW`. See `compare` for `handing` and `least`.
    """
    pairs = [median(_logs(turns)) for turns in spent if turns]
    units = pairs if len(pairs) >= _ENOUGH else [log for turns in spent for log in _logs(turns)]
    middle = median(units)
    farthest = math.expm1(max(abs(unit - middle) for unit in units))
    reference, candidate = zip(*(turn for turns in spent for turn in turns), strict=True)
    noise = max(least if len(units) >= _ENOUGH else _FEW, farthest) + _share(handing, reference, candidate)
    return _timing(reference, candidate, raw=math.exp(middle), noise=noise)


def _share(handing: float, reference: Sequence[int], candidate: Sequence[int]) -> float:
    return handing / max(min(median(reference), median(candidate)), 1.0)


def _timing(reference: Sequence[int], candidate: Sequence[int], *, raw: float, noise: float) -> Timing:
    return Timing(
        reference=median(reference),
        reference_least=min(reference),
        candidate=median(candidate),
        candidate_least=min(candidate),
        raw=raw,
        noise=noise,
    )


def _logs(turns: Iterable[tuple[int, int]]) -> list[float]:
    """Return the logarithms of ratios, each of the sums of two turns."""
    rounds = list(turns)
    both = [(one + two, other + more) for (one, other), (two, more) in zip(rounds[::2], rounds[1::2], strict=False)]
    return [math.log(max(one, 1) / max(other, 1)) for one, other in both or rounds]
