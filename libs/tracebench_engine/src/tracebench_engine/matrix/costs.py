"""What a plan's jobs declare of their cost: the sizes of their tasks, and what their trainers expect to use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tracebench_core.ids import canonical_json
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import CostEstimate, JobSpec, Range, TaskShape, TaskSizes, TaskSpec, TrainerSpec
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.measure.building import open_task, settings_model
from tracebench_runs.events.ranking import FINALISTS

SHOWN = 3
"""Tasks that a sentence names."""


@dataclass(frozen=True, slots=True)
class TaskSize:
    """How large an opened task is."""

    shape: TaskShape
    test: int
    uses_model: bool
    """Its program or its guide asks a model."""

    @property
    def scoring(self) -> Range:
        """The evaluations that the engine's own scoring makes of it, on all of validation (train, where there is none) and on test.

        Of the initial candidate alone where nothing else was found; most often of it, the best and the final one; at most of the
        leaders of the other sets, too. Two candidates go to test.
        """
        decides, others = (
            self.shape.validation or self.shape.train,
            bool(self.shape.validation) + bool(self.shape.train),
        )
        return Range(
            low=decides + self.test,
            likely=(FINALISTS + 2) * decides + 2 * self.test,
            high=(FINALISTS + 2 + others) * decides + 2 * self.test,
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of a job before it runs; what is not, with the reason."""

    size: TaskSize | None
    cost: CostEstimate | None
    unknown: str = ""
    advice: tuple[str, ...] = ()
    """What its trainer could not do, or not tell apart, at its budget."""


def declared_costs(plan: Plan, host: PluginHost, *, opens: bool = True) -> dict[str, Declared]:
    """Return by job id what the job's task and trainer declare.

    A task that does not declare its sizes is opened, once, unless none may be; a broken one costs only its own jobs.
    """
    sizes: dict[bytes, TaskSize | str] = {}
    known: dict[bytes, Declared] = {}
    found: dict[str, Declared] = {}
    for job in plan.jobs:
        task = canonical_json([job.task_id, job.eval_kwargs])
        if task not in sizes:
            sizes[task] = _size(job, plan, host, opens=opens)
        budget = job.budget.model_dump(mode="json")
        column = canonical_json([job.task_id, job.eval_kwargs, job.trainer_id, job.settings, budget])
        if column not in known:
            known[column] = _declared(plan.trainers[job.trainer_id], job, sizes[task])
        found[job.job_id] = known[column]
    return found


def declared_sizes(spec: TaskSpec, options: Mapping[str, Any]) -> TaskSizes | None:
    """Return a task's sizes as its spec declares them for these options; None when only opening it can tell."""
    if spec.sizes_of is not None:
        sizes: TaskSizes = load_ref(spec.sizes_of, owner=spec.name)(dict(options))
        return sizes
    if spec.sizes is None or spec.options is None:
        return spec.sizes
    try:
        defaults = load_ref(spec.options, owner=spec.name)().model_dump(mode="json")
    except ValidationError:  # an option without a default
        return None
    return spec.sizes if dict(options) == defaults else None


def _size(job: JobSpec, plan: Plan, host: PluginHost, *, opens: bool) -> TaskSize | str:
    spec = plan.tasks[job.task_id]
    try:
        sizes = declared_sizes(spec, job.eval_kwargs)
        if sizes is not None:
            shape = TaskShape(parameters=sizes.parameters, train=sizes.train, validation=sizes.validation)
            return TaskSize(shape, test=sizes.test, uses_model=spec.asks_model(job.eval_kwargs))
        if spec.dataset is not None:
            return (
                f"`{job.task_id}` declares no sizes for these options, and no plan opens its data set `{spec.dataset}`"
            )
        if not opens:
            return f"`{job.task_id}` declares no sizes"
        opened = open_task(host, job.task_id, eval_kwargs=job.eval_kwargs)
    except (Exception, SystemExit) as err:  # noqa: BLE001 - a task's loader may raise anything; its jobs are of unknown cost
        return f"`{job.task_id}` cannot be opened: {err}"
    splits = opened.task.splits
    shape = TaskShape(
        parameters=len(opened.task.parameters),
        train=len(splits.get("train", ())),
        validation=len(splits.get("validation", ())),
    )
    opened.close()
    return TaskSize(shape, test=len(opened.test), uses_model=spec.asks_model(job.eval_kwargs))


def _declared(spec: TrainerSpec, job: JobSpec, size: TaskSize | str) -> Declared:
    if isinstance(size, str):
        return Declared(None, None, size)
    try:
        settings = settings_model(spec, job.settings) if spec.settings else dict(job.settings)
        advice = load_ref(spec.advice, owner=spec.name) if spec.advice is not None else None
        shape = size.shape.model_copy(update={"budget": job.budget})
        words = () if advice is None else tuple(advice(settings, shape))
        if spec.cost is None:
            return Declared(size, None, f"`{spec.name}` declares no cost", advice=words)
        estimate: Callable[[Any, TaskShape], CostEstimate] = load_ref(spec.cost, owner=spec.name)
        return Declared(size, estimate(settings, shape), advice=words)
    except (Exception, SystemExit) as err:  # noqa: BLE001 - a plugin's cost model may raise anything; the run does not need it
        return Declared(size, None, f"the cost model of `{spec.name}` failed: {err}")


def reasons(declared: Iterable[Declared]) -> list[str]:
    """Return why costs are not known, each reason once."""
    return list(dict.fromkeys(d.unknown for d in declared if d.unknown))


def advised(plan: Plan, declared: Mapping[str, Declared]) -> list[str]:
    """Return what trainers say of their jobs, each sentence once for the tasks that it is true of."""
    said: dict[tuple[str, str], list[str]] = {}
    for job in plan.jobs:
        for words in declared[job.job_id].advice:
            tasks = said.setdefault((job.trainer_id, words), [])
            tasks += [job.task_id] if job.task_id not in tasks else []
    return [f"`{trainer}` on {_named(tasks)}: {words}" for (trainer, words), tasks in said.items()]


def _named(tasks: list[str]) -> str:
    more = f" and {len(tasks) - SHOWN} more tasks" if len(tasks) > SHOWN else ""
    return ", ".join(f"`{task}`" for task in tasks[:SHOWN]) + more
