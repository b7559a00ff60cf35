"""The job's task as the libraries see it: named texts, examples, and one door through which everything is measured."""

import json
from contextlib import ExitStack
from types import SimpleNamespace
from typing import NamedTuple

from . import texts as codec


class TaskRefused(Exception):  # noqa: N818 - named for what happened
    """The library cannot serve this task; raised before anything is spent."""


class Measured(NamedTuple):
    """One candidate on one example: a score that is always a number, and the words of the guide."""

    example: str
    score: float
    feedback: str
    status: str
    metrics: dict


class Task:
    """Measures texts, remembers who descends from whom, and marks steps."""

    def __init__(self, problem):
        self.problem = problem
        self.parameters = {p.name: p for p in problem.parameters}
        self.objective = problem.objective
        self.seed = problem.seed
        self.train = list(problem.train)
        self.validation = list(problem.validation) or self.train
        self.initial = self.to_texts(problem.initial)
        self.inputs = {e.id: e for e in [*self.train, *self.validation]}
        self._ids = {}
        self._kept = self._key(self.initial)
        self._parents = {}
        self._lowest = None
        self._step = ExitStack()
        self._measured_since = True
        self._expected = ([], "")

    def __deepcopy__(self, memo):
        """Libraries copy their programs; there is one task."""
        return self

    def to_texts(self, values):
        """Return values as texts."""
        return {name: codec.to_text(p, values[name]) for name, p in self.parameters.items()}

    def to_values(self, texts):
        """Return texts as values."""
        return {name: codec.from_text(p, texts[name]) for name, p in self.parameters.items()}

    def describe(self, name):
        """Return a parameter's role, for a prompt."""
        parameter = self.parameters[name]
        words = parameter.description or f"the parameter `{name}` of kind {parameter.kind}"
        return f"{words}; it must define `{parameter.signature}`" if parameter.signature else words

    def descend(self, texts, parents, origin):
        """Remember, before it is measured, from which texts (or candidates, by id) one was made, and by which operator."""
        known = [
            p if isinstance(p, str) else self._ids[self._key(p)]
            for p in parents
            if isinstance(p, str) or self._key(p) in self._ids
        ]
        self._parents.setdefault(self._key(texts), (known, origin))

    def expect(self, parents, origin):
        """Say of what the next candidates are made that come without a word on it."""
        self._expected = (list(parents), origin)

    def measure(self, texts, examples=None, *, parents=(), origin=""):
        """Return a `Measured` for each example; parents are texts that were measured before."""
        return self.measure_many([texts], examples, parents=parents, origin=origin)[0]

    def measure_many(self, candidates, examples=None, *, parents=(), origin=""):
        """Measure several candidates on one batch, at a time where the run allows it."""
        self._measured_since = True
        for texts in candidates:
            self.descend(texts, parents or self._expected[0], self._expected[1] or origin)
        known, origin = self._parents[self._key(candidates[0])]
        chosen = None if examples is None else [getattr(e, "id", e) for e in examples]
        found = self.problem.evaluate_many(
            [self.to_values(t) for t in candidates], chosen, parents=known, origin=origin
        )
        for texts, evaluation in zip(candidates, found):
            self._ids[self._key(texts)] = evaluation.candidate
        return [self._measured(evaluation) for evaluation in found]

    def candidate(self, texts):
        """Return the id under which texts were measured, or None."""
        return self._ids.get(self._key(texts))

    def decide(self, texts, verdict, reason=""):
        """Record what the library decided about a candidate that was measured.

        A library that proposes again what it has, and takes that back, has rejected nothing.
        """
        key = self._key(texts)
        if verdict == "rejected" and key == self._kept:
            return
        if verdict == "accepted":
            self._kept = key
        if self.candidate(texts) is not None:
            self.problem.decide(self.candidate(texts), verdict, reason)

    def propose(self):
        """Say that the model is asked: the first time after an evaluation, a step begins."""
        if self._measured_since:
            self.begin_step()
            self._measured_since = False

    def begin_step(self):
        """End the step that is open, and begin another."""
        self.end_step()
        self._step.enter_context(self.problem.step())

    def end_step(self):
        """End the step that is open, if one is."""
        self._step.close()

    def remaining(self, axis="evaluations"):
        """Return how much of an axis is left, or None where it is free."""
        budget = self.problem.budget()
        cap, used = budget["caps"][axis], budget["used"][axis]
        return None if cap is None else max(0, cap - (used or 0))

    def endpoint(self):
        """Return address, key and name of the optimizer's model."""
        return self.problem.endpoint("optimizer")

    def _key(self, texts):
        """Return what identifies an assignment: its values, however a library wrote them down."""
        return json.dumps(self.to_values(texts), sort_keys=True)

    def _measured(self, evaluation):
        return [self._one(r, evaluation) for r in evaluation.results]

    def _one(self, result, evaluation):
        if result.status == "ok":
            self._lowest = result.score if self._lowest is None else min(self._lowest, result.score)
            score = result.score
        elif len(evaluation.results) == 1 and evaluation.score is not None:
            score = evaluation.score
        else:
            score = self.floor
        words = result.feedback or f"The score is {score:g}."
        return Measured(result.example, score, words, result.status, dict(result.metrics))

    @property
    def floor(self):
        """A score below all that were measured, for what could not be: never a zero that beats negative scores."""
        return -1.0 if self._lowest is None else min(self._lowest, 0.0) - 1.0


def mean(scores):
    """Return the mean, summed exactly."""
    from math import fsum

    return fsum(scores) / len(scores)


def shown(example):
    """Return an example's input as a text for prompts."""
    value = example.input
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def settings_of(settings):
    """Return settings with attributes."""
    return SimpleNamespace(**settings)
