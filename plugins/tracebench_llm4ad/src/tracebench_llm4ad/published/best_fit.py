"""Best fit: the bin that is left with the least room."""

import numpy as np


def priority(item: int, bins: np.ndarray) -> np.ndarray:
    """Return one number per bin; the highest wins, the first of equal ones."""
    return -1.0 * (bins - item)
