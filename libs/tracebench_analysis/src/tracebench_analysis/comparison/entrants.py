"""Who is compared on what: short names for trainers with their settings and models, and for tasks with their options."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tracebench_core.specs import JobSpec
from tracebench_runs.results.rows import TaskKey, group_of


class EntrantKey(NamedTuple):
    """What the seeds of one entrant have in common."""

    trainer_id: str
    params: str
    optimizer: str
    model: str
    run: str
    """Empty unless runs are compared with one another."""


def entrant_of(job: JobSpec, *, run: str = "") -> EntrantKey:
    """Return whose result a job is; `run` keeps the entrants of different runs apart."""
    group = group_of(job)
    return EntrantKey(group.trainer_id, group.params, group.optimizer, told_models(job), run)


def told_models(job: JobSpec) -> str:
    """Return the models of a job, with the name of its variant where the models alone do not say it."""
    models = models_of(job)
    same = job.llm_variant.rpartition("/")[2] in {"", models.rpartition("/")[2]}
    return models if same else f"{models} [{job.llm_variant}]"


def models_of(job: JobSpec) -> str:
    """Return the models of a job's roles, one name when all are the same."""
    names = {role: identity.model for role, identity in sorted(job.models.items())}
    different = set(names.values())
    return different.pop() if len(different) == 1 else ", ".join(f"{role}: {name}" for role, name in names.items())


def name_entrants(
    keys: Iterable[EntrantKey], labels: Mapping[EntrantKey, str] = MappingProxyType({})
) -> dict[EntrantKey, str]:
    """Return the shortest names that tell entrants apart: the trainer's label or its id, and of the rest only what differs."""
    every = list(dict.fromkeys(keys))
    called = {key: labels.get(key) or key.trainer_id for key in every}
    by_name: dict[str, list[EntrantKey]] = defaultdict(list)
    for key in every:
        by_name[called[key]].append(key)
    several_models = len({key.model for key in every}) > 1
    several_runs = len({key.run for key in every}) > 1
    names = {}
    for key in every:
        group = by_name[called[key]]
        parts = [key.trainer_id] if len({k.trainer_id for k in group}) > 1 else []
        parts += [_settings(key.params, [k.params for k in group], but="optimizer_kwargs")]
        parts += [_proposer(key.optimizer, [k.optimizer for k in group])]
        parts += [key.model] if several_models else []
        inside = "; ".join(part for part in parts if part)
        names[key] = f"{called[key]}{f' ({inside})' if inside else ''}{f' @ {key.run}' if several_runs else ''}"
    return names


def name_tasks(keys: Iterable[TaskKey]) -> dict[TaskKey, str]:
    """Return a task's id, with its version, guide and options where the id alone would name several."""
    every = list(dict.fromkeys(keys))
    names = {}
    for key in every:
        same = [other for other in every if other.task_id == key.task_id]
        extra = [_settings(key.eval_kwargs, [k.eval_kwargs for k in same])]
        extra += [f"guide {key.guide or 'of the task'}"] if len({k.guide for k in same}) > 1 else []
        extra += [f"version {key.version}"] if len({k.version for k in same}) > 1 else []
        inside = "; ".join(part for part in extra if part)
        names[key] = f"{key.task_id} ({inside})" if inside else key.task_id
    return names


def _proposer(own: str, every: Sequence[str]) -> str:
    """Return of a proposer, given as its name and its settings, what differs from any other."""
    if len({*every}) == 1:
        return ""
    split = [text.partition(" ") for text in every]
    name, _, settings = own.partition(" ")
    of_name = [s for n, _, s in split if n == name]
    told = [name] if len({n for n, _, _ in split}) > 1 else []
    return " ".join(filter(None, [*told, _settings(settings, of_name)]))


def _settings(own: str, every: Sequence[str], *, but: str = "") -> str:
    """Return the settings, given as JSON objects, in which one differs from any other; `but` is told elsewhere."""
    parsed: list[Mapping[str, Any]] = [json.loads(text or "{}") for text in dict.fromkeys(every)]
    mine: Mapping[str, Any] = json.loads(own or "{}")
    fields = dict.fromkeys(name for settings in parsed for name in settings if name != but)
    differing = [name for name in fields if len({json.dumps(s.get(name, "default")) for s in parsed}) > 1]
    return ", ".join(f"{name}={_plain(mine.get(name, 'default'))}" for name in differing)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
