"""Checks of guides, proposers, loggers and environments, each tried on a small task."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Context, Environment, Guide, JobLogger, Optimizer, Problem
from tracebench_core.errors import (
    BrokenTaskError,
    MissingRequirementError,
    NotApplicableError,
    TraceBenchError,
    UsageError,
)
from tracebench_core.plugins import Kind, load_ref
from tracebench_core.specs import Budget, Component, EnvironmentSpec, Example, Values
from tracebench_engine.api.checking import Finding, Skipped
from tracebench_engine.api.evaluating import open_workbench
from tracebench_engine.api.kit.parts import build_optimizer, open_task, refuse_unmet, resolve_settings
from tracebench_testing.answering import Answer, FakeModel
from tracebench_testing.checks.plugin import PluginUnderTest
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import Toy, build_dials, build_number
from tracebench_testing.trials import Trial, run_trial

SMALL_TASK = "internal:numeric_param"
"""What a guide scores whose plugin has no task of its own."""
RUBBISH: tuple[Any, ...] = (None, "", "\x00", float("nan"), [], {"a": object()}, 10**400)
REPLIES = ("", "{", "I would rather not.", '{"values": [1]}', '{"values": {"nobody": 1, "dial_0": "NaN"}}')
WANTED = 2
Found = Iterator[Finding | Skipped]


@dataclass
class Asks:
    """A trainer that asks its proposer a few times and keeps what it gets."""

    proposals: list[list[Values]] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)

    def train(self, problem: Problem) -> None:
        """Ask three times for two proposals each."""
        optimizer = problem.optimizer()
        before = problem.evaluate(problem.initial, problem.train)
        for _ in range(3):
            with problem.step():
                found = optimizer.propose([before], n=WANTED)
                self.proposals.append(found)
                self.breaches += [why for values in found if (why := problem.check(values))]


def check_guide_scores(plugin: PluginUnderTest) -> Found:
    """Score what a task's starting candidate puts out, equally each time.

    The guide is put in place of the guide of each of the plugin's tasks (or, without tasks, of a small one), and scores twice. Mend: a
    guide returns a `Feedback` with a finite score and a text, and draws no chance but from `context.seed`.
    """
    for name, spec in _ready(plugin, "guide", "TB401"):
        if isinstance(spec, Skipped):
            yield spec
            continue
        for task_id in [*plugin.ready_tasks] or [SMALL_TASK]:
            try:
                first, second = (_scored(plugin, name, task_id) for _ in range(2))
            except MissingRequirementError as err:
                yield Skipped("TB401", str(err), f"guide {name}")
                continue
            except TraceBenchError as err:
                yield Finding("TB401", f"on {task_id}: {err}", f"guide {name}")
                continue
            if first != second:
                yield Finding("TB401", f"on {task_id}: two scorings with one seed differ", f"guide {name}")


def check_guide_takes_rubbish(plugin: PluginUnderTest) -> Found:
    """Judge every output, rubbish included.

    None, an empty text, NaN, a list, an object: a program returns what a model wrote. Mend: check the output's type, and give a
    `Feedback` with status `invalid` or raise `EvaluationFailed`; any other exception counts as a bug.
    """
    for name, spec in _ready(plugin, "guide", "TB402"):
        if isinstance(spec, Skipped):
            yield spec
            continue
        task_id = next(iter(plugin.ready_tasks), SMALL_TASK)
        try:
            opened = open_task(
                plugin.host,
                task_id,
                eval_kwargs=plugin.options_of(task_id),
                guide=name,
                guide_kwargs=plugin.options_of(name),
            )
        except TraceBenchError as err:
            yield Skipped("TB402", str(err), f"guide {name}")
            continue
        try:
            example = next(iter(opened.task.splits["train"]))
            for output in RUBBISH:
                trial = _judged(opened.guide, example, output)
                if isinstance(trial.error, BrokenTaskError):
                    yield Finding("TB402", f"it fails on the output {output!r:.40}: {trial.error}", f"guide {name}")
        finally:
            opened.close()


def check_proposals(plugin: PluginUnderTest) -> Found:
    """Propose full assignments within the parameters' bounds, no more than were asked for, and the same for the same replies.

    Mend: `proposing.Intake` turns a model's answer into checked values; chance comes from `problem.rng`.
    """
    for name, build in _proposers(plugin, "TB411"):
        if isinstance(build, Skipped):
            yield build
            continue
        toy = build_dials()
        asks = [Asks(), Asks()]
        trials = [_asked(ask, toy, Teacher(toy.lesson, improves=0.9, harms=0.0), build) for ask in asks]
        if isinstance(trials[0].error, UsageError | NotApplicableError):
            yield Skipped("TB411", str(trials[0].error), f"optimizer {name}")
        elif trials[0].error is not None:
            yield Finding("TB411", f"raised {type(trials[0].error).__name__}: {trials[0].error}", f"optimizer {name}")
        elif asks[0].breaches:
            yield Finding("TB411", f"proposed values that break the bounds: {asks[0].breaches[0]}", f"optimizer {name}")
        elif any(len(found) > WANTED for found in asks[0].proposals):
            yield Finding("TB411", f"proposed more than the {WANTED} asked for", f"optimizer {name}")
        elif asks[0].proposals != asks[1].proposals:
            yield Finding("TB411", "the same seed and the same replies gave other proposals", f"optimizer {name}")


def check_proposer_takes_rubbish(plugin: PluginUnderTest) -> Found:
    """Survive a model that talks rubbish: fewer proposals, never an exception.

    Mend: skip an answer that cannot be read; `proposing.Intake` does.
    """
    for name, build in _proposers(plugin, "TB412"):
        if isinstance(build, Skipped):
            yield build
            continue
        ask = Asks()
        trial = _asked(ask, build_dials(), lambda _, call: REPLIES[call % len(REPLIES)], build)
        if isinstance(trial.error, UsageError | NotApplicableError):
            yield Skipped("TB412", str(trial.error), f"optimizer {name}")
        elif trial.error is not None:
            yield Finding(
                "TB412", f"raised {type(trial.error).__name__} on rubbish: {trial.error}", f"optimizer {name}"
            )
        elif ask.breaches:
            yield Finding("TB412", f"made of rubbish what breaks the bounds: {ask.breaches[0]}", f"optimizer {name}")


def check_logger(plugin: PluginUnderTest) -> Found:
    """Take every event, close twice, and go on in another process.

    A job is trained in one process and scored in another: a logger is built twice for one folder and may lose nothing of the first.
    Mend: append to files, and make `close` idempotent.
    """
    events = run_trial(Asks(), build_number(), answer=FakeModel("")._next, budget=Budget(evaluations=20)).events  # noqa: SLF001
    half = len(events) // 2
    for name, spec in _ready(plugin, "logger", "TB421"):
        if isinstance(spec, Skipped):
            yield spec
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                sizes = [
                    _log(spec, Path(folder), part, plugin.options_of(name)) for part in (events[:half], events[half:])
                ]
            except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever it raises is what its author must see
                yield Finding("TB421", f"raised {type(err).__name__}: {err}", f"logger {name}")
                continue
        lost = [file for file, size in sizes[0].items() if sizes[1].get(file, -1) < size]
        if lost:
            yield Finding("TB421", f"built anew for the same job, it loses what was in {lost[0]}", f"logger {name}")


def check_environment(plugin: PluginUnderTest) -> Found:
    """Open, hand over plain data, and close twice.

    The handle travels to the processes of jobs as JSON. `close` is called again after a crash. What the machine lacks is skipped. Mend:
    return an address, a path or an id, and make `close` idempotent.
    """
    for name, spec in _ready(plugin, "environment", "TB431"):
        if isinstance(spec, Skipped):
            yield spec
            continue
        assert isinstance(spec, EnvironmentSpec)  # noqa: S101 - by its kind
        with tempfile.TemporaryDirectory() as folder:
            try:
                environment: Environment = load_ref(spec.loader, owner=name)(**spec.options | plugin.options_of(name))
                try:
                    json.dumps(environment.open(Opening.of(spec, Path(folder))), allow_nan=False)
                finally:
                    environment.close()
                    environment.close()
            except MissingRequirementError as err:
                yield Skipped("TB431", str(err), f"environment {name}")
            except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever it raises is what its author must see
                yield Finding("TB431", f"raised {type(err).__name__}: {err}", f"environment {name}")


@dataclass(frozen=True)
class Opening:
    """What an environment is opened with, as an `EnvironmentContext`."""

    workdir: Path
    seed: int = 0
    job_id: str | None = None

    @classmethod
    def of(cls, spec: EnvironmentSpec, workdir: Path) -> Opening:
        """Return what one of a spec is opened with: a job's or an evaluation's with a job."""
        return cls(workdir, job_id=None if spec.scope == "run" else "tried")


def _ready(plugin: PluginUnderTest, kind: Kind, code: str) -> Iterator[tuple[str, Component | Skipped]]:
    """Yield each part of a kind with its spec, or with why it cannot be tried here."""
    for name, spec in plugin.parts(kind).items():
        try:
            refuse_unmet(name, spec)
            load_ref(spec.loader, owner=name)
        except TraceBenchError as err:
            yield name, Skipped(code, str(err), f"{kind} {name}")
            continue
        yield name, spec


def _proposers(plugin: PluginUnderTest, code: str) -> Iterator[tuple[str, Callable[[Problem], Optimizer] | Skipped]]:
    for name, spec in _ready(plugin, "optimizer", code):
        if isinstance(spec, Skipped):
            yield name, spec
            continue
        try:
            kwargs = resolve_settings(spec, shared={}, own=plugin.options_of(name), where=f"optimizer `{name}`")
        except TraceBenchError as err:
            yield name, Skipped(code, str(err), f"optimizer {name}")
            continue

        def build(problem: Problem, name: str = name, kwargs: dict[str, Any] = kwargs) -> Optimizer:
            return build_optimizer(plugin.host, problem, name=name, kwargs=kwargs)

        yield name, build


def _asked(ask: Asks, toy: Toy, answer: Answer, build: Callable[[Problem], Optimizer]) -> Trial:
    return run_trial(ask, toy, answer=answer, budget=Budget(evaluations=100, llm_calls=60), optimizer=build)


def _scored(plugin: PluginUnderTest, guide: str, task_id: str) -> list[dict[str, Any]]:
    with open_workbench(
        plugin.host,
        task_id,
        eval_kwargs=plugin.options_of(task_id),
        guide=guide,
        guide_kwargs=plugin.options_of(guide),
        models=FakeModel(""),
    ) as bench:
        return [r.feedback.model_dump() for r in bench.evaluate({}, split="train", most=WANTED)]


def _judged(guide: Guide, example: Example, output: Any) -> Trial:
    """Return what came of a task whose program puts out one thing."""
    toy = build_number()

    def program(_values: Values, _example: Example, _context: Context) -> Any:
        return output

    task = replace(toy.task, program=program, guide=guide, splits={"train": (example,)})
    return run_trial(Asks(), replace(toy, task=task), answer=FakeModel("")._next, budget=Budget(evaluations=1))  # noqa: SLF001


def _log(spec: Component, folder: Path, events: Any, options: dict[str, Any]) -> dict[str, int]:
    """Hand events to a new logger of a folder and return the sizes of the files there."""
    logger: JobLogger = load_ref(spec.loader, owner=spec.name)(folder, **options)
    try:
        for event in events:
            logger(event)
    finally:
        logger.close()
        logger.close()
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}
