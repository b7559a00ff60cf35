"""What a foreign program may ask of its job's problem, as JSON in and JSON out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.ids import derive_seed
from tracebench_core.specs import AXES, Candidate, Evaluation, Example

Call = Callable[..., Any]
LONGEST_NAME, LONGEST_WORDS = 200, 20_000
"""Characters of a metric's name, and of what a program says of a candidate: the job's record is no place to fill the disk from."""


class DoorCalls:
    """Methods by their name on the wire; every argument is checked by the problem itself."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._examples = {e.id: e for e in (*problem.train, *problem.validation)}
        self._scores: dict[str, float | None] = {}
        self._step: ExitStack | None = None
        self._step_of: object = None
        self._caller: object = None
        self._calls: Mapping[str, Call] = {
            "evaluate": self._evaluate,
            "best": self._best,
            "budget": self._budget,
            "check": lambda values: problem.check(_values(values)),
            "endpoint": self._endpoint,
            "step": self._begin_step,
            "step_end": self.end_step,
            "log": self._log,
            "decide": self._decide,
        }

    def describe(self) -> dict[str, Any]:
        """Return what a program is told when it opens the door; references of validation stay here."""
        problem = self._problem
        return {
            "parameters": [p.model_dump(mode="json") for p in problem.parameters],
            "initial": problem.initial,
            "objective": problem.objective,
            "objectives": [o.model_dump(mode="json") for o in problem.objectives],
            "train": [{"id": e.id, "input": e.input, "reference": e.reference} for e in problem.train],
            "validation": [{"id": e.id, "input": e.input} for e in problem.validation],
            "seed": problem.seed,
            "rng": derive_seed(problem.seed, "trainer"),
        }

    def call(self, method: str, params: Mapping[str, Any], *, caller: object) -> Any:
        """Answer one request; a step belongs to the `caller` that began it.

        Raises:
            BudgetExhausted: when a cap is reached.
            ValueError: for a method, an example or an argument that does not exist.
        """
        if method not in self._calls:
            raise ValueError(f"the door knows no `{method}`")
        self._caller = caller
        return self._calls[method](**params)

    def hang_up(self, caller: object) -> None:
        """End the step of a caller that is gone, if it began the one that is open."""
        if self._step_of is caller:
            self.end_step()

    def end_step(self) -> None:
        """End the step that is open, if one is."""
        if self._step is not None:
            step, self._step = self._step, None
            self._step_of = None
            step.close()

    def _evaluate(
        self,
        candidates: Sequence[Mapping[str, Any]],
        examples: Sequence[str] | None = None,
        parents: Sequence[str] = (),
        origin: str = "",
    ) -> list[dict[str, Any]]:
        batch = None if examples is None else [self._example(name) for name in examples]
        parents = [_text(parent, LONGEST_NAME) for parent in parents]
        origin = _text(origin, LONGEST_WORDS)
        found = self._problem.evaluate_many([_values(c) for c in candidates], batch, parents=parents, origin=origin)
        self._scores.update({e.candidate.id: e.score for e in found})
        return [_as_json(evaluation) for evaluation in found]

    def _example(self, name: str) -> Example:
        if name not in self._examples:
            raise ValueError(f"`{name}` is no example of this problem's train or validation split")
        return self._examples[name]

    def _best(self) -> dict[str, Any]:
        best = self._problem.best
        return {"id": best.id, "values": best.values, "score": self._scores.get(best.id)}

    def _budget(self) -> dict[str, Any]:
        view = self._problem.budget
        used = view.used().model_dump()
        return {"caps": view.caps.model_dump(), "used": {axis.name: used[axis.name] for axis in AXES}}

    def _endpoint(self, role: str) -> dict[str, str]:
        door = self._problem.endpoint(role)  # type: ignore[arg-type]  # an unknown role is refused there
        return {"base_url": door.base_url, "api_key": door.api_key.get_secret_value(), "model": door.model}

    def _begin_step(self) -> int:
        self.end_step()
        self._step, self._step_of = ExitStack(), self._caller
        return self._step.enter_context(self._problem.step())

    def _decide(self, candidate: str, verdict: Any, reason: str = "") -> None:
        reason = _text(reason, LONGEST_WORDS)
        self._problem.decide(Candidate(id=_text(candidate, LONGEST_NAME), values={}), verdict, reason)

    def _log(self, name: str, value: float) -> None:
        name = _text(name, LONGEST_NAME)
        try:
            number = float(value)
        except OverflowError as err:
            raise ValueError(f"`{name}` is no number that a float holds") from err
        self._problem.log(name, number)


def _values(given: Any) -> dict[str, Any]:
    """Return values by name as they were given; raises where they are none."""
    if not isinstance(given, dict):
        raise TypeError(f"values by name are wanted, not {type(given).__name__}")
    return given


def _text(given: Any, longest: int) -> str:
    """Return a text as it was given; raises where it is none, or too long."""
    if not isinstance(given, str):
        raise TypeError(f"a text is wanted, not {type(given).__name__}")
    if len(given) > longest:
        raise ValueError(f"a text of {len(given):,} characters, more than {longest:,}")
    return given


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "candidate": evaluation.candidate.id,
        "results": [
            [r.example, r.split, f.score, f.text, f.status, f.metrics, r.seconds]
            for r in evaluation.results
            for f in (r.feedback,)
        ],
        "score": evaluation.score,
        "status": evaluation.status,
        "metrics": evaluation.metrics,
    }
