"""What the law-finding tasks share: data sets, the measure of a prediction, and the words about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tracebench_core.ids import derive_seed
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Heuristic, Verdict
from tracebench_llm4ad.heuristic import load_trusted
from tracebench_llm4ad.science.dataset import DataSet, Law, draw_points
from tracebench_llm4ad.science.fitting import (
    N_PARAMS,
    STARTS,
    Equation,
    Vector,
    fit_paths,
    fit_points,
    predict_paths,
    predict_points,
)
from tracebench_llm4ad.science.options import ScienceOptions

BEST_NMSE, WORST_NMSE = 1e-12, 1e6
SAMPLE_ROWS = 12
Kind = Literal["points", "paths"]
FITS: Mapping[Kind, Callable[..., Vector]] = {"points": fit_points, "paths": fit_paths}
PREDICTIONS: Mapping[Kind, Callable[..., Vector]] = {"points": predict_points, "paths": predict_paths}
HOW = f"""
How it is used: your function is the form of the law; its constants are yours to place, as `params[0]` to `params[{N_PARAMS - 1}]` (use \
as many as you need). For each data set they are fitted to noisy observations by least squares (Levenberg-Marquardt, from all ones and \
from {STARTS - 1} random starts of magnitude 0.1 to 10), then the fitted function predicts rows it has not seen, half of them in the \
range of the fitted rows, half beyond it. Every data set has constants of its own, so write no measured number into the formula. The \
value of a row may depend on that row and `params` alone. NaN, infinity or a complex number in a prediction is refused: guard \
logarithms, roots and divisions.

How it is scored: NMSE is the mean squared error of the predictions divided by the variance of the true values (1 is as good as \
predicting their mean, 0 is exact). The score is the number of correct digits, -log10(NMSE), cut to the range from -6 to 12, averaged \
over data sets; higher is better. The observations you fit carry noise, the values you are judged on do not.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an equation gave for one data set."""

    params: Vector
    predicted: Vector


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the held-out rows: their inputs, and where they stand among all."""

    inputs: list[Vector]
    where: npt.NDArray[np.int64]


class EquationEvaluator(Evaluator[DataSet]):
    """A law hides behind data sets; the candidate's equation is fitted to each and judged on unseen rows."""

    entry: ClassVar[str] = "equation"
    law: Law
    inputs: Sequence[str]
    """Names of the inputs, as feedback uses them."""
    target: ClassVar[str]
    bound_source = "the generating law with fitted constants"
    kind: ClassVar[Kind] = "points"
    options: ScienceOptions

    def generate(self, rng: np.random.Generator) -> DataSet:
        """Draw a data set; see `draw_points`."""
        return draw_points(self.law, rng, rows=self.options.rows, spread=self.options.spread, noise=self.options.noise)

    def solve(self, instance: DataSet, heuristic: Heuristic) -> Answer:
        """Fitting takes more than calls of one function: `EquationTask` does it."""
        raise TypeError("an equation is fitted by `EquationTask`, not called as a heuristic")

    def start(self, data: DataSet) -> float:
        """Return the digits of the starting equation, fitted and asked in this process."""
        return self.trusted(load_trusted(self.program, self.entry, prelude="import numpy as np\n").function, data)

    def bound(self, instance: DataSet) -> float:
        """Return the digits of the generating law itself, its constants fitted alike but from their nominal values."""
        nominal = self.law.constants

        def truth(*arguments: Vector) -> Vector:
            *inputs, params = arguments
            return self.law.function(*inputs, *(c * p for c, p in zip(nominal, params, strict=False)))

        return self.trusted(truth, instance, count=1)

    def trusted(self, equation: Equation, data: DataSet, *, count: int = STARTS) -> float:
        """Return the digits of an equation of ours, fitted from `count` starts."""
        params = FITS[self.kind](equation, data.fit_inputs, data.fit_targets, seed=self.options.seed, count=count)
        return self.judge(data, Answer(params, PREDICTIONS[self.kind](equation, data.held_inputs, params))).value

    def judge(self, instance: DataSet, solution: Answer) -> Verdict:
        """Compare predictions with the noise-free values."""
        truth = instance.held_targets
        error = solution.predicted - truth
        near, far = slice(0, instance.inside), slice(instance.inside, None)
        every, inside, outside = (nmse(error[part], truth[part]) for part in (slice(None), near, far))
        worst = int(np.argmax(np.abs(error)))
        note = (
            f"NMSE {every:.3g}: {inside:.3g} in the range of the fitted rows, {outside:.3g} beyond it. Largest error at "
            f"{self.name_row(instance, worst)}: predicted {solution.predicted[worst]:.5g}, true {truth[worst]:.5g}. "
            f"Fitted params: [{', '.join(f'{p:.4g}' for p in solution.params)}]."
        )
        metrics = {"nmse": every, "nmse_inside": inside, "nmse_outside": outside}
        return Verdict(value=digits(every), note=note, metrics=metrics)

    def draw(self, instance: DataSet, solution: Answer) -> Drawing:
        """Draw predictions against true values."""
        return kinds.fit(instance.held_targets.tolist(), solution.predicted.tolist(), inside=instance.inside)

    def every_other(self, data: DataSet) -> Part:
        """Return every other held-out row."""
        where = np.arange(0, len(data.held_targets), 2)
        return Part(inputs=[column[where] for column in data.held_inputs], where=where)

    def name_row(self, data: DataSet, row: int) -> str:
        """Name a held-out row by its inputs."""
        return ", ".join(
            f"{n} = {c[row]:.4g}" for n, c in zip(self.columns(), self.table(data.held_inputs), strict=True)
        )

    def columns(self) -> Sequence[str]:
        """Return the names of the numbers of a row."""
        return self.inputs

    def table(self, inputs: Sequence[Vector]) -> Sequence[Vector]:
        """Return one column per name."""
        return inputs

    def sample(self) -> str:
        """Return a few observations of one more data set, drawn apart from all splits, as a table."""
        data = self.generate(np.random.default_rng(derive_seed(self.options.seed, self.name, "sample")))
        columns = [column[:SAMPLE_ROWS] for column in (*self.table(data.fit_inputs), data.fit_targets)]
        head = " ".join(f"{name:>12}" for name in (*self.columns(), self.target))
        rows = [" ".join(f"{value:12.5g}" for value in row) for row in zip(*columns, strict=True)]
        return "\n".join(["Some observations of a data set (one of its own, not among those used):", head, *rows])


def nmse(error: Vector, truth: Vector) -> float:
    """Return mean(error^2) / variance(truth), at most `WORST_NMSE`; an overflow counts as the worst."""
    with np.errstate(all="ignore"):
        value = float(np.mean(error**2) / np.var(truth))
    return value if value <= WORST_NMSE else WORST_NMSE


def digits(value: float) -> float:
    """Return -log10 of an NMSE, between -6 and 12."""
    return float(-np.log10(min(max(value, BEST_NMSE), WORST_NMSE)))
