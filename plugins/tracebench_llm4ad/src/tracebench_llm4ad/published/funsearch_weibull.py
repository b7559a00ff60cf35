"""FunSearch's heuristic for Weibull sizes (Romera-Paredes et al. 2023): each bin is scored against the one before it."""

import numpy as np


def priority(item: int, bins: np.ndarray) -> np.ndarray:
    """Return one number per bin; the highest wins, the first of equal ones."""
    room = bins.astype(float)
    raw = (room - room.max()) ** 2 / item + (room / item) ** 2 * (1 + 1 / item)
    raw = np.where(room > item, -raw, raw)
    return np.diff(raw, prepend=0.0)
