"""Runs that optimise nothing: given candidates of a task, measured by the engine and compared example by example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracebench_analysis.logs import GIVEN
from tracebench_analysis.logs.given import GivenCandidate, compare_given, given_candidates
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Parameter, RunConfig, Split, TaskEntry, TaskSpec, TrainerEntry, Values
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.measure.building import TRAINING_SPLITS, open_task

__all__ = ["GIVEN", "GivenCandidate", "compare_given", "given_candidates", "given_config", "task_and_parameters"]

MOST_OF_LABEL = 60
"""Characters of a trainer's label."""


def task_and_parameters(
    config: RunConfig, task_id: str, options: Mapping[str, Any], *, root: Path | None
) -> tuple[TaskSpec, Sequence[Parameter]]:
    """Return a task, the first that the id means, and its parameters under these options; it is opened without its test split.

    Raises:
        UsageError: when nothing, or more than one thing, could be meant.
        PluginError: when the task cannot be built.
    """
    host = open_host(root=root, plugins=config.plugins)
    full_id = resolve_task_ids(host, task_id)[0]
    opened = open_task(host, full_id, eval_kwargs=options, splits=TRAINING_SPLITS)
    try:
        return opened.spec, tuple(opened.task.parameters)
    finally:
        opened.close()


def given_config(
    base: RunConfig,
    spec: TaskSpec,
    task_id: str,
    candidates: Mapping[str, Values],
    *,
    options: Mapping[str, Any],
    split: Split | None,
    limit: int | None,
    seeds: Sequence[int],
    in_flight: int,
) -> RunConfig:
    """Return the config that measures candidates, by name, on the first `limit` examples of a split, by each of the seeds.

    Models, prices, caps and folders are those of `base`. Where the task says which option sizes the split, it is given `limit`, so that
    more examples than it has by default can be asked for; every answer is recorded, so that the run can be replayed. `in_flight` calls of a
    model are under way at a time; half as many examples again wait or are scored meanwhile, so that no call waits for a score.
    """
    chosen: Split = split or "test"
    sized = {spec.size_options[chosen]: limit} if limit is not None and chosen in spec.size_options else {}
    asked = {"split": split, "limit": limit}
    settings = {name: value for name, value in asked.items() if value is not None}
    entries = tuple(
        TrainerEntry(
            id=GIVEN, label=_label(name), params_variants=({"name": name, "values": dict(values), **settings},)
        )
        for name, values in candidates.items()
    )
    llm = base.llm.model_copy(update={"record": base.mode == "real", "max_concurrency": in_flight})
    waiting = in_flight // 2 if spec.asks_model(options) else 0
    return base.model_copy(
        update={
            "tasks": (TaskEntry(id=task_id, eval_kwargs={**sized, **options}),),
            "trainers": entries,
            "trainer_kwargs": {},
            "optimizer_kwargs": {},
            "seeds": tuple(seeds),
            "eval_workers": in_flight + waiting,
            "llm": llm,
        }
    )


def _label(name: str) -> str:
    """Return a candidate's name as tables take it: one line, its end where it is long."""
    plain = "".join(c if c.isprintable() else " " for c in name).strip()
    return plain if len(plain) <= MOST_OF_LABEL else plain[-MOST_OF_LABEL + 1 :].strip()
