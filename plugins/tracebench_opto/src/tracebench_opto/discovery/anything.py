"""`optimize_anything` of an OpenTrace that has it: the library's own loop, with one of Trace's optimizers behind it.

Source: `opto.optimize_anything`, later `opto.features.optimize_anything` (https://github.com/AgentOpt/OpenTrace/pull/74). It measures
a candidate on all of train, has one proposal made from all feedback on the best, and begins again. The whole set of values is one
candidate; of a task with several parameters the optimizer sees one JSON text. The settings of the library that change nothing in it
(refiner, merge, frontier) are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.schedule import MOST_STEPS
from tracebench_core.proposing.settings import TrainerSettings
from tracebench_core.specs import Values
from tracebench_opto.bridge import features, library
from tracebench_opto.bridge.guard import guarded
from tracebench_opto.bridge.model import ModelFailure
from tracebench_opto.discovery.bench import Bench, Enough, Shared, Submission
from tracebench_opto.discovery.trainer import measure_left, proposer_of, seed_globals
from tracebench_opto.proposers.proposer import TraceProposer

log = logging.getLogger(__name__)


class Settings(TrainerSettings):
    """Settings of the library's loop."""

    max_metric_calls: int | None = Field(default=None, ge=1)
    """Evaluations of one example; None: up to the job's cap, and the library's own 20 where it has none."""
    max_steps: int | None = Field(default=None, ge=0)
    """Proposals; None: as many as the evaluations allow."""
    candidate_selection_strategy: Literal["best", "current"] = "best"
    """Whether the next proposal is made from the best candidate or from the newest."""


@dataclass(frozen=True, slots=True)
class OptimizeAnything:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the library, then measure the best that it met on all of validation (train, where there is none).

        Raises:
            UsageError: when the optimizer is not one of Trace's.
        """
        api = library.load(features.anything() or "opto.optimize_anything")
        bench = Bench(problem, [p.name for p in problem.parameters])
        proposing = Proposing(problem, bench, proposer_of(problem, "optimize_anything"), api)
        seed_globals(problem)
        capped = bool(problem.budget.caps.caps())
        limits = {"max_metric_calls": MOST_STEPS * len(problem.train)} if capped else {}
        told = {name: value for name, value in self.settings if name in LIMITS and value is not None}
        config = api.GEPAConfig(
            engine=api.EngineConfig(
                **limits | told, candidate_selection_strategy=self.settings.candidate_selection_strategy
            ),
            reflection=api.ReflectionConfig(custom_candidate_proposer=proposing.propose),
        )
        try:
            api.optimize_anything(
                seed_candidate=dict(problem.initial),
                evaluator=proposing.evaluate,
                dataset=[example.id for example in problem.train],
                objective=problem.objective,
                config=config,
            )
        except ModelFailure as failure:
            raise failure.error from failure
        except Enough:
            log.info("ended: nothing was spent for long, or what is left is needed to measure the best candidates")
        finally:
            bench.end_step()
        measure_left(problem, bench, problem.initial)


LIMITS = ("max_metric_calls", "max_steps")


class Proposing(Shared):
    """What the library calls: the evaluator, and the proposer over its own backend."""

    def __init__(self, problem: Problem, bench: Bench, proposer: TraceProposer, api: Any) -> None:
        self._bench = bench
        self._intake = Intake(problem)
        self._complaints: list[str] = []
        complaints = self._complaints

        class Chosen:
            """The optimizer of the job, built as the backend builds one by its class."""

            def __new__(cls, parameters: Sequence[Any], **_: Any) -> Any:
                optimizer = proposer.opto(parameters, wrap=guarded)
                optimizer.unreadable = complaints
                return optimizer

        alone = problem.parameters[0].name if len(problem.parameters) == 1 else ""
        self._backend = api.TraceOptimizerBackend(
            optimizer_cls=Chosen, parameter_name=alone if alone.isidentifier() else "candidate"
        )

    def evaluate(self, candidate: Values, example: str) -> tuple[float, dict[str, Any]]:
        """Return the score of a candidate on an example, and what the optimizer is told of it."""
        score, words, metrics = self._bench.score(Submission(candidate, example, ""))
        return score, {"feedback": words, **metrics}

    def propose(self, candidate: Values, feedback: str, objective: str | None) -> list[Values]:
        """Return the next candidate: the same one where the reply held nothing that may be used."""
        self._bench.next_step()
        self._complaints.clear()
        try:
            written = self._backend(candidate=candidate, feedback=feedback, objective=objective)
        except Exception as err:
            log.info("the optimizer failed on a reply", exc_info=True)
            self._bench.report([f"it made the optimizer fail ({type(err).__name__})"])
            return [candidate]
        if self._complaints and _same(written, candidate):
            self._bench.report(self._complaints)
            return [candidate]
        if not isinstance(written, dict):
            self._bench.report(["it is no JSON object of the parameters' values"])
            return [candidate]
        return [self._intake.take(candidate, written) or candidate]


def _same(written: Any, candidate: Values) -> bool:
    return isinstance(written, dict) and canonical_json(written) == canonical_json(candidate)


def build(settings: Settings) -> OptimizeAnything:
    """Return the trainer."""
    return OptimizeAnything(settings)
