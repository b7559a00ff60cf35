"""The generating law of the default motion: logistic growth."""

import numpy as np


def equation(x: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the rate of growth of each population."""
    return params[0] * x * (1 - 0.01 * params[1] * x)
