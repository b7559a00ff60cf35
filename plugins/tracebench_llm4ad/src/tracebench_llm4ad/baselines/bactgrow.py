"""The generating law: Monod times a bell in temperature times a bell in pH."""

import numpy as np


def equation(b: np.ndarray, s: np.ndarray, temp: np.ndarray, pH: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the law for each row."""
    warmth = np.tanh(0.1 * params[0] * (temp - 15.0)) / (1.0 + 1e-4 * params[1] * (temp - 40.0) ** 4)
    acidity = np.exp(-np.abs(pH - 7.0)) * np.sin((pH - 4.0) * np.pi / 5.0) ** 2
    return params[2] * b * s / (params[3] + s) * warmth * acidity
