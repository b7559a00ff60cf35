"""One search on one problem: its steps, its evaluations filed in an archive, and proposals that survive a failing model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import islice
from typing import Protocol, TypeVar, runtime_checkable

from pydantic import Field

from tracebench_core.contracts import SIDE_BY_SIDE, BatchOptimizer, Problem
from tracebench_core.errors import ModelError
from tracebench_core.proposing.sampling import Minibatches, draw_subset
from tracebench_core.proposing.schedule import IDLE_STEPS, schedule
from tracebench_core.specs import Budget, Evaluation, Example, Message, Spec, Values
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.objectives import ObjectiveConfig, resolve_goal
from tracebench_opto.parts.scarcity import Variant, affordable, spare

log = logging.getLogger(__name__)
T = TypeVar("T")

UNCAPPED_STEPS = 10
"""Steps of a search that has neither a number of steps nor a budget to spend."""
SELECTION_SHARE = 10
"""Comparing one candidate costs at most this part of the budget of evaluations."""
DOUBT_SHARE = 20
"""Finding out whether scores are noisy costs at most this part of the evaluations used."""


@runtime_checkable
class _Batches(BatchOptimizer, Protocol):
    """A proposer with the port for several requests."""


@dataclass(frozen=True, slots=True)
class Request:
    """A candidate to be improved, the evaluation that shows how, and what the proposer sees before it."""

    entry: Entry
    evaluation: Evaluation
    history: Sequence[Evaluation] | None = None
    """The last evaluation of each ancestor when None."""

    def lineage(self, failed: Sequence[Entry] = ()) -> list[Evaluation]:
        """Return the evaluations that the proposer sees; `failed` stand between the ancestors and the candidate."""
        if self.history is not None:
            return [*self.history, self.evaluation]
        past = [*self.entry.lineage()[:-1], *failed]
        return [*(e.evaluations[-1] for e in past), self.evaluation]


class SearchSettings(Spec):
    """What every search trainer takes.

    A search ends after `num_steps` steps and `num_epochs` passes over train, whichever is later. With neither, it ends when the budget is
    spent, or after 10 steps when no step spends any of it.
    """

    num_steps: int | None = Field(default=None, ge=0)
    num_epochs: int | None = Field(default=None, ge=0)
    train_batch_size: int = Field(default=2, ge=1)
    """Examples of train whose feedback one proposal sees."""
    num_threads: int | None = Field(default=None, ge=1)
    """At most this many model calls are under way together (8 when None), and as many candidates are handed over for evaluation at a
    time (all when None). Changes no result."""
    validation_size: int | None = Field(default=None, ge=1)
    """Examples of validation, or of train where there is none, on which candidates are compared. When None: all of them, or as many as
    cost a tenth of the budget of evaluations where that is less."""
    show_failed: int = Field(default=0, ge=0)
    """Children of a candidate that did no better than it and are shown to the proposer after the ancestors, the
    latest ones. OptoPrime shows them as far as its `memory_size` goes."""
    verbose: bool = False
    """Log every step at level INFO instead of DEBUG."""
    objective_config: ObjectiveConfig = ObjectiveConfig()

    def planned_steps(self, train: int, *, batches_per_step: int = 1) -> int | None:
        """Return the number of steps on `train` examples, or None when the budget decides."""
        if self.num_steps is None and self.num_epochs is None:
            return None
        per_pass = -(-train // (min(self.train_batch_size, max(train, 1)) * batches_per_step))
        return max(self.num_steps or 0, (self.num_epochs or 0) * per_pass)


class Search:
    """The state of one search. Trainers say what to select; everything else about a step is here."""

    def __init__(
        self,
        problem: Problem,
        settings: SearchSettings,
        *,
        batches_per_step: int = 1,
        use_validation: bool = True,
        selection_limit: int | None = None,
    ) -> None:
        self.problem = problem
        self.settings = settings
        validated = bool(problem.validation) and use_validation
        pool = problem.validation if validated else problem.train
        self.selection = self._draw(pool, limit=selection_limit)
        """The examples on which candidates are compared."""
        self._validation = self.selection if validated else self._draw(problem.validation)
        if compared := self._validation or self.selection:
            problem.compare_on(compared)
        self.archive = Archive(
            resolve_goal(settings.objective_config, problem.objectives), split="validation" if validated else "train"
        )
        self.batches = Minibatches(problem.train, settings.train_batch_size, rng=problem.rng)
        self.proposer = problem.optimizer()
        self._takes_notes = (
            "notes" in signature(getattr(self.proposer, "propose_many", self.proposer.propose)).parameters
        )
        self._batches_per_step = batches_per_step
        self._repeats = 0
        self._asks_models = False
        self._tests: list[Example] = []
        self.tried = 0
        """Candidates that were measured for the search, by which `schedule` sees that it goes on."""

    def schedule(self) -> Iterator[int]:
        """Yield once per step that is still to do; the caller marks the step with `problem.step()`."""
        idle = 0
        planned = self.settings.planned_steps(len(self.problem.train), batches_per_step=self._batches_per_step)
        for index in schedule(self.problem, planned, default=UNCAPPED_STEPS):
            before = self.tried
            yield index
            level = logging.INFO if self.settings.verbose else logging.DEBUG
            log.log(level, "step %s: %s candidates, best %s", index, len(self.archive), self.problem.best.id)
            idle = 0 if self.tried > before else idle + 1
            if idle == IDLE_STEPS:
                log.warning("no candidate to try in %s steps: the search ends", IDLE_STEPS)
                return

    def progress(self, index: int, planned: int | None) -> float:
        """Return how far the search is at step `index`, from 0 to 1: by its planned steps, else by the cap that is nearest."""
        if planned is not None:
            return min(1.0, index / max(planned, 1))
        used, caps = self.problem.budget.used(), self.problem.budget.caps.caps()
        shares = [(getattr(used, axis) or 0.0) / cap for axis, cap in caps.items() if cap]
        return min(1.0, max(shares, default=index / UNCAPPED_STEPS))

    def seed(self, examples: Sequence[Example] | None = None) -> Entry:
        """Evaluate what the search begins from as `seeds` does, and return the best of it."""
        return self.seeds(examples)[0]

    def seeds(self, examples: Sequence[Example] | None = None) -> list[Entry]:
        """Evaluate what the search begins from once, on the selection unless told otherwise, and return it, the best first."""
        entries = self.evaluate(self.problem.starts, examples or self.selection, origin="initial")
        return self.archive.ranked(entries) if len(entries) > 1 else entries

    def evaluate(
        self,
        candidates: Sequence[Values],
        examples: Sequence[Example],
        *,
        parent: Entry | None = None,
        partner: Entry | None = None,
        origin: str = "",
    ) -> list[Entry]:
        """Evaluate candidates on the same examples and file the results; order kept."""
        parents = [e.candidate.id for e in (parent, partner) if e is not None]
        remaining, entries = iter(candidates), []
        size = self.settings.num_threads or max(len(candidates), 1)
        while chunk := list(islice(remaining, size)):
            calls = self.problem.budget.used().llm_calls
            done = self.problem.evaluate_many(chunk, examples, parents=parents, origin=origin)
            self._asks_models = self._asks_models or self.problem.budget.used().llm_calls > calls
            entries += [self.archive.add(evaluation, parent=parent) for evaluation in done]
            self.tried += len(chunk)
        return entries

    def measure(self, entry: Entry, examples: Sequence[Example], *, again: bool = False) -> Evaluation:
        """Return an evaluation of a known candidate on exactly `examples`; measures what is missing, or all of it `again`."""
        wanted = list(examples) if again else [e for e in examples if e.id not in entry.latest]
        if wanted:
            tried = self.tried
            self.evaluate([entry.candidate.values], wanted, origin="resample")
            self.tried = tried
        evaluation = entry.evaluation_on(examples)
        return entry.evaluations[-1] if evaluation is None else evaluation

    def test_set(self, batch: Sequence[Example], variant: Variant) -> tuple[Example, ...]:
        """Return the examples on which a child must do better than its parent: the batch, and as much of the selection as is affordable.

        Half of what it affords goes into the test; the rest is for the parent's own batches. The variant `paper` is the batch alone.
        """
        if variant == "paper":
            return tuple(batch)
        most = self.affordable / 2 - len(batch)
        if most < 1:
            return tuple(batch)
        if not self._tests:
            self._tests = self.problem.rng.sample(self.selection, len(self.selection))
        held = {example.id for example in batch}
        more = self._tests if most >= len(self._tests) else self._tests[: int(most)]
        return (*batch, *(example for example in more if example.id not in held))

    @property
    def affordable(self) -> float:
        """How many examples each proposal to come can be measured on; see `scarcity.affordable`."""
        return affordable(self.problem.budget, asks_models=self._asks_models)

    def spare(self, each: int) -> float | None:
        """Return how many evaluations are left when each proposal to come takes `each` of them; see `scarcity.spare`."""
        return spare(self.problem.budget, each=each, asks_models=self._asks_models)

    def recheck(self, entry: Entry, examples: Sequence[Example]) -> Evaluation:
        """Measure a candidate again, unless repeats have shown that this task repeats itself."""
        return self.measure(entry, examples, again=self.archive.noisy is not False)

    def doubt(self, leaders: Sequence[Entry], examples: Sequence[Example]) -> None:
        """Measure leaders again where scores are noisy: what leads by luck falls back.

        Until repeats have told whether they are, repeats may cost a twentieth of the evaluations.
        """
        for leader in leaders:
            if self.archive.noisy is None and self._repeats * DOUBT_SHARE > self.problem.budget.used().evaluations:
                return
            if self.archive.noisy is not False:
                self.measure(leader, examples, again=True)
                self._repeats += len(examples)

    def expand(
        self,
        parent: Entry,
        batch: Sequence[Example],
        *,
        n: int,
        on: Sequence[Example],
        known: Iterable[Entry] | None = None,
    ) -> list[Entry]:
        """Propose up to `n` children from the parent's feedback on `batch`, evaluate them on `on`, and return them."""
        children = self.propose(parent, self.measure(parent, batch), n=n, known=known)
        return self.attempt(children, on, parent=parent, origin="propose")

    def attempt(
        self, candidates: Sequence[Values], examples: Sequence[Example], *, parent: Entry, origin: str
    ) -> list[Entry]:
        """Evaluate candidates as `evaluate` does, but of those met before only what was not measured; order kept."""
        self.evaluate([v for v in candidates if self.archive.find(v) is None], examples, parent=parent, origin=origin)
        entries = [entry for v in candidates if (entry := self.archive.find(v)) is not None]
        for entry in entries:
            spent = len(entry.evaluations)
            self.measure(entry, examples)
            self.tried += len(entry.evaluations) > spent
        return entries

    def confirm_leader(self) -> None:
        """Complete the best candidate's measurements on the selection, until when its mean may be luck, and on validation."""
        self.measure(self.archive.ranked()[0], self.selection)
        self.measure(self.archive.ranked()[0], self._validation)

    def propose(
        self,
        entry: Entry,
        evaluation: Evaluation,
        *,
        n: int,
        history: Sequence[Evaluation] | None = None,
        known: Iterable[Entry] | None = None,
        notes: Sequence[str] = (),
    ) -> list[Values]:
        """Return up to `n` new assignments made from this feedback; see `fresh` for what is new.

        `history` is what the proposer sees before `evaluation`; by default the last evaluation of each ancestor.
        """
        return self.fresh(self.propose_all([Request(entry, evaluation, history)], n=n, notes=notes)[0], known=known)

    def propose_all(
        self, requests: Sequence[Request], *, n: int, only: Sequence[str] | None = None, notes: Sequence[str] = ()
    ) -> list[list[Values]]:
        """Return up to `n` assignments for each request, known ones among them; the model calls are under way together.

        `only` names the parameters that may change, and `notes` say what was found out so far, for proposers that can be told;
        `Problem.check` is left to `fresh`.
        """
        lineages = [request.lineage(self._failed(request.entry)) for request in requests]
        most = self.settings.num_threads or SIDE_BY_SIDE
        if isinstance(self.proposer, _Batches):
            told = {"notes": [*notes]} if notes and self._takes_notes else {}
            ask = partial(self.proposer.propose_many, lineages, n=n, most=most, only=only, **told)
            found = self._survive(ask)
            return found or [[] for _ in requests]
        return [self._survive(partial(self.proposer.propose, lineage, n=n)) for lineage in lineages]

    def _failed(self, entry: Entry) -> list[Entry]:
        """Return the latest children of a candidate that did no better than it, on the examples that both were measured on."""
        if not self.settings.show_failed:
            return []
        children = [e for e in self.archive if e.parent is entry]
        return [e for e in children if not _ahead_of(e, entry)][-self.settings.show_failed :]

    def ask(self, prompts: Sequence[Sequence[Message]]) -> list[str | None]:
        """Return the model's reply to each prompt, None where the call failed; the calls are under way together."""
        most = self.settings.num_threads or SIDE_BY_SIDE
        return self.problem.side_by_side([partial(self._reply, messages) for messages in prompts], most=most)

    def _reply(self, messages: Sequence[Message]) -> str | None:
        found = self._survive(lambda: [self.problem.complete(messages)[0].text])
        return found[0] if found else None

    def fresh(self, proposals: Sequence[Values], *, known: Iterable[Entry] | None = None) -> list[Values]:
        """Return the proposals that may be evaluated, each once, and none that is in `known`.

        By default that is all that the search has met. A search that tests candidates on a batch names those it holds: what failed on
        one batch may be tried on another.
        """
        held = None if known is None else {e.index for e in known}
        new: list[Values] = []
        for values in proposals:
            entry = self.archive.find(values)
            is_known = entry is not None and (held is None or entry.index in held)
            if values not in new and not is_known and not self.problem.check(values):
                new.append(values)
        return new

    @staticmethod
    def _survive(request: Callable[[], list[T]]) -> list[T]:
        """Return the answers, or none where the model failed: when that is the end of the training, the engine ends it."""
        try:
            return request()
        except ModelError as err:
            log.warning("the model failed: %s", err)
            return []

    def _draw(self, pool: Sequence[Example], *, limit: int | None = None) -> tuple[Example, ...]:
        """Return the examples to compare on: as many as the settings say, or as the budget and the limit allow."""
        size = compared_examples(self.settings, limit or len(pool), self.problem.budget.caps)
        return draw_subset(pool, size, rng=self.problem.rng)


def compared_examples(settings: SearchSettings, most: int, budget: Budget) -> int:
    """Return on how many of `most` examples candidates are compared: as many as the settings say, or as the budget allows."""
    if settings.validation_size is not None or budget.evaluations is None:
        return settings.validation_size or most
    return min(most, max(budget.evaluations // SELECTION_SHARE, settings.train_batch_size))


def _ahead_of(child: Entry, parent: Entry) -> bool:
    """Return whether a candidate did better than another on the examples that count for both."""
    one, other = child.example_means(), parent.example_means()
    shared = one.keys() & other.keys()
    return bool(shared) and sum(one[e] - other[e] for e in sorted(shared)) > 0
