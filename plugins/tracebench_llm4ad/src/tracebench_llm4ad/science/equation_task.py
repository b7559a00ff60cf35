"""Fits a candidate's equation in one sandbox and asks it for predictions in another, so that ten numbers are all that passes.

The process that sees the fitted targets never predicts, and the one that predicts sees held-out inputs only, never a target: whatever a
candidate does, its predictions are a function of the inputs and of at most ten constants. A third process predicts every other row
again: an equation that looks at other rows than its own is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Example, Limits, Split, Values
from tracebench_llm4ad.anchoring import Anchors
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, PARAMETER, PUBLIC, SPLITS, CodeTask, seeding
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.heuristic import explain
from tracebench_llm4ad.returned import array
from tracebench_llm4ad.science import fitting
from tracebench_llm4ad.science.dataset import DataSet
from tracebench_llm4ad.science.evaluator import Answer, EquationEvaluator
from tracebench_llm4ad.seclusion import SECLUSION

FIT, PREDICT = "fit_the_equation", "predict_by_the_equation"
DOORS = """
def {fit}(inputs, targets, seed):
    return fit_{kind}(equation, inputs, targets, seed=seed)

def {predict}(inputs, params):
    return predict_{kind}(equation, inputs, params)
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one candidate is run: each step in a process of its own."""

    context: Context
    code: str
    prelude: str
    limits: Limits

    def ask(self, entry: str, *args: Any) -> Any:
        """Return what `entry` returns in a fresh process that holds the candidate; raises `EvaluationFailed`."""
        with self.context.sandbox.session(self.code, entry, limits=self.limits, prelude=self.prelude) as session:
            outcome = session.call(*args)
        if outcome.status != "ok":
            raise EvaluationFailed(explain(outcome))
        return outcome.value


class EquationTask(CodeTask):
    """A `CodeTask` whose solutions are a data set's fitted constants and the predictions made with them."""

    evaluator: EquationEvaluator

    def __init__(
        self, evaluator: EquationEvaluator, *, splits: frozenset[Split] = SPLITS, salts: Mapping[Split, str] = PUBLIC
    ) -> None:
        super().__init__(evaluator, splits=splits, salts=salts)
        self.objective += "\n" + evaluator.sample()
        source = inspect.getsource(fitting).replace("from __future__ import annotations\n", "")
        self._harness = source + DOORS.format(fit=FIT, predict=PREDICT, kind=evaluator.kind)

    def run(self, values: Values, example: Example, context: Context) -> list[Answer]:
        """Return one answer per data set of the example."""
        bench = Bench(
            context=context,
            code=str(values[PARAMETER]),
            prelude=SECLUSION + NUMPY_PRELUDE + self._harness + seeding(context.seed, numpy=True),
            limits=Limits(seconds=self.evaluator.options.timeout_seconds),
        )
        answers = []
        for case in example.input:
            try:
                answers.append(self._answer(bench, case.instance))
            except EvaluationFailed as failure:
                text = f"Data set `{case.name}`: {failure.feedback.text}"
                raise EvaluationFailed(failure.feedback.model_copy(update={"text": text})) from failure
        return answers

    def _computed_anchors(self, instance: DataSet) -> Anchors:
        """Return the digits of the starting equation and of the generating law, both fitted in this process."""
        return Anchors(start=self.evaluator.start(instance), bound=self.evaluator.bound(instance))

    def _answer(self, bench: Bench, data: DataSet) -> Answer:
        params = array(
            bench.ask(FIT, list(data.fit_inputs), data.fit_targets, self.evaluator.options.seed),
            shape=(fitting.N_PARAMS,),
            what="an equation that can be fitted: the constants",
        )
        shape = data.held_targets.shape
        held = list(data.held_inputs)
        predicted = array(bench.ask(PREDICT, held, params), shape=shape, what="predictions")
        some = self.evaluator.every_other(data)
        again = array(bench.ask(PREDICT, some.inputs, params), shape=some.where.shape, what="predictions")
        if not np.allclose(
            again, predicted[some.where], rtol=1e-6, atol=1e-9 * float(np.max(np.abs(predicted), initial=1.0))
        ):
            raise invalid(
                "The value of `equation` for a row depends on other rows or on earlier calls; it must be a function of its own row "
                "and of `params` alone."
            )
        return Answer(params=params, predicted=predicted)
