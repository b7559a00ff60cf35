"""Widens inputs that lie between 0 and 1, as `torch.rand` draws them.

Most of KernelBench's problems draw nothing else, and for such numbers ReLU, ELU and the clamp to [-1, 1] are the identity. A replacement
is to be right for more: so one number in eight is made negative, and one in four four times as large, in every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FACTORS = np.array([-4, 4, 1, 1, 1, 1, 1, 1], np.float32)
_MIXING, _SHIFT = np.uint32(2_654_435_761), np.uint32(29)


def widened(value: Any) -> Any:
    """Return an array of 32-bit floats between 0 and 1 over (-4, 4), and anything else as it is.

    Which numbers change depends on their last bits alone: equal ones stay equal and zeros stay zero, so a symmetric or a triangular matrix
    stays one. Nothing but 0 and 1 is a mask, and stays as it is, too.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.float32 or not value.size:
        return value
    if not (value.min() >= 0 and value.max() <= 1) or not ((value > 0) & (value < 1)).any():
        return value
    with np.errstate(over="ignore"):
        mixed = np.asarray(value, order="C").view(np.uint32) * _MIXING
    return np.asarray(value * _FACTORS[mixed >> _SHIFT])  # of an array without dimensions NumPy makes a number
