"""Expand a config to its matrix: tasks x trainers x parameter variants x seeds. Pure and deterministic."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from tracebench_core.errors import ConfigError, NothingSelectedError, RunDirError
from tracebench_core.ids import canonical_json, did_you_mean
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import (
    JobSpec,
    ModelIdentity,
    Role,
    RunConfig,
    Salts,
    Start,
    SweepRange,
    TaskSpec,
    TrainerEntry,
    TrainerSpec,
)
from tracebench_engine.config.instead import of_models
from tracebench_engine.config.meant import elsewhere
from tracebench_engine.matrix.mistakes import Mistakes
from tracebench_engine.matrix.providers import refuse_unknown, settle_providers
from tracebench_engine.matrix.salt_choice import salt_name, settle_salts
from tracebench_engine.matrix.settings import known_names, resolve_options, resolve_settings
from tracebench_engine.matrix.warm_start import read_start
from tracebench_gateway.models import resolve_models
from tracebench_gateway.variants import identity_of, llm_configs
from tracebench_runs.meta.planned import kinds_of

JOB_ID_DIGITS = 12
OF_PROPOSER = "optimizer_kwargs"
"""Among a trainer's settings, those of its proposer."""
MOST_VARIANTS = 10_000
"""Of one trainer's settings."""
NO_LOGGER = frozenset({"none", "null", "off", "disable", "disabled"})


@dataclass(frozen=True, slots=True)
class Plan:
    """A config and the jobs that it means."""

    config: RunConfig
    jobs: Sequence[JobSpec]
    tasks: Mapping[str, TaskSpec]
    trainers: Mapping[str, TrainerSpec]
    salts: Salts | None = field(default=None, repr=False)
    """What generated instances are drawn from; None where they are public, and where there are none."""

    @property
    def asks_models(self) -> bool:
        """Whether a model is asked by a trainer, or by a task under its jobs' options."""
        if any(trainer.uses_model for trainer in self.trainers.values()):
            return True
        return any(self.tasks[job.task_id].asks_model(job.eval_kwargs) for job in kinds_of(self.jobs))


class TaskChoice(NamedTuple):
    """One task of the matrix with its resolved options."""

    id: str
    spec: TaskSpec
    options: dict[str, Any]
    plugin_version: str
    start: Start | None = None


class TrainerChoice(NamedTuple):
    """One trainer variant of the matrix, resolved."""

    id: str
    spec: TrainerSpec
    params: dict[str, Any]
    settings: dict[str, Any]
    optimizer: str | None
    optimizer_kwargs: dict[str, Any]
    entry: TrainerEntry
    logger: str | None


class ModelChoice(NamedTuple):
    """One variant of the models of the matrix, and what of a job's identity it settles."""

    name: str
    models: dict[Role, ModelIdentity]
    identity: dict[str, Any]


def make_plan(
    config: RunConfig,
    host: PluginHost,
    *,
    environ: Mapping[str, str],
    draw: bool = False,
    mistakes: Mistakes | None = None,
) -> Plan:
    """Return the jobs that a config means, in the order tasks, trainers, their variants, variants of models, seeds.

    `mistakes` holds what was found already, and is told together with what is found here. With `draw`, salts are drawn where a task
    needs them and there are none; else nothing is written, and such jobs get other ids later.

    Raises:
        ConfigError: for what cannot be resolved, and for jobs that would be one and the same.
        NothingSelectedError: when there is no task.
    """
    _refuse_twice("seed", config.seeds)
    config = settle_providers(config, host)
    refuse_unknown(config, host)
    mistakes = mistakes or Mistakes()
    with mistakes.at("tasks"):
        if not config.tasks:
            others = (elsewhere(name, value) for name, value in config.trainer_kwargs.items())
            told = next(
                (
                    f" `{name}` is not a known field.{words}"
                    for name, words in zip(config.trainer_kwargs, others, strict=True)
                    if "`tasks:" in words
                ),
                "",
            )
            raise NothingSelectedError(f"The config selects no task.{told}", hint="trace-bench list-tasks")
    tasks = choose_tasks(config, host, mistakes)
    trainers = choose_trainers(config, host, mistakes)
    if not mistakes:
        _note_unheard(config, tasks, trainers, mistakes)
    mistakes.tell()
    is_salted = any(task.spec.salted for task in tasks)
    salts = settle_salts(config, draw=draw) if is_salted else None
    return Plan(
        config=config,
        jobs=tuple(_expand(config, tasks, trainers, environ, salt=salt_name(config, salts))),
        tasks={t.id: t.spec for t in tasks},
        trainers={t.id: t.spec for t in trainers},
        salts=salts,
    )


def choose_tasks(config: RunConfig, host: PluginHost, mistakes: Mistakes) -> list[TaskChoice]:
    """Resolve the config's tasks: groups expanded, options validated; a task that a group and an entry both name is taken once."""
    chosen: dict[bytes, TaskChoice] = {}
    written: set[bytes] = set()
    for i, entry in enumerate(config.tasks):
        if not entry.id:
            continue  # nobody could read which; that was told already
        mark = canonical_json([entry.id, entry.eval_kwargs, entry.initial and entry.initial.model_dump()])
        if mark in written:
            raise ConfigError(f"`tasks[{i}]` is written twice: `{entry.id}` with the same fields.")
        written.add(mark)
        with mistakes.at("tasks", i):
            for task_id in resolve_task_ids(host, entry.id):
                spec = host.task(task_id)
                start = None
                if entry.initial is not None:
                    with mistakes.at("tasks", i, "initial"):
                        where = f"`tasks[{i}].initial`"
                        start = read_start(entry.initial, task_id=task_id, runs_dir=config.runs_dir, where=where)
                with mistakes.at("tasks", i, "eval_kwargs"):
                    options = resolve_options(
                        spec,
                        task_id=task_id,
                        shared=config.eval_kwargs,
                        own=entry.eval_kwargs,
                        where=f"`tasks[{i}].eval_kwargs`",
                    )
                    choice = TaskChoice(task_id, spec, options, host.version_of("task", task_id), start)
                    told = None if start is None else start.model_dump()
                    chosen.setdefault(canonical_json([task_id, options, told]), choice)
    return list(chosen.values())


def choose_trainers(config: RunConfig, host: PluginHost, mistakes: Mistakes) -> list[TrainerChoice]:
    """Resolve the config's trainers and their variants; two variants that resolve to the same settings are a mistake."""
    chosen: dict[bytes, TrainerChoice] = {}
    for i, entry in enumerate(config.trainers):
        if not entry.id:
            continue
        _note_unknown_parts(entry, host, mistakes, i)
        with mistakes.at("trainers", i):
            spec = host.component("trainer", entry.id)
            if not isinstance(spec, TrainerSpec):
                raise ConfigError(f"`trainers[{i}]`: `{entry.id}` is no trainer.")
            for variant, where in variants_of(entry, i):
                with mistakes.at("trainers", i, "sweep" if entry.sweep else "params_variants"):
                    choice = _choose_variant(config, host, entry=entry, spec=spec, variant=variant, where=f"`{where}`")
                    parts = [choice.id, choice.settings, choice.optimizer, choice.optimizer_kwargs]
                    mark = canonical_json([*parts, entry.guide, entry.guide_kwargs])
                    if mark in chosen:
                        raise ConfigError(f"`{where}` resolves to the same settings of `{entry.id}` as another one.")
                    chosen[mark] = choice
    return list(chosen.values())


def _note_unknown_parts(entry: TrainerEntry, host: PluginHost, mistakes: Mistakes, i: int) -> None:
    """Take a mistake for each part of an entry that nobody offers."""
    for kind, name in (("optimizer", entry.optimizer), ("guide", entry.guide), ("logger", entry.logger)):
        if name is not None and (kind != "logger" or name.casefold() not in NO_LOGGER):
            with mistakes.at("trainers", i, kind):
                host.component(kind, name)  # type: ignore[arg-type]  # one of the kinds above


def variants_of(entry: TrainerEntry, i: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the i-th trainer's settings with the place that says so: each of `params_variants` with every combination of `sweep`.

    Raises:
        ConfigError: for a swept setting without values or that a variant sets as well, or more than 10,000 variants.
    """
    where = f"trainers[{i}]"
    axes = {name: given.values() if isinstance(given, SweepRange) else given for name, given in entry.sweep.items()}
    if empty := next((name for name, values in axes.items() if not values), None):
        raise ConfigError(f"`{where}.sweep.{empty}` has no values.", field=("trainers", i, "sweep", empty))
    if len(entry.params_variants) * math.prod(map(len, axes.values())) > MOST_VARIANTS:
        raise ConfigError(
            f"`{where}.sweep` makes more than {MOST_VARIANTS:,} variants.", field=("trainers", i, "sweep")
        )
    for j, variant in enumerate(entry.params_variants):
        if not axes:
            yield dict(variant), f"{where}.params_variants[{j}]"
            continue
        for drawn in product(*axes.values()):
            swept = {**variant, OF_PROPOSER: dict(variant.get(OF_PROPOSER, {}))}
            for name, value in zip(axes, drawn, strict=True):
                group, _, key = name.partition(".")
                target, key = (swept[OF_PROPOSER], key) if group == OF_PROPOSER and key else (swept, name)
                if key in target:
                    raise ConfigError(
                        f"`{where}.sweep.{name}` and `{where}.params_variants[{j}]` both set `{key}`.",
                        field=("trainers", i, "sweep", name),
                    )
                target[key] = value
            if not swept[OF_PROPOSER]:
                del swept[OF_PROPOSER]
            yield swept, f"{where}.sweep"


def _choose_variant(
    config: RunConfig,
    host: PluginHost,
    *,
    entry: TrainerEntry,
    spec: TrainerSpec,
    variant: Mapping[str, Any],
    where: str,
) -> TrainerChoice:
    own = {k: v for k, v in variant.items() if k != "optimizer_kwargs"}
    settings = resolve_settings(spec, shared=config.trainer_kwargs, own=own, where=where)
    entry = _with_full_ids(entry, host)
    optimizer = entry.optimizer or spec.default_optimizer
    given = {**entry.optimizer_kwargs, **variant.get("optimizer_kwargs", {})}
    optimizer_kwargs: dict[str, Any] = {}
    if optimizer is not None and (spec.default_optimizer is not None or entry.optimizer is not None):
        component = host.component("optimizer", optimizer)
        optimizer_kwargs = resolve_settings(
            component, shared=config.optimizer_kwargs, own=given, where=f"{where} optimizer_kwargs"
        )
    elif given:
        raise ConfigError(f"{where}: `{entry.id}` uses no optimizer, and `optimizer_kwargs` are given.")
    if entry.guide is not None:
        host.component("guide", entry.guide)
    logger = None if entry.logger is None or entry.logger.casefold() in NO_LOGGER else entry.logger
    if logger is not None:
        host.component("logger", logger)
    return TrainerChoice(spec.name, spec, dict(variant), settings, optimizer, optimizer_kwargs, entry, logger)


def _with_full_ids(entry: TrainerEntry, host: PluginHost) -> TrainerEntry:
    """Return an entry whose parts from files are named with the files' content."""
    written = {"optimizer": entry.optimizer, "guide": entry.guide, "logger": entry.logger}
    full = {field: host.id_in_file(name) for field, name in written.items() if name is not None}
    return entry.model_copy(update={field: id_ for field, id_ in full.items() if id_ is not None})


def _note_unheard(
    config: RunConfig, tasks: Sequence[TaskChoice], trainers: Sequence[TrainerChoice], mistakes: Mistakes
) -> None:
    """What is set for all must be known to one of them at least: a typo must not vanish."""
    for name_of, values, specs in (
        ("eval_kwargs", config.eval_kwargs, [t.spec for t in tasks]),
        ("trainer_kwargs", config.trainer_kwargs, [t.spec for t in trainers]),
    ):
        heard = [known_names(spec) for spec in specs]
        if None in heard:
            continue
        every = {name for names in heard if names for name in names}
        for name in values:
            with mistakes.at(name_of, name):
                if name in every:
                    continue
                known = (elsewhere(name, values[name]) if name_of == "trainer_kwargs" else "") or did_you_mean(
                    name, every
                )
                known = of_models(name, values[name]) or known
                raise ConfigError(f"`{name_of}.{name}`: nothing chosen knows it.{known}")


def _expand(
    config: RunConfig,
    tasks: Sequence[TaskChoice],
    trainers: Sequence[TrainerChoice],
    environ: Mapping[str, str],
    *,
    salt: str,
) -> Iterator[JobSpec]:
    columns = choose_models(config, environ)
    every_field = set(JobSpec.model_fields)  # one set for all jobs: a set for each takes most of their memory
    for task in tasks:
        for trainer, column in product(trainers, columns):
            fields: dict[str, Any] = {
                "task_id": task.id,
                "trainer_id": trainer.id,
                "settings": trainer.settings,
                "optimizer": trainer.optimizer,
                "optimizer_kwargs": trainer.optimizer_kwargs,
                "guide": trainer.entry.guide,
                "guide_kwargs": trainer.entry.guide_kwargs,
                "eval_kwargs": task.options,
            }
            drawn: dict[str, Any] = {"salt": salt} if task.spec.salted else {}
            begun = {"start": task.start.values} if task.start is not None else {}
            version = {"comparability": task.spec.version.comparability}
            identity = hashlib.sha256(canonical_json({**column.identity, **fields, **version, **drawn, **begun}))
            for seed in config.seeds:
                digest = identity.copy()
                digest.update(b"#%d" % seed)
                yield JobSpec.model_construct(
                    every_field,
                    **fields,
                    job_id=digest.hexdigest()[:JOB_ID_DIGITS],
                    seed=seed,
                    task_version=task.spec.version,
                    plugin_version=task.plugin_version,
                    params=trainer.params,
                    label=trainer.entry.label,
                    logger=trainer.logger,
                    logger_kwargs=trainer.entry.logger_kwargs,
                    mode=config.mode,
                    models=column.models,
                    llm_variant=column.name,
                    budget=config.budget,
                    salt=drawn.get("salt"),
                    start=task.start,
                    timeout=config.timeout,
                )


def choose_models(config: RunConfig, environ: Mapping[str, str]) -> list[ModelChoice]:
    """Return who answers in each variant of the config's models; one, unnamed, where the config has none."""
    found = []
    for variant, (name, llm) in zip(config.llm_variants or (None,), llm_configs(config).items(), strict=True):
        try:
            models = resolve_models(llm, mode=config.mode, environ=environ, replay_from=config.replay_from)
        except RunDirError as err:
            err.field = ("replay_from",)
            raise
        identity = {
            "mode": config.mode,
            "stub": llm.stub if config.mode == "stub" else None,
            "models": {role: _named(identity) for role, identity in models.items()},
            "budget": config.budget.model_dump(),
        }
        if variant is not None:
            identity["llm"] = identity_of(variant)
        found.append(ModelChoice(name, models, identity))
    return found


def _named(identity: ModelIdentity) -> dict[str, Any]:
    """Return a role's models as a job's id takes them; a role with one model has the id that it always had."""
    return identity.model_dump(exclude=None if identity.others else {"others"})


def _refuse_twice(what: str, values: Sequence[Any]) -> None:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ConfigError(f"`{what}s`: {value!r} is written twice.")
        seen.add(value)
