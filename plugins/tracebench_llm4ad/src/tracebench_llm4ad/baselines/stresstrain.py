"""The generating law: elastic up to yield, then Johnson and Cook's."""

import numpy as np


def equation(strain: np.ndarray, temp: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the law for each row."""
    heat = np.maximum(temp - 20.0, 0.0) / 632.0
    softening = 1.0 - heat ** np.abs(params[0])
    onset = 1e-3 * np.abs(params[1]) * softening
    modulus = 1e5 * params[2]
    hardening = 1e2 * params[3] * np.maximum(strain - onset, 0.0) ** np.abs(params[4])
    return np.where(strain < onset, modulus * strain, (modulus * 1e-3 * np.abs(params[1]) + hardening) * softening)
