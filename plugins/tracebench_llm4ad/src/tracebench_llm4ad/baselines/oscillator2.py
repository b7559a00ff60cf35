"""The generating law: a sine drive, cubic damping, a mixed term and an exponential spring."""

import numpy as np


def equation(t: np.ndarray, x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the law for each row."""
    drive = params[0] * np.sin(params[1] * t)
    return drive + params[2] * v**3 + params[3] * x * v + params[4] * x * np.exp(params[5] * x)
