"""`python -m tracebench_kernelbench.server.worker`: judges one order after another, a line of JSON each, on its standard streams.

A candidate runs in the sandbox, two processes farther on, and has no way to these streams. What a candidate in Python may import is loaded
by the sandbox that the first of them opens.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import TraceBenchError
from tracebench_kernelbench.judging import Verdict, judge
from tracebench_kernelbench.modules.backends import BACKENDS, loaded_beforehand
from tracebench_kernelbench.modules.exercise import Exercise, ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.source import WEIGHTS, loads_weights
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.server.orders import Order
from tracebench_sandbox import open_sandbox


class Bench:
    """The sandboxes of one worker, each opened when it is needed first."""

    def __init__(self, kept: ExitStack) -> None:
        self._kept, self._open = kept, dict[str, Any]()

    def judge(self, order: Order) -> Verdict:
        """Judge a candidate.

        Raises:
            NotMeasured: when something other than the candidate fails.
            TraceBenchError: where what it is written with is not installed.
        """
        if order.backend is None:
            return judge(PROBLEMS[order.problem], order.source, self._sandbox("c", ()), order.effort)
        if order.reference and loads_weights(order.reference):
            raise NotMeasured(f"This module cannot be judged: {WEIGHTS}", retry=False)
        backend = BACKENDS[order.backend]
        backend.require()
        own = OwnExercise(PROBLEMS[order.problem]) if order.problem else None
        exercise: Exercise = own or ModuleExercise(order.reference, backend)
        loaded = ("numpy", *backend.modules, *backend.besides) if own else loaded_beforehand(BACKENDS.values())
        sandbox = self._sandbox("own" if own else "modules", loaded)
        return judge_python(exercise, order.source, sandbox, order.effort)

    def _sandbox(self, kind: str, loaded: tuple[str, ...]) -> Any:
        if kind not in self._open:
            self._open[kind] = self._kept.enter_context(open_sandbox(preload=loaded))
        return self._open[kind]


def main() -> None:
    """Answer orders until standard input ends."""
    with ExitStack() as kept:
        bench = Bench(kept)
        for line in sys.stdin:
            sys.stdout.write(json.dumps(_answer(Order.model_validate_json(line), bench)) + "\n")
            sys.stdout.flush()


def _answer(order: Order, bench: Bench) -> dict[str, Any]:
    try:
        return {"verdict": asdict(bench.judge(order))}
    except (NotMeasured, TraceBenchError) as err:
        return {"error": str(err)}


if __name__ == "__main__":
    main()
