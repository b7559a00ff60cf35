"""Seeds as ranges: `1..8` stands for each whole number from 1 to 8, in a config as in `-o`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

RANGE = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})")
PATTERN = f"^{RANGE.pattern}$"
"""For a schema."""
MOST = 100_000
"""Seeds that one range may hold; more are no comparison but a slip."""
_SHORTEST = 3


def expand_range(text: str) -> range | None:
    """Return the seeds of `1..8`, both ends included; None for what is no range.

    Raises:
        ValueError: for a range that counts down, or holds more than 100,000.
    """
    found = RANGE.fullmatch(text.strip())
    if found is None:
        return None
    low, high = int(found[1]), int(found[2])
    if high < low:
        raise ValueError(f"counts down; `{high}..{low}` holds each seed from {high} to {low}.")
    if high - low >= MOST:
        raise ValueError(f"holds {high - low + 1:,} seeds; a range holds {MOST:,} at most.")
    return range(low, high + 1)


def write_seeds(seeds: Iterable[int]) -> str:
    """Return seeds as short as `-o seeds=…` takes them: `1..8`, or `[1..8,20]` where they do not all follow each other."""
    runs: list[list[int]] = []
    for seed in sorted({*seeds}):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    parts = [part for run in runs for part in _parts(run)]
    return parts[0] if len(parts) == 1 and ".." in parts[0] else f"[{','.join(parts)}]"


def _parts(run: Sequence[int]) -> list[str]:
    return [f"{run[0]}..{run[-1]}"] if len(run) >= _SHORTEST else [*map(str, run)]
