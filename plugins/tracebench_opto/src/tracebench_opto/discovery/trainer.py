"""A discovered trainer as one of ours: built by keyword, trained on adapters, its return value ignored."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.errors import ModelError, UsageError
from tracebench_core.proposing.schedule import MOST_STEPS
from tracebench_core.specs import Example, Values
from tracebench_opto.bridge import library
from tracebench_opto.bridge.model import ModelFailure, TraceModel
from tracebench_opto.discovery import vocabulary
from tracebench_opto.discovery.agents import build_agent
from tracebench_opto.discovery.bench import KEPT, Bench, Enough
from tracebench_opto.discovery.records import FoundClass
from tracebench_opto.discovery.scoring import build_guide, build_logger
from tracebench_opto.discovery.updating import typed
from tracebench_opto.proposers.proposer import TraceProposer

log = logging.getLogger(__name__)


class DiscoveredTrainer:
    """Trains by a class of opto. Settings are the class's own; what the adapters give is not among them.

    Where the job's budget caps something and no number of steps was set, the class goes on until the cap ends it, as every trainer does.
    """

    def __init__(self, found: FoundClass, settings: Mapping[str, Any], *, to_the_cap: bool = True) -> None:
        self._found = found
        self._goes_on = to_the_cap
        self._settings = dict(settings)

    def train(self, problem: Problem) -> None:
        """Run the class, then measure what it left, and the best it met, on all of validation (train, where there is none).

        Raises:
            UsageError: when the optimizer is not one of Trace's.
        """
        agent = build_agent(problem)
        bench = agent.bench
        optimizer = self._optimizer(problem, agent)
        seed_globals(problem)
        _open_default_door(problem)
        cls = getattr(library.load(self._found.module), self._found.qualname)
        try:
            trainer = cls(**self._constructor(problem, agent, optimizer))
            trainer.train(**self._arguments(problem, bench))
        except ModelFailure as failure:
            raise failure.error from failure
        except Enough:
            log.info(
                "the class was ended: nothing was spent for long, or what is left is needed to measure its best candidates"
            )
        finally:
            bench.end_step()
        measure_left(problem, bench, bench.values(agent.parameters()))

    def _optimizer(self, problem: Problem, agent: Any) -> Any:
        proposer = proposer_of(problem, self._found.qualname)
        return proposer.opto(agent.parameters(), wrap=lambda cls: typed(cls, agent.bench))

    def _constructor(self, problem: Problem, agent: Any, optimizer: Any) -> dict[str, Any]:
        given = {
            "agent": agent,
            "optimizer": optimizer,
            "logger": build_logger(agent.bench),
            "num_threads": 1,
            "llm": TraceModel(problem),
            "rng_seed": problem.seed,
            "seed": problem.seed,
        }
        return self._chosen(given | self._to_the_cap(problem), self._found.constructor)

    def _arguments(self, problem: Problem, bench: Bench) -> dict[str, Any]:
        validation = _dataset(problem.validation or problem.train)
        guide = build_guide(bench)
        given = {
            "num_threads": 1,
            "verbose": False,
            "validate_guide": guide,
            "llm": TraceModel(problem),
            **dict.fromkeys(vocabulary.VALIDATION, validation),
            **dict.fromkeys(vocabulary.TEST, _dataset(problem.train[:1])),
            **self._to_the_cap(problem),
        }
        chosen = self._chosen(given, self._found.train)
        return {**chosen, "guide": guide, "train_dataset": _dataset(problem.train)}

    def _to_the_cap(self, problem: Problem) -> dict[str, int]:
        """Return what keeps the class going until a cap ends it; nothing when the user said how long, or no cap would."""
        known = {**self._found.constructor, **self._found.train}
        lengths = [name for name in vocabulary.LENGTHS if name in known]
        told = any(name in self._settings and self._settings[name] != known[name] for name in lengths)
        return {} if told or not self._goes_on or not problem.budget.caps.caps() else dict.fromkeys(lengths, MOST_STEPS)

    def _chosen(self, given: Mapping[str, Any], accepted: Mapping[str, Any]) -> dict[str, Any]:
        known = {**self._found.constructor, **self._found.train}  # one setting has one default, whoever takes it
        own = {k: v for k, v in self._settings.items() if k in accepted and v != known[k]}
        return {k: v for k, v in given.items() if k in accepted} | own


def proposer_of(problem: Problem, name: str) -> TraceProposer:
    """Return the job's optimizer, which has to be one of Trace's for the class or function of opto of this name.

    Raises:
        UsageError: when it is another.
    """
    proposer = problem.optimizer()
    if not isinstance(proposer, TraceProposer):
        raise UsageError(
            f"`{name}` of opto needs one of Trace's optimizers, not `{type(proposer).__name__}`.",
            hint="optimizer: OptoPrime",
        )
    return proposer


def measure_left(problem: Problem, bench: Bench, left: Values) -> None:
    """Measure what the trainer left and the best that it met, each on all examples, unless it was already."""
    examples = problem.validation or problem.train
    best = sorted(bench.measured.values(), key=lambda entry: -entry.mean)[:KEPT]
    whole = [entry.values for entry in bench.measured.values() if entry.covers(examples)]
    for values in (left, *(entry.values for entry in best)):
        if values not in whole and not problem.check(values):
            whole.append(values)
            problem.evaluate(values, examples, origin="final")


def _dataset(examples: Sequence[Example]) -> dict[str, list[str]]:
    """Return examples in opto's form, by id: the agent and the guide look them up."""
    ids = [e.id for e in examples]
    return {"inputs": ids, "infos": ids}


def seed_globals(problem: Problem) -> None:
    """Seed the global generators: opto's trainers draw from those."""
    random.seed(problem.rng.getrandbits(32))
    import numpy as np  # noqa: PLC0415 - heavy

    np.random.seed(problem.rng.getrandbits(32))


def _open_default_door(problem: Problem) -> None:
    """Lead opto's own default model, which some trainers build for themselves, to the gateway. The process is this job's own."""
    try:
        door = problem.endpoint("optimizer")
    except ModelError:
        return
    os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = door.base_url
    os.environ["OPENAI_API_KEY"] = door.api_key.get_secret_value()
    os.environ["TRACE_LITELLM_MODEL"] = f"openai/{door.model}"
