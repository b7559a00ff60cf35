"""`python -m tracebench_kernelbench.server.worker`: judges one order after another, a line of JSON each, on its standard streams.

A candidate runs in the sandbox, two processes farther on, and has no way to these streams. What a candidate in Python may import is loaded
by the sandbox that the first of them opens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_kernelbench.judging import Verdict, judge
from tracebench_kernelbench.level4.prepared import FOLDER, told_models, wraps_model
from tracebench_kernelbench.level4.shim import around_models
from tracebench_kernelbench.modules.backends import BACKENDS, Backend, loaded_beforehand
from tracebench_kernelbench.modules.exercise import Exercise, ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.server.orders import Order
from tracebench_sandbox import open_sandbox

_LOADED = ("transformers", "tracebench_kernelbench.level4.warm")
"""What a module around a model imports, and what that would import at work."""


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
        backend = BACKENDS[order.backend]
        backend.require()
        if wraps_model(order.reference):
            return self._around_model(order, backend)
        own = OwnExercise(PROBLEMS[order.problem]) if order.problem else None
        exercise: Exercise = own or ModuleExercise(order.reference, backend)
        loaded = ("numpy", *backend.modules, *backend.besides) if own else loaded_beforehand(BACKENDS.values())
        sandbox = self._sandbox("own" if own else "modules", loaded)
        return judge_python(exercise, order.source, sandbox, order.effort)

    def _around_model(self, order: Order, backend: Backend) -> Verdict:
        """Judge a candidate for a module of level 4."""
        if find_spec("transformers") is None:
            raise MissingRequirementError(
                "modules around models need the package `transformers`",
                hint='pip install "tracebench-kernelbench[models]"',
            )
        models = told_models(order.reference, order.models, order.root)
        exercise = ModuleExercise(order.reference, backend, before=around_models(models, order.root))
        folder = Path(order.root, FOLDER)
        readable = [folder] if order.root and folder.is_dir() else []
        sandbox = self._sandbox("models", (*loaded_beforehand(BACKENDS.values()), *_LOADED), readable)
        verdict = judge_python(exercise, order.source, sandbox, order.effort)
        made = [f"`{name}`" for name, told in models.items() if "config" in told]
        note = f"\nWeights of {', '.join(made)} are made from a seed." if made else ""
        return replace(verdict, text=verdict.text + note)

    def _sandbox(self, kind: str, loaded: tuple[str, ...], readable: Sequence[Path] = ()) -> Any:
        if kind not in self._open:
            self._open[kind] = self._kept.enter_context(open_sandbox(preload=loaded, readable=readable))
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
    except NotMeasured as err:
        return {"error": str(err)}
    except TraceBenchError as err:
        return {"error": f"{err} ({err.hint})" if err.hint else str(err)}


if __name__ == "__main__":
    main()
