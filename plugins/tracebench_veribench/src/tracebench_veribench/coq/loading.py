"""The loaders that specs name: `prompt_<problem>`, `file_<problem>`, `answers_<problem>` and `suite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Split
from tracebench_veribench.coq.catalog import TEST, TRAIN, VALIDATION
from tracebench_veribench.coq.problem import CoqProblem, load_problem
from tracebench_veribench.coq.verifying import verify
from tracebench_veribench.prover import COQ, Assignment
from tracebench_veribench.stages import Verdict
from tracebench_veribench.tasks import FileOptions, FileTask, PromptOptions, PromptTask


def suite(*, splits: frozenset[Split] = frozenset(("train", "validation", "test")), **options: Any) -> PromptTask:
    """Build the task of one prompt for all problems, with problems held out for validation and test."""
    chosen = PromptOptions(**options)
    parts: dict[Split, tuple[str, ...]] = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    return PromptTask(
        COQ, {split: _assignments(names, chosen) for split, names in parts.items() if split in splits}, chosen
    )


def __getattr__(name: str) -> Callable[..., Any]:
    kind, _, problem = name.partition("_")
    if kind == "prompt":
        return partial(_prompt_task, problem)
    if kind == "file":
        return partial(_file_task, problem)
    if kind == "answers":
        return partial(_answers, problem)
    raise AttributeError(name)


def _prompt_task(problem: str, **options: Any) -> PromptTask:
    chosen = PromptOptions(**options)
    return PromptTask(COQ, {"train": _assignments((problem,), chosen)}, chosen)


def _file_task(problem: str, **options: Any) -> FileTask:
    chosen = FileOptions(**options)
    return FileTask(COQ, _assignments((problem,), chosen)[0], chosen)


def _answers(problem: str, _options: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"file": load_problem(problem).gold}]


def _assignments(names: Sequence[str], options: FileOptions) -> tuple[Assignment, ...]:
    return tuple(_assignment(load_problem(name), options) for name in names)


def _assignment(problem: CoqProblem, options: FileOptions) -> Assignment:
    def judge(text: str, context: Context) -> Verdict:
        return verify(problem, text, context, seconds=options.timeout_seconds)

    return Assignment(problem.name, problem.prompt(), judge, problem.theorems, problem.skeleton())
