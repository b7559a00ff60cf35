"""Tasks whose single parameter is the source of a candidate in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from tracebench_core.contracts import Context, Guide
from tracebench_core.specs import Calibration, Example, Parameter, Split, Values
from tracebench_kernelbench.calibrations import PARAMETER, of_module, of_numba
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.modules.backends import BACKENDS
from tracebench_kernelbench.modules.exercise import Exercise, ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.options import BY_RUN, Options
from tracebench_kernelbench.server.orders import Order
from tracebench_kernelbench.task import have_judged, scaled, score

_MODULE = """Write a faster replacement of this PyTorch module for one core of this machine, with {title}. {advice}

Define `ModelNew`: it is made and called as `Model` is, makes its weights in the same order, and returns the same shapes and types. The
score is the speed-up over `Model`, in processor time; a speed-up within the noise counts as 1, and a wrong result as 0. Each call has
fresh inputs, and every output is checked, within {atol:g} + {rtol:g} * |value|; {atol:g} is meant for outputs of size 1 or more,
and is less for smaller ones; both are less where numbers of half precision would keep them. Inputs that the code draws between 0 and 1
reach from -4 to 4 where the module allows it.

```python
{code}
```
"""
_OWN = """Write a fast kernel in Python for one core of this machine, with {title}: {what}. {advice}

Define `kernel({names}, out)` over numpy arrays, which writes its result into `out`. The score is the speed-up over a plain kernel in C, in
processor time; a speed-up within the noise counts as 1, and a wrong result as 0. Each call has fresh inputs, and every output is checked,
within {atol:g} + {rtol:g} * |value|.
"""
_START = """import numba


@numba.njit
def work({names}, out):
    raise NotImplementedError


def kernel({names}, out):
    work({names}, out)
"""


class ModuleOptions(Options):
    """Settings of a task of KernelBench's own problems."""

    backend: Literal["torch", "torch_compile", "cpp", "numba", "triton"] = "torch"
    """What the candidate is written with."""
    compile_seconds: float = Field(default=120.0, gt=0, le=600)
    """Seconds that building it, or loading it, may take."""


class PythonTask:
    """A core `Task` made of an `Exercise`."""

    def __init__(
        self, exercise: Exercise, options: Options, *, objective: str, initial: str, tells_half: bool = True
    ) -> None:
        if options.where in {None, BY_RUN}:
            exercise.backend.require()
        self._exercise, self._options, self._tells_half = exercise, options, tells_half
        self.objective = objective
        self.guide: Guide = score
        self.parameters: Sequence[Parameter] = (
            Parameter(name=PARAMETER, initial=initial, kind="code", description="Python source.", max_length=100_000),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {
            "train": (Example(id="train-0", input=1),),
            "test": (Example(id="test-0", input=2),),
        }

    def run(self, values: Values, example: Example, context: Context) -> Verdict:
        """Judge the source here or on a server."""
        source, effort = str(values[PARAMETER]), scaled(self._options.effort, int(example.input))
        if self._options.where is None:
            return judge_python(self._exercise, source, context.sandbox, effort)
        order = {**self._exercise.ordered(), "backend": self._exercise.backend.name, "source": source, "effort": effort}
        return have_judged(Order(**order), self._options, context)

    def calibrations(self) -> Iterable[Calibration]:
        """Return candidates of known ratio."""
        if isinstance(self._exercise, OwnExercise):
            return of_numba(self._exercise.problem)
        backend = self._exercise.backend
        initial = str(self.parameters[0].initial)
        return of_module(initial, backend.name, timed=backend.timed, tells_half=self._tells_half)

    def close(self) -> None:
        """Do nothing: the sandbox is the engine's."""


def module_task(code: str, options: ModuleOptions, *, tells_half: bool = False) -> PythonTask:
    """Build the task of a problem of KernelBench; it starts from the module itself, renamed.

    `tells_half` says that the problem is known to tell half precision from single.
    """
    exercise = ModuleExercise(code, BACKENDS[options.backend])
    backend = exercise.backend
    objective = _MODULE.format(
        title=backend.title,
        advice=backend.advice,
        atol=exercise.tolerance.atol,
        rtol=exercise.tolerance.rtol,
        code=code.strip(),
    )
    return PythonTask(exercise, options, objective=objective, initial=renamed(code), tells_half=tells_half)


def own_task(exercise: OwnExercise, options: Options) -> PythonTask:
    """Build the task of a problem of our own; it starts from a kernel that is to be written."""
    problem, backend = exercise.problem, exercise.backend
    names = ", ".join(array.name for array in problem.inputs)
    arrays = "; ".join(f"`{a.name}` {a.shape} {'float32' if a.kind == 'f' else 'int32'}" for a in problem.arrays)
    what = f"{problem.title[0].lower()}{problem.title[1:]}. Arrays: {arrays}. The plain kernel:\n```c\n{problem.source}```\n"
    objective = _OWN.format(
        title=backend.title, advice=backend.advice, what=what, names=names, atol=problem.atol, rtol=problem.rtol
    )
    return PythonTask(exercise, options, objective=objective, initial=_START.format(names=names))


def renamed(code: str) -> str:
    """Return a problem's own module as a candidate: `Model` becomes `ModelNew`."""
    head, found, tail = code.partition("class Model(")
    return f"{head}class ModelNew({tail.replace('super(Model,', 'super(ModelNew,')}" if found else code
