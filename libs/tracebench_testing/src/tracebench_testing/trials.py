"""Run a trainer on a task in this process, on the engine's own problem, with a function for a model."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Optimizer, Problem, Trainer
from tracebench_core.errors import BudgetExhausted, TrainingStopped
from tracebench_core.specs import Budget, BudgetState, Candidate, SandboxConfig, TaskSpec
from tracebench_core.specs.events import CandidateSeen, EvaluationDone, Event, Scored, StepFinished
from tracebench_engine.api.installed.hosting import open_host
from tracebench_engine.api.kit.jobs import (
    FINALISTS,
    EvaluationService,
    JobConfinement,
    Meter,
    MeteredProblem,
    Recorder,
    Scorer,
    Setup,
    Shared,
    build_reflective,
    job_sandbox,
)
from tracebench_engine.api.kit.parts import SealedTask, build_wrapped
from tracebench_testing.answering import Answer, AnsweringModels
from tracebench_testing.toys import Toy

BuildOptimizer = Callable[[Problem], Optimizer]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trainer did: its events, and how it ended."""

    events: tuple[Event, ...]
    best: Candidate
    used: BudgetState
    failed_calls: int
    spent: str | None
    """The axis whose cap ended the training, or None."""
    error: BaseException | None
    """What the trainer raised, other than a spent budget."""

    @property
    def evaluations(self) -> list[EvaluationDone]:
        """The trainer's own evaluations."""
        return [e for e in self.events if isinstance(e, EvaluationDone) and e.by == "trainer"]

    @property
    def candidates(self) -> list[CandidateSeen]:
        """The candidates, in order of appearance."""
        return [e for e in self.events if isinstance(e, CandidateSeen)]

    @property
    def steps(self) -> list[StepFinished]:
        """The steps that ended."""
        return [e for e in self.events if isinstance(e, StepFinished)]

    def score(self, what: str = "best", *, split: str = "validation") -> float | None:
        """Return the engine's own score of the `initial`, `best` or `final` candidate; train stands in where there is no validation."""
        scored = [e for e in self.events if isinstance(e, Scored) and e.what == what]
        wanted = [e for e in scored if e.split == split] or [e for e in scored if e.split != "test"]
        return wanted[0].score if wanted else None

    def gain(self) -> float:
        """Return how much better the best candidate is than the initial one, by the engine's scores; negative infinity without them."""
        best, initial = self.score(), self.score("initial")
        return -math.inf if best is None or initial is None else best - initial

    def comparable(self) -> list[dict[str, Any]]:
        """Return the events without times and without what was used at each, for comparison with another trial.

        What was used depends on how many evaluations were under way at a time.
        """
        return [_lasting(e.model_dump(mode="json")) for e in self.events]


def run_trial(
    trainer: Trainer,
    toy: Toy,
    *,
    answer: Answer,
    budget: Budget | None = None,
    seed: int = 0,
    workers: int = 1,
    optimizer: BuildOptimizer | None = None,
) -> Trial:
    """Train on the toy until done or out of budget, then have the engine score what was found.

    Args:
        trainer: the trainer.
        toy: the task.
        answer: stands in for the model of every role.
        budget: caps; None for none.
        seed: of the job.
        workers: evaluations at a time.
        optimizer: builds the proposer, whatever the trainer asks for; `Reflective` by default.
    """
    caps = budget or Budget()
    events: list[Event] = []
    recorder = Recorder(lambda event: events.append(event.model_copy(update={"seq": len(events)})))
    models = AnsweringModels(answer, caps=caps)
    meter = Meter(caps, models=models)
    sandbox = job_sandbox(SandboxConfig(), address=None, preload=())
    build = optimizer or build_reflective
    spent: str | None = None
    error: BaseException | None = None
    with tempfile.TemporaryDirectory() as folder:
        sealed = SealedTask(toy.task)
        spec = TaskSpec(
            name=toy.name, loader="toys:build", title=toy.name, worst_score=toy.worst_score, objectives=toy.objectives
        )
        shared = Shared(models, sandbox, workdir=Path(folder, "work"), artifacts=Path(folder, "artifacts"))
        initial = Candidate(id="c0", values={p.name: p.initial for p in sealed.parameters})
        service = EvaluationService(
            sealed,
            sealed.guide,
            shared,
            spec=spec,
            initial=initial,
            seed=seed,
            workers=workers,
            before=meter.check_time,
        )
        setup = Setup(
            seed=seed,
            meter=meter,
            models=models,
            recorder=recorder,
            service=service,
            workshop=_TrialWorkshop(build),
            confinement=JobConfinement(recorder.caged),
            objectives=toy.objectives,
            worst_score=toy.worst_score,
        )
        problem = MeteredProblem(sealed, setup)
        try:
            trainer.train(problem)
        except BudgetExhausted as end:
            spent = end.axis
        except TrainingStopped:  # no fault of the trainer's
            pass
        except (Exception, SystemExit) as err:  # noqa: BLE001 - how a trainer ends is what a trial finds out
            error = err
        meter.stop()
        models.close()
        problem.settle()
        service.close()
        error = service.broken or error
        if service.broken is None:
            finalists = [problem.candidate(id_) for id_ in problem.finalists(FINALISTS)]
            judging = EvaluationService(sealed, sealed.guide, shared, spec=spec, initial=initial, seed=seed)
            scorer = Scorer(
                service=judging,
                validation=problem.validation or problem.train,
                split="validation" if problem.validation else "train",
                test=tuple(toy.task.splits.get("test", ())),
                models=models,
                recorder=recorder,
                worst_score=toy.worst_score,
            )
            scorer.test_once(initial, scorer.choose(finalists, final=problem.last))
    sandbox.close()
    return Trial(tuple(events), problem.best, meter.used(), models.failed, spent, error)


@dataclass(frozen=True, slots=True)
class _TrialWorkshop:
    """Builds the trial's one proposer, whatever is asked for, and no other trainer."""

    build: BuildOptimizer

    def optimizer(self, problem: Problem, _name: str | None, _kwargs: Mapping[str, Any]) -> Optimizer:
        return self.build(problem)

    def trainer(self, name: str, settings: Mapping[str, Any]) -> Trainer:
        """Build a wrapped trainer from what is installed."""
        return build_wrapped(open_host(), name, settings)


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _lasting(v) for k, v in value.items() if k not in {"seconds", "t", "mono", "used"}}
    return [_lasting(v) for v in value] if isinstance(value, list) else value
