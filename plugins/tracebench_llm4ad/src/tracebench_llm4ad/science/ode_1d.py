"""Sixteen one-dimensional laws of motion, found from observed paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import DataSet, Law
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator, Part
from tracebench_llm4ad.science.fitting import SUBSTEPS, Vector, predict_paths
from tracebench_llm4ad.science.ode_laws import MOTIONS
from tracebench_llm4ad.science.options import ScienceOptions

PATHS = 8
"""Observed paths, and as many held out: half begin in the range of the observed ones, half beyond it."""
DURATION, TIMES = 4.0, 21
FINER = 4
"""The truth is integrated in this many times smaller steps than the fit."""


class OdeOptions(ScienceOptions):
    """As for the other laws; a data set has 8 paths of 21 times whatever `rows` says."""

    test_id: int = Field(default=3, ge=1, le=len(MOTIONS))
    """Which law of ODEBench."""


class Ode(EquationEvaluator):
    """Noise is on the states; the same Runge-Kutta method makes the truth (with small steps) and the predictions."""

    name = "science_discovery/ode_1d"
    target = "x"
    kind = "paths"
    inputs = ("x(0)", "t")
    options: OdeOptions
    program = '''
def equation(x: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the rate of change dx/dt of each state."""
    return params[0] * np.sin(x) + params[1]
'''

    def __init__(self, options: OdeOptions) -> None:
        super().__init__(options)
        self.motion = MOTIONS[options.test_id - 1]
        self.law = Law(self.motion.function, self.motion.constants, (self.motion.inside,), (self.motion.outside,))
        inside, outside = self.motion.inside, self.motion.outside
        self.objective = f"""
Find a law of motion in one dimension: write `equation`, the right-hand side of dx/dt = equation(x, params). The system is \
{self.motion.title.partition(" (p.")[0]}; x is the {self.motion.state}.

Arguments: `x` (array of shape (n,): states of n systems at one moment, not a path; observed systems start between {inside.low:g} and \
{inside.high:g}, those you are judged on between {outside.low:g} and {outside.high:g} too), `params` (shape (10,), the constants).
Return an array of shape (n,): dx/dt for each state. The law does not depend on time.
Instead of rows, whole paths are fitted and predicted: {PATHS} paths of {TIMES} moments between t = 0 and {DURATION:g} are observed with \
noise, the equation is integrated by Runge-Kutta's method with a step of {DURATION / (TIMES - 1) / SUBSTEPS:g}, and the constants are \
those whose paths fit best; then {PATHS} other paths are predicted from their initial states.
{HOW}"""

    def generate(self, rng: np.random.Generator) -> DataSet:
        """Draw constants and initial states, integrate, and add noise to the fitted paths."""
        spread, motion = self.options.spread, self.motion
        constants = [c * rng.uniform(1 - spread, 1 + spread) for c in motion.constants]
        times = np.linspace(0.0, DURATION, TIMES)
        near = PATHS // 2
        fit = motion.inside.draw(rng, PATHS)
        held = np.concatenate([motion.inside.draw(rng, near), motion.outside.draw(rng, PATHS - near)])

        def truth(states: Vector) -> Vector:
            fine = np.linspace(0.0, DURATION, (TIMES - 1) * FINER + 1)
            path = predict_paths(lambda x, _: motion.function(x, *constants), [states, fine], np.zeros(1))
            return path.reshape(len(states), -1)[:, ::FINER].reshape(-1)

        observed = truth(fit)
        return DataSet(
            fit_inputs=(fit, times),
            fit_targets=observed + rng.normal(0.0, self.options.noise * float(np.std(observed)), observed.shape),
            held_inputs=(held, times),
            held_targets=truth(held),
            inside=near * TIMES,
        )

    def every_other(self, data: DataSet) -> Part:
        """Return every other held-out path."""
        states, times = data.held_inputs
        where = np.arange(len(data.held_targets)).reshape(len(states), -1)[::2].reshape(-1)
        return Part(inputs=[states[::2], times], where=where)

    def table(self, inputs: Sequence[Vector]) -> Sequence[Vector]:
        """Return initial state and time of every observation, path by path."""
        states, times = inputs
        return (np.repeat(states, len(times)), np.tile(times, len(states)))


build = loader(Ode, OdeOptions, task=EquationTask)
"""Build the task."""
