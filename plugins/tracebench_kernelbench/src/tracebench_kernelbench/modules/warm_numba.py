"""Compiles a kernel with Numba when it is imported, in the template of all sessions: the first sets up tables, for most of a second."""

import numba
import numpy as np


@numba.njit
def _sum_rows(x, out):  # type: ignore[no-untyped-def]  # Numba finds the types
    for row in range(x.shape[0]):
        out[row] = x[row].sum()


_sum_rows(np.ones((1, 1), np.float32), np.zeros(1, np.float32))
