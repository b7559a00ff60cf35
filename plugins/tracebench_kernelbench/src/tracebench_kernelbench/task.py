"""One problem as a task: its single parameter is the kernel's source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed, Guide
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, Split, Values
from tracebench_kernelbench.building import FLAGS
from tracebench_kernelbench.calibrations import PARAMETER, of_c
from tracebench_kernelbench.catalog import ENVIRONMENT
from tracebench_kernelbench.client import Servers, judge_remotely
from tracebench_kernelbench.judging import Verdict, judge
from tracebench_kernelbench.options import BY_RUN, Effort, Options
from tracebench_kernelbench.problem import Array, Problem
from tracebench_kernelbench.server.orders import Order

OBJECTIVE = """Write a faster kernel in C or C++ for one core of this machine: {title}.

It defines `{signature}`. Arrays lie in row-major order and do not overlap: {arrays}. Sizes are fixed.
It is built with `gcc {flags}` (C++, where it is not C, with `g++`); intrinsics and pragmas are welcome. There are no further libraries,
threads, processes or files. The score is the speed-up over the plain kernel that you start from, in CPU time; a speed-up within the noise
counts as 1, and a wrong result as 0. Results may differ from the exact ones by {atol:g} + {rtol:g} * |value|. Each call has fresh inputs,
and every output is checked.
"""
_TEST_EFFORT = 2
"""How many times the rounds of training the test takes."""


class KernelTask:
    """A core `Task` made of a `Problem`."""

    def __init__(self, problem: Problem, options: Options) -> None:
        self.problem = problem
        self._options = options
        self.objective = OBJECTIVE.format(
            title=problem.title[0].lower() + problem.title[1:],
            signature=problem.signature,
            arrays=", ".join(map(_describe, problem.arrays)),
            flags=" ".join(FLAGS),
            atol=problem.atol,
            rtol=problem.rtol,
        )
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name=PARAMETER,
                initial=problem.source,
                kind="code",
                description=f"C or C++ that defines `{problem.signature}`.",
                max_length=100_000,
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {
            "train": (Example(id="train-0", input=1),),
            "test": (Example(id="test-0", input=_TEST_EFFORT),),
        }
        self.guide: Guide = score

    def run(self, values: Values, example: Example, context: Context) -> Verdict:
        """Judge the source here or on the server."""
        source, effort = str(values[PARAMETER]), scaled(self._options.effort, example.input)
        if self._options.where is None:
            return judge(self.problem, source, context.sandbox, effort)
        return have_judged(Order(problem=self.problem.name, source=source, effort=effort), self._options, context)

    def calibrations(self) -> Iterable[Calibration]:
        """Return kernels of known ratio."""
        return of_c(self.problem)

    def self_check(self) -> Sequence[str]:
        """Say whether a constant would pass."""
        if self.problem.is_degenerate():
            return [f"The output of `{self.problem.name}` does not depend on its inputs: a constant would pass."]
        return []


def have_judged(order: Order, options: Options, context: Context) -> Verdict:
    """Have a server judge, as the options say which; see `client.judge_remotely` for what it raises."""
    where = options.where or BY_RUN
    addresses = context.environment(ENVIRONMENT)["address"] if where == BY_RUN else where
    with Servers(addresses, token_variable=options.server_token) as servers:
        return judge_remotely(servers, order, patience=options.server_patience, check=context.check)


def score(_example: Example, output: Any, _context: Context) -> Feedback:
    """Return the feedback of a verdict.

    Raises:
        EvaluationFailed: for a kernel that is not right.
    """
    verdict: Verdict = output
    feedback = Feedback(score=verdict.score, text=verdict.text, metrics=verdict.metrics, status=verdict.status)
    if verdict.status != "ok":
        raise EvaluationFailed(feedback)
    return feedback


def scaled(effort: Effort, factor: int) -> Effort:
    """Return a multiple of an effort, within its bounds."""
    bounds = {"trials": 20, "least": 200, "most": 200}
    return effort.model_copy(
        update={name: min(getattr(effort, name) * factor, most) for name, most in bounds.items()}
        | {"budget_ms": effort.budget_ms * factor}
    )


def _describe(array: Array) -> str:
    shape = " x ".join(map(str, array.shape))
    if array.kind == "f":
        return f"`{array.name}` {shape} floats"
    if array.kind == "i" and array.limit:
        return f"`{array.name}` {shape} integers below {array.limit}"
    return f"`{array.name}` {shape} integers" + (", which never fall" if array.kind == "p" else "")
