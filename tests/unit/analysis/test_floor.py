"""The noise floor's halves are those that Python's own sampling draws."""

import math
import random

import pytest

from tracebench_analysis.statistics.floor import SPLITS, noise_floor


@pytest.mark.parametrize("seeds", [4, 5, 8, 31, 32, 33, 1000])
def test_halves_are_what_the_standard_library_draws(seeds: int) -> None:
    draw, score = random.Random(0), random.Random(seeds)
    tasks = {"s:x": {i: score.random() for i in range(seeds)}, "s:y": {i: score.random() for i in range(seeds + 1)}}
    found = []
    for _ in range(SPLITS):
        apart = []
        for scores in tasks.values():
            drawn, half = draw.sample([*scores.values()], len(scores)), len(scores) // 2
            apart.append(math.fsum(drawn[:half]) / half - math.fsum(drawn[half : 2 * half]) / half)
        found.append(abs(math.fsum(apart) / 2) / math.sqrt(2))

    assert noise_floor({"A": tasks}).split == sorted(found)[math.ceil(0.95 * SPLITS) - 1]
