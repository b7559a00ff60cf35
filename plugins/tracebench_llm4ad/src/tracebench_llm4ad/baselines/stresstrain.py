"""The generating law: elastic up to yield, then Johnson and Cook's; all ones is its nominal form."""

import numpy as np


def equation(strain: np.ndarray, temp: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the law for each row."""
    heat = np.maximum(temp - 20.0, 0.0) / 632.0
    softening = 1.0 - heat ** (1.34 * np.abs(params[0]))
    modulus, onset = 68.9e3 * params[1], 4.7e-3 * np.abs(params[2])
    plastic = np.maximum(strain - onset * softening, 0.0)
    hardened = modulus * onset + 114.0 * params[3] * plastic ** (0.42 * np.abs(params[4]))
    return np.where(plastic > 0.0, hardened * softening, modulus * strain)
