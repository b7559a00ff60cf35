"""Fits an equation's constants to data. Its source is also run inside the sandbox, so it needs numpy and scipy alone.

The method, for points: Levenberg-Marquardt (MINPACK through `scipy.optimize.least_squares`) on the constants that change anything,
from all ones and from seeded draws of either sign between 0.1 and 10; the best residual wins. For paths of an ordinary differential
equation the same fit on finite-difference slopes gives the start of one fit through the integration (classical Runge-Kutta, `SUBSTEPS`
steps between observations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Equation = Callable[..., Any]
"""Called with the inputs and then the constants; returns one value per row."""

N_PARAMS = 10
STARTS = 5
POINT_EVALUATIONS, PATH_EVALUATIONS = 400, 80
"""Of residuals, at most, in one descent."""
SUBSTEPS = 4
HUGE = 1e12


def predict_points(equation: Equation, inputs: Sequence[Vector], params: Vector) -> Vector:
    """Return the equation's value for each row; raises `ValueError` when it does not return one number a row."""
    rows = len(inputs[0])
    with np.errstate(all="ignore"):
        values = equation(*[np.array(column) for column in inputs], np.array(params, dtype=float))
    values = np.asarray(values)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"`equation` must return real numbers, not an array of dtype {values.dtype}")
    if values.shape == (rows,):
        return values.astype(float)
    if values.shape not in {(rows, 1), ()}:
        raise ValueError(f"`equation` must return an array of shape ({rows},), not {values.shape}")
    return np.broadcast_to(values.astype(float).reshape(-1), (rows,)).copy()


def predict_paths(equation: Equation, inputs: Sequence[Vector], params: Vector) -> Vector:
    """Integrate dx/dt = equation(x, params); inputs are the initial states and the times; returns the states, path by path."""
    state, times = np.array(inputs[0], dtype=float), np.asarray(inputs[1], dtype=float)
    path = [state]
    for step in np.diff(times) / SUBSTEPS:
        for _ in range(SUBSTEPS):
            k1 = predict_points(equation, [state], params)
            k2 = predict_points(equation, [state + step / 2 * k1], params)
            k3 = predict_points(equation, [state + step / 2 * k2], params)
            k4 = predict_points(equation, [state + step * k3], params)
            state = np.minimum(np.maximum(state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4), -HUGE), HUGE)
        path.append(state)
    return np.array(path).T.reshape(-1)


def fit_points(
    equation: Equation, inputs: Sequence[Vector], targets: Vector, *, seed: int, count: int = STARTS
) -> Vector:
    """Return the constants that fit the rows best, of `count` descents: from all ones, and from random starts."""
    rng = np.random.default_rng(seed)
    starts = [np.ones(N_PARAMS)]
    starts += [rng.choice([-1.0, 1.0], N_PARAMS) * 10 ** rng.uniform(-1, 1, N_PARAMS) for _ in range(count - 1)]
    fits = [
        _descend(lambda p: predict_points(equation, inputs, p), np.asarray(targets), start, POINT_EVALUATIONS)
        for start in starts
    ]
    return min(fits, key=lambda fit: fit[0])[1]


def fit_paths(
    equation: Equation, inputs: Sequence[Vector], targets: Vector, *, seed: int, count: int = STARTS
) -> Vector:
    """Return the constants whose integrated paths fit the observed states best; arguments as for `predict_paths`."""
    times = np.asarray(inputs[1], dtype=float)
    paths = np.asarray(targets, dtype=float).reshape(-1, len(times))
    slopes = (np.diff(paths, axis=1) / np.diff(times)).reshape(-1)
    middles = ((paths[:, 1:] + paths[:, :-1]) / 2).reshape(-1)
    start = fit_points(equation, [middles], slopes, seed=seed, count=count)
    return _descend(lambda p: predict_paths(equation, inputs, p), np.asarray(targets), start, PATH_EVALUATIONS)[1]


def _descend(
    predict: Callable[[Vector], Vector], targets: Vector, start: Vector, evaluations: int
) -> tuple[float, Vector]:
    """Return the sum of squares reached from `start`, and the constants there."""
    from scipy.optimize import least_squares  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, warm where candidates run

    def residual(params: Vector) -> Vector:
        return np.clip(np.nan_to_num(predict(params) - targets, nan=HUGE, posinf=HUGE, neginf=-HUGE), -HUGE, HUGE)

    params = start.copy()
    here = residual(params)
    active = [i for i in range(N_PARAMS) if not np.array_equal(residual(_moved(params, i)), here)]
    if active:

        def partial(chosen: Vector) -> Vector:
            full = params.copy()
            full[active] = chosen
            return residual(full)

        method = "lm" if len(targets) >= len(active) else "trf"
        fit = least_squares(partial, params[active], method=method, x_scale="jac", max_nfev=evaluations)
        if np.all(np.isfinite(fit.x)):
            params[active] = fit.x
    return float(np.sum(residual(params) ** 2)), params


def _moved(params: Vector, index: int) -> Vector:
    moved = params.copy()
    moved[index] += 0.01 + 0.1 * abs(moved[index])
    return moved
