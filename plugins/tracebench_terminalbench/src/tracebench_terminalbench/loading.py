"""Builds tasks: the attribute `task_<name>` is the loader of the task of that name, also of one that no listing shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tracebench_core.errors import UsageError, quoted
from tracebench_terminalbench.catalog import Case, cases_of, task_name
from tracebench_terminalbench.harbor_side.tracebench_harbor.dockerfile import NotUnderstoodError, read_dockerfile
from tracebench_terminalbench.job_config import HERE, backend_of, needs_door
from tracebench_terminalbench.options import MODELLESS, Options
from tracebench_terminalbench.program import STARTED
from tracebench_terminalbench.task import TerminalTask


def __getattr__(attribute: str) -> Callable[..., TerminalTask]:
    name = task_name(attribute)
    if name is None:
        raise AttributeError(attribute)
    return partial(build, name)


def build(name: str, **settings: Any) -> TerminalTask:
    """Return the task of a name under its validated options.

    Raises:
        UsageError: when `harbor_task_path` leads to no task, and when `local` is asked for a task that needs an image.
        MissingRequirementError: when the whole template is optimised and Harbor, whose template it starts from, is not here.
    """
    options = Options(**settings)
    cases = cases_of(name)
    if options.harbor_task_path is not None:
        cases = {split: [_on_disk(case, options.harbor_task_path) for case in some] for split, some in cases.items()}
    every = [case for some in cases.values() for case in some]
    backend = backend_of(options, every)
    if options.agent not in MODELLESS and needs_door(options) and backend not in HERE:
        raise UsageError(
            f"`agent: {options.agent}` asks its model from inside of the sandbox, and `harbor_env: {backend}` does not lead from there to "
            "the gateway; `local` and `oci` do.",
            hint="harbor_env: oci",
        )
    if backend == "local":
        _refuse_images(every)
    return TerminalTask(cases, options)


def _refuse_images(cases: Sequence[Case]) -> None:
    """Refuse tasks on disk that need an image; those of a dataset are refused as soon as Harbor has fetched them."""
    for case in cases:
        try:
            _ = case.path and read_dockerfile(case.path / "environment")
        except NotUnderstoodError as err:
            raise UsageError(
                f"`harbor_env: local` cannot run the task `{case.slug}`: {err}.", hint="docker info"
            ) from err


def _on_disk(case: Case, written: str) -> Case:
    place = STARTED / Path(written).expanduser()
    folder = place if (place / "task.toml").is_file() else place / case.slug
    if not (folder / "task.toml").is_file():
        raise UsageError(
            f"`harbor_task_path` is `{written}`, and there is no `{case.slug}/task.toml` in it.",
            hint=f"ls {quoted(place)}",
        )
    return Case(folder.name, folder)
