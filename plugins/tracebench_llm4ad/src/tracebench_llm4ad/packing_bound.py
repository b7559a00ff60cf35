"""Lower bounds on bins, shared by the tasks that pack items by size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def martello_toth(items: Sequence[int], capacity: int) -> int:
    """Return bound L2 of Martello and Toth (1990) on the bins that `items` need."""
    sizes = np.array(items)
    best = -(-int(sizes.sum()) // capacity)
    for cut in {int(s) for s in sizes if 2 * s <= capacity}:
        large = int((sizes > capacity - cut).sum())
        middle = sizes[(2 * sizes > capacity) & (sizes <= capacity - cut)]
        small = int(sizes[(sizes >= cut) & (2 * sizes <= capacity)].sum())
        excess = small - (len(middle) * capacity - int(middle.sum()))
        best = max(best, large + len(middle) + max(0, -(-excess // capacity)))
    return best
