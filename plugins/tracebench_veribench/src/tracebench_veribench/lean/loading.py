"""The loaders that specs name: `prompt_<n>` and `file_<n>` for the n-th problem of the root, and `placeholder`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.errors import MissingRequirementError
from tracebench_veribench.discovery.catalog import find_problems
from tracebench_veribench.lean.problem import LeanProblem
from tracebench_veribench.lean.verifying import verify
from tracebench_veribench.prover import LEAN, Assignment
from tracebench_veribench.stages import Verdict
from tracebench_veribench.tasks import FileOptions, FileTask, PromptOptions, PromptTask

FETCH = "python -m tracebench_veribench fetch veribench-data && export VERIBENCH_ROOT=$PWD/veribench-data"


def placeholder(**_: Any) -> PromptTask:
    """Refuse: the id stands for a data set that is not here.

    Raises:
        MissingRequirementError: always.
    """
    raise MissingRequirementError("VeriBench's rows are not on this machine", hint=FETCH)


def __getattr__(name: str) -> Callable[..., Any]:
    kind, _, number = name.partition("_")
    if kind not in {"prompt", "file"} or not number.isdigit():
        raise AttributeError(name)
    problems = list(find_problems().problems.values())
    if int(number) >= len(problems):
        raise AttributeError(f"the root holds no problem {number}")
    return partial(_prompt_task if kind == "prompt" else _file_task, problems[int(number)])


def _prompt_task(problem: LeanProblem, **options: Any) -> PromptTask:
    chosen = PromptOptions(**options)
    return PromptTask(LEAN, {"train": (_assignment(problem, chosen),)}, chosen)


def _file_task(problem: LeanProblem, **options: Any) -> FileTask:
    chosen = FileOptions(**options)
    return FileTask(LEAN, _assignment(problem, chosen), chosen)


def _assignment(problem: LeanProblem, options: FileOptions) -> Assignment:
    def judge(text: str, context: Context) -> Verdict:
        return verify(problem, text, context, seconds=options.timeout_seconds)

    skeleton = problem.skeleton or "-- Translate the program, then state and prove its theorems.\n"
    return Assignment(problem.name, problem.prompt, judge, problem.theorems, skeleton)
