"""Build what a job is made of: its task, guide, trainer and proposer, each from what its spec names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from tracebench_core.contracts import Guide, Optimizer, Problem, Task, Trainer
from tracebench_core.errors import PluginError, UsageError
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import Component, Example, Parameter, Split, TaskSpec
from tracebench_engine.measure.context import Environments
from tracebench_engine.measure.datasets import open_dataset
from tracebench_engine.measure.requirements import refuse_unmet
from tracebench_runs.events.ranking import Aggregate, mean

ALL_SPLITS: frozenset[Split] = frozenset(get_args(Split))
TRAINING_SPLITS: frozenset[Split] = frozenset({"train", "validation"})
"""What a process that trains may hold."""


class OpenTask(NamedTuple):
    """A task without its test split, and the test examples apart."""

    task: Task
    guide: Guide
    test: tuple[Example, ...]
    spec: TaskSpec
    closing: Callable[[], object]
    """Ends what the task's data set has opened for it."""

    def self_check(self) -> Sequence[str]:
        """Return what the task finds wrong with itself on this machine."""
        check = getattr(self.task, "self_check", None)
        return tuple(check()) if callable(check) else ()

    def close(self) -> None:
        """Have the task end what it has opened in this process."""
        close = getattr(self.task, "close", None)
        try:
            if callable(close):
                close()
        finally:
            self.closing()


class SealedTask:
    """A task whose test examples are not in it."""

    def __init__(self, task: Task) -> None:
        self.parameters: Sequence[Parameter] = tuple(task.parameters)
        self.objective = task.objective
        self.splits: Mapping[Split, Sequence[Example]] = MappingProxyType(
            {split: tuple(examples) for split, examples in task.splits.items() if split != "test"}
        )
        self.guide = task.guide
        self.run = task.run
        for optional in ("trace_agent", "run_batch", "self_check", "calibrations", "close"):
            offered = getattr(task, optional, None)
            if callable(offered):
                setattr(self, optional, offered)


def open_task(
    host: PluginHost,
    task_id: str,
    *,
    eval_kwargs: Mapping[str, Any],
    guide: str | None = None,
    guide_kwargs: Mapping[str, Any] | None = None,
    splits: frozenset[Split] = ALL_SPLITS,
    salts: Mapping[Split, str] = MappingProxyType({}),
    environments: Environments | None = None,
) -> OpenTask:
    """Build a task and seal its test split; `splits` are those that this process may hold, `salts` what generated ones are drawn from.

    `environments` are the run's, one of which may hold the task's data set; without them the data set is opened here.

    Raises:
        MissingRequirementError: when the machine lacks what the task needs.
        PluginError: when the task breaks the contract.
        UsageError: when it has nothing to train.
    """
    spec = host.task(task_id)
    refuse_unmet(task_id, spec)
    options = load_ref(spec.options, owner=task_id)(**eval_kwargs).model_dump() if spec.options else dict(eval_kwargs)
    load = load_ref(spec.loader, owner=task_id)
    if _takes(load, "splits"):
        options["splits"] = splits
    if spec.salted:
        options["salts"] = {split: salt for split, salt in salts.items() if split in splits}
    closing: Callable[[], object] = _nothing
    if spec.dataset is not None:
        options["dataset"], closing = open_dataset(host, spec.dataset, options, environments=environments)
    try:
        task: Task = load(**options)
        _refuse_broken(task_id, task)
        chosen = task.guide
        if guide is not None:
            chosen = load_ref(host.component("guide", guide).loader, owner=guide)(task, **(guide_kwargs or {}))
    except SystemExit as err:  # it would end the command that asks, without a word
        closing()
        raise PluginError(f"Task `{task_id}` cannot be built: SystemExit: {err}") from err
    except BaseException:
        closing()
        raise
    test = tuple(task.splits.get("test", ())) if "test" in splits else ()
    return OpenTask(SealedTask(task), chosen, test, spec, closing)


def _takes(load: Callable[..., Any], name: str) -> bool:
    """Tell whether a loader has a parameter; a plain function is looked at directly, which is ten times as fast as its signature."""
    if isinstance(load, FunctionType) and not hasattr(load, "__wrapped__") and not hasattr(load, "__signature__"):
        code = load.__code__
        return name in code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    return name in inspect.signature(load).parameters


def _nothing() -> None:
    """Close nothing: no data set was opened."""


def _refuse_broken(task_id: str, task: Task) -> None:
    if not task.parameters:
        raise UsageError(f"Task `{task_id}` has no trainable parameters (no_trainable_parameters).")
    ids = [e.id for examples in task.splits.values() for e in examples]
    if len(set(ids)) != len(ids):
        raise PluginError(f"Task `{task_id}` uses an example id twice.")
    if not task.splits.get("train"):
        raise PluginError(f"Task `{task_id}` has no example in its train split.")


def load_aggregate(host: PluginHost, spec: TaskSpec) -> Aggregate:
    """Return how a task makes one score of many."""
    if spec.aggregate == "mean":
        return mean
    chosen: Aggregate = load_ref(host.component("aggregate", spec.aggregate).loader, owner=spec.aggregate)
    return chosen


def build_trainer(host: PluginHost, trainer_id: str, settings: Mapping[str, Any]) -> Trainer:
    """Build a trainer from its resolved settings."""
    spec = host.component("trainer", trainer_id)
    refuse_unmet(trainer_id, spec, settings)
    build = load_ref(spec.loader, owner=trainer_id)
    trainer: Trainer = build(settings_model(spec, settings) if spec.settings else dict(settings))
    return trainer


def build_wrapped(host: PluginHost, name: str, settings: Mapping[str, Any]) -> Trainer:
    """Build a trainer that another one wraps; other names of its settings are mapped."""
    other = host.component("trainer", name).setting_aliases
    return build_trainer(host, name, {other.get(key, key): value for key, value in settings.items()})


def build_optimizer(host: PluginHost, problem: Problem, *, name: str, kwargs: Mapping[str, Any]) -> Optimizer:
    """Build a proposer for a problem."""
    spec = host.component("optimizer", name)
    refuse_unmet(name, spec)
    built: Optimizer = load_ref(spec.loader, owner=name)(problem, **kwargs)
    return built


def settings_model(spec: Component, settings: Mapping[str, Any]) -> BaseModel:
    """Validate settings against the model that a component names; aliases are expected to be mapped."""
    if spec.settings is None:
        raise PluginError(f"`{spec.name}` declares no settings model.")
    model: type[BaseModel] = load_ref(spec.settings, owner=spec.name)
    try:
        return model.model_validate(dict(settings))
    except ValidationError as err:
        raise UsageError(f"`{spec.name}` cannot take these settings: {err.errors()[0]['msg']}.") from err
