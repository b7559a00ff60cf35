"""Penalty-based boundary intersection with a penalty of 5 (Zhang and Li 2007)."""

import numpy as np


def custom_decomposition(F: np.ndarray, weights: np.ndarray, ideal_point: np.ndarray) -> np.ndarray:
    """Return the distance along the weight vector and five times the distance from it."""
    shifted = F - ideal_point
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    along = np.sum(shifted * unit, axis=1)
    away: np.ndarray = np.linalg.norm(shifted - along[:, None] * unit, axis=1)
    return along + 5 * away
