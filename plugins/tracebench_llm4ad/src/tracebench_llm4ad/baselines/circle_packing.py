"""The largest square grid below n, with the remaining circles in the gaps between its circles."""

import numpy as np


def pack_circles(n: int) -> np.ndarray:
    """Return the better of the two square grids around n; extra circles sit where four of the grid meet."""
    best = np.zeros((n, 3))
    for side in {max(1, int(np.sqrt(n))), int(np.ceil(np.sqrt(n)))}:
        radius = 0.5 / side
        grid = [((2 * i + 1) * radius, (2 * j + 1) * radius, radius) for i in range(side) for j in range(side)]
        gap = (np.sqrt(2) - 1) * radius * (1 - 1e-12)
        gaps = [(2 * i * radius, 2 * j * radius, gap) for i in range(1, side) for j in range(1, side)]
        circles = np.array((grid + gaps)[:n])
        if len(circles) == n and circles[:, 2].sum() > best[:, 2].sum():
            best = circles
    return best
