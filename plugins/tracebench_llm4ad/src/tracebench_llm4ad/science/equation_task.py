"""Fits a candidate's equation in one sandbox and asks it for predictions in another, so that ten numbers are all that passes.

The process that sees the fitted targets never predicts, and the one that predicts sees held-out inputs only, never a target: whatever a
candidate does, its predictions are a function of the inputs and of at most ten constants. Another process predicts every other row
again: an equation that looks at other rows than its own is refused.

For n data sets there is one process that fits them all, and for each data set one that first predicts it and then every other row of the
next data set, whose other rows and targets it never sees.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Example, Limits, Split
from tracebench_llm4ad.anchoring import Anchors
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, PUBLIC, SPLITS, Case, CodeTask, named, seeding
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.heuristic import explain
from tracebench_llm4ad.returned import array
from tracebench_llm4ad.science import fitting
from tracebench_llm4ad.science.dataset import DataSet
from tracebench_llm4ad.science.evaluator import Answer, EquationEvaluator
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.seclusion import SECLUSION

Ask: TypeAlias = Callable[..., Any]
"""Called with the name of a function and its arguments; returns its value."""
FIT, PREDICT = "fit_the_equation", "predict_by_the_equation"
DOORS = """
def {fit}(inputs, targets, seed):
    return fit_{kind}(equation, inputs, targets, seed=seed)

def {predict}(inputs, params):
    return predict_{kind}(equation, inputs, params)
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one candidate is run, in as many processes as are opened."""

    context: Context
    code: str
    prelude: str
    limits: Limits

    @contextmanager
    def process(self) -> Iterator[Ask]:
        """Open a process that holds the candidate, and yield what asks it; raises `EvaluationFailed`."""
        with self.context.sandbox.session(self.code, FIT, limits=self.limits, prelude=self.prelude) as session:

            def ask(entry: str, *args: Any) -> Any:
                outcome = session.call(*args, entry=entry)
                if outcome.status != "ok":
                    raise EvaluationFailed(explain(outcome))
                return outcome.value

            yield ask


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

    def _solved(self, code: str, example: Example, context: Context) -> list[Answer]:
        """Return one answer per data set of the example."""
        bench = Bench(
            context=context,
            code=code,
            prelude=SECLUSION + NUMPY_PRELUDE + self._harness + seeding(context.seed, numpy=True),
            limits=Limits(seconds=self.evaluator.options.timeout_seconds * len(example.input)),
        )
        cases: Sequence[Case] = example.input
        with bench.process() as ask:
            params = [self._fitted(ask, case) for case in cases]
        answers, checks = [], []
        for place, case in enumerate(cases):
            following = (place + 1) % len(cases)
            with bench.process() as ask:
                answers.append(Answer(params[place], self._predicted(ask, case, params[place])))
                if following != place:
                    checks.append(self._every_other(ask, cases[following], params[following]))
        if len(cases) == 1:
            with bench.process() as ask:
                checks.append(self._every_other(ask, cases[0], params[0]))
        for place, again in enumerate(checks[-1:] + checks[:-1]):
            self._compare(cases[place], answers[place].predicted, again)
        return answers

    def _computed_anchors(self, instance: DataSet) -> Anchors:
        """Return the digits of the starting equation and of the generating law, both fitted in this process."""
        return Anchors(start=self.evaluator.start(instance), bound=self.evaluator.bound(instance))

    def _fitted(self, ask: Ask, case: Case) -> Vector:
        """Return the constants that fit a data set."""
        data: DataSet = case.instance
        with named(case):
            return array(
                ask(FIT, list(data.fit_inputs), data.fit_targets, self.evaluator.options.seed),
                shape=(fitting.N_PARAMS,),
                what="an equation that can be fitted: the constants",
            )

    def _predicted(self, ask: Ask, case: Case, params: Vector) -> Vector:
        """Return the predictions for all held-out rows."""
        data: DataSet = case.instance
        with named(case):
            return array(
                ask(PREDICT, list(data.held_inputs), params), shape=data.held_targets.shape, what="predictions"
            )

    def _every_other(self, ask: Ask, case: Case, params: Vector) -> Vector:
        """Return the predictions for every other held-out row, from a process that has not seen the rows between them."""
        some = self.evaluator.every_other(case.instance)
        with named(case):
            return array(ask(PREDICT, some.inputs, params), shape=some.where.shape, what="predictions")

    def _compare(self, case: Case, predicted: Vector, again: Vector) -> None:
        """Refuse predictions that are not those made without the other rows."""
        where = self.evaluator.every_other(case.instance).where
        largest = float(np.max(np.abs(predicted), initial=1.0))
        with named(case):
            if not np.allclose(again, predicted[where], rtol=1e-6, atol=1e-9 * largest):
                raise invalid(
                    "The value of `equation` for a row depends on other rows or on earlier calls; it must be a function of its own row "
                    "and of `params` alone."
                )
