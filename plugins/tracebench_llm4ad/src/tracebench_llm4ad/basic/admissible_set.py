"""Symmetric constant-weight admissible sets, grown greedily in the order that the heuristic ranks vectors.

After Romera-Paredes et al. (2023), "Mathematical discoveries from program search with large language models", Methods. A set of vectors
over {0, 1, 2} of equal weight is admissible when (a) no two have the same support and (b) any three have a coordinate whose values are
{0, 1, 2}, {0, 0, 1} or {0, 0, 2}. Vectors are cut into blocks of three; with a vector the set holds every rotation within any block. So
a set is a list of words over seven block symbols, and both conditions are decided block by block.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.basic.options import AdmissibleSetOptions
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Heuristic, ListedEvaluator, Verdict, invalid
from tracebench_llm4ad.returned import number

BLOCKS = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
"""One vector of each symbol's orbit. The orbits of 011, 022, 112 and 122 are no admissible sets themselves and never occur."""
WEIGHTS = np.array([sum(value != 0 for value in block) for block in BLOCKS])
AT_ONCE = 1000
"""Vectors that are ranked in one round trip to the candidate."""
ROTATIONS = np.array([len({block[k:] + block[:k] for k in range(3)}) for block in BLOCKS])

PROGRAM = '''
def priority(el: tuple, n: int, w: int) -> float:
    """Rank vectors by the mean of their entries."""
    return sum(el) / n
'''

OBJECTIVE = """
Design a priority function for the greedy construction of a large admissible set of dimension n and weight w.
Vectors have n entries from {0, 1, 2}, w of them non-zero. A set is admissible when no two of its vectors have the same support, and \
any three of them have a coordinate whose three values are {0, 1, 2}, {0, 0, 1} or {0, 0, 2}. The sets built here are symmetric: the n \
coordinates form blocks of three, and with a vector the set holds all vectors that arise by rotating entries within blocks.
`priority(el, n, w)` is called once per candidate vector, before the construction.
- `el` (tuple or list of n ints from {0, 1, 2}): one vector of an orbit; every block is one of 000, 001, 002, 012, 021, 111, 222.
- `n` (int): the dimension, a multiple of 3; 15 during the search.
- `w` (int): the weight; 10 during the search. Other pairs (n, w) are held out.
Return a finite number. Candidates are added in the order of their priority, the highest first (of equal ones, the first in \
lexicographic order of the block symbols); each one added removes those that no longer fit.
Score: the number of vectors of the final set; higher is better. No admissible set has more than binomial(n, w) = 3003 vectors.
"""

Words = npt.NDArray[np.int64]


class AdmissibleSetEvaluator(ListedEvaluator[tuple[int, int]]):
    """An instance is (n, w); a solution is the list of words, one symbol per block."""

    name = "optimization/admissible_set"
    entry = "priority"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the upper bound binomial(n, w), one vector per support,"

    def __init__(self, options: AdmissibleSetOptions) -> None:
        super().__init__(options.splits(), timeout_seconds=options.timeout_seconds)

    def solve(self, instance: tuple[int, int], heuristic: Heuristic) -> list[tuple[int, ...]]:
        """Rank all words, then take them greedily."""
        n, w = instance
        words = all_words(n, w)
        blocks = np.array(BLOCKS)
        ranks: list[float] = []
        for start in range(0, len(words), AT_ONCE):
            vectors = blocks[words[start : start + AT_ONCE]].reshape(-1, n).tolist()
            ranks += [number(rank, what="a priority") for rank in heuristic.many([(el, n, w) for el in vectors])]
        order = np.argsort(-np.array(ranks), kind="stable")
        return grow(words[order])

    def judge(self, instance: tuple[int, int], solution: Any) -> Verdict:
        """Check every pair and triple of words; count the vectors of their orbits."""
        n, w = instance
        words: Words = np.array(solution, dtype=np.int64).reshape(len(solution), n // 3)
        if (WEIGHTS[words].sum(axis=1) != w).any():
            raise invalid(f"A vector's weight is not {w}.")
        for k, word in enumerate(words):
            others = np.delete(words, k, axis=0)
            if not surviving(others, word, words[:k]).all():
                raise invalid(f"The set is not admissible: word {k} conflicts with others.")
        sizes = ROTATIONS[words].prod(axis=1)
        bound = math.comb(n, w)
        return Verdict(
            float(sizes.sum()),
            f"For n = {n}, w = {w} it holds {len(words)} orbits of {int(sizes.min())} to {int(sizes.max())} vectors; "
            f"{bound - int(sizes.sum())} supports are unused.",
        )

    def draw(self, instance: tuple[int, int], solution: Any) -> Drawing:
        """Draw it."""
        cells = [(column, row, symbol) for row, word in enumerate(solution) for column, symbol in enumerate(word)]
        return kinds.grid(cells, note=f"{len(solution)} words of {instance[0] // 3} symbols, one a row")

    def bound(self, instance: tuple[int, int]) -> float:
        """Return the number of supports."""
        return float(math.comb(*instance))


def all_words(n: int, w: int) -> Words:
    """Return all words of n / 3 symbols with weight w, in lexicographic order, shape (words, n / 3)."""
    weights: Words = np.zeros(1, dtype=np.int64)
    for _ in range(n // 3):
        weights = np.add.outer(weights, WEIGHTS).ravel()
    fitting = np.flatnonzero(weights == w)
    return np.stack(np.unravel_index(fitting, (len(BLOCKS),) * (n // 3)), axis=1)


def grow(words: Words) -> list[tuple[int, ...]]:
    """Take words greedily in their order, each with all that it and one taken before forbid.

    What two words forbid is a product over blocks, so it is struck out in a table of all words without a look at those still left.
    """
    width = words.shape[1]
    digits = len(BLOCKS) ** np.arange(width)[::-1]
    forbidden = np.zeros(len(BLOCKS) ** width, dtype=bool)
    taken: list[tuple[int, ...]] = []
    for word, place in zip(words.tolist(), (words @ digits).tolist(), strict=True):
        if forbidden[place]:
            continue
        _strike(forbidden, [SAME_WEIGHT[s] for s in word], digits)
        for other in taken:
            _strike(forbidden, [BAD[s][t] for s, t in zip(word, other, strict=True)], digits)
        taken.append(tuple(word))
    return taken


def _strike(forbidden: npt.NDArray[np.bool_], symbols: list[Words], digits: Words) -> None:
    """Forbid every word with one of the listed symbols in each block."""
    places: Words = np.zeros(1, dtype=np.int64)
    for allowed, digit in zip(symbols, digits, strict=True):
        places = np.add.outer(places, allowed * digit).ravel()
    forbidden[places] = True


def surviving(words: Words, new: npt.NDArray[np.int64], taken: Words) -> npt.NDArray[np.bool_]:
    """Say which of `words` may join a set that holds `taken` and `new`.

    A word needs another weight in some block than `new` (else two orbits share a support), and with `new` and each of `taken` a block
    in which every three rotations have a good coordinate. Two rotations of one word with any third vector always have one.
    """
    alive: npt.NDArray[np.bool_] = (WEIGHTS[words] != WEIGHTS[new]).any(axis=1)
    for other in taken:
        same = (words == other).all(axis=1)
        alive &= same | GOOD[new, other, words].any(axis=1)
    return alive


def _always_good(symbols: tuple[int, ...]) -> bool:
    orbits = [[BLOCKS[s][k:] + BLOCKS[s][:k] for k in range(3)] for s in symbols]
    return all(
        any(sorted(values) in ([0, 1, 2], [0, 0, 1], [0, 0, 2]) for values in zip(*vectors, strict=True))
        for vectors in itertools.product(*orbits)
    )


GOOD = np.array([_always_good(symbols) for symbols in itertools.product(range(7), repeat=3)]).reshape(7, 7, 7)
"""Entry [s, t, u]: any rotations of the three symbols have a good coordinate."""
BAD = [[np.flatnonzero(~GOOD[s, t]) for t in range(7)] for s in range(7)]
"""Entry [s][t]: the symbols that have no good coordinate with the two."""
SAME_WEIGHT = [np.flatnonzero(weight == WEIGHTS) for weight in WEIGHTS]
"""Entry [s]: the symbols of the weight of s, which share its support once all blocks do."""


build = loader(AdmissibleSetEvaluator, AdmissibleSetOptions)
"""Build the task."""
