"""The generating law: two restoring forces, cubic damping and a mixed term."""

import numpy as np


def equation(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the law for each row."""
    drive = params[0] * np.sin(params[1] * x)
    return drive + params[2] * v**3 + params[3] * x**3 + params[4] * x * v + params[5] * x * np.cos(x)
