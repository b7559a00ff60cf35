"""What a job's events say it used: model calls by role, and the axes of its budget."""

from __future__ import annotations

from typing import get_args

from tracebench_core.specs import BudgetState, Role, Usage
from tracebench_core.specs.events import EvaluationDone, LLMCall

_ROLES: tuple[Role, ...] = get_args(Role)


class Meter:
    """Adds up evaluations and model calls.

    Usage by role covers all calls of the job. The budget's axes cover training only: the engine's own scoring is not charged.
    A call that our own cache answered is a cached call and costs nothing;
    a cap on calls counts it, so that the cap means the same without a cache.
    """

    def __init__(self) -> None:
        self._by_role: dict[Role, Usage] = {}
        self._training = Usage()
        self._scoring = Usage()
        self._evaluations = 0
        self._selections = 0
        self._selecting = 0.0
        self.not_measured = 0
        self.reused = 0

    def add_evaluation(self, event: EvaluationDone) -> None:
        """Count an evaluation."""
        if event.by == "trainer":
            self._evaluations += 1
        else:
            self._selections += 1
            self._selecting += event.seconds
        self.not_measured += event.status == "not_measured"
        self.reused += event.reused

    def add_call(self, event: LLMCall) -> None:
        """Count a model call."""
        usage = usage_of(event)
        self._by_role[event.role] = self._by_role.get(event.role, Usage()) + usage
        if event.phase == "training":
            self._training += usage
        else:
            self._scoring += usage

    def by_role(self) -> dict[Role, Usage]:
        """Return the usage of every role that called a model."""
        return {role: self._by_role[role] for role in _ROLES if role in self._by_role}

    def used(self, *, seconds: float) -> BudgetState:
        """Return the budget's axes as the events add up to them."""
        return BudgetState.of(self._training, evaluations=self._evaluations, seconds=seconds)

    def selection(self) -> BudgetState:
        """Return what the engine's own measurements took; seconds are those of the evaluations, added up."""
        return BudgetState.of(self._scoring, evaluations=self._selections, seconds=round(self._selecting, 6))


def usage_of(event: LLMCall) -> Usage:
    """Return what one call adds to the usage of its role."""
    if event.status == "refused":
        return Usage(refused=1, retries=event.retries)
    if event.cached:
        return Usage(cached_calls=1)
    answered = event.status == "ok" or event.prompt_tokens > 0  # what broke off after the prompt was sent is paid for
    return Usage(
        llm_calls=int(answered),
        prompt_tokens=event.prompt_tokens,
        completion_tokens=event.completion_tokens,
        cached_tokens=event.cached_tokens,
        usd=event.usd if answered else (event.usd or 0.0),
        retries=event.retries,
        errors=int(event.status == "error"),
        estimated_tokens=event.prompt_tokens + event.completion_tokens if event.estimated else 0,
    )


def total(usage: dict[Role, Usage]) -> Usage:
    """Return the usage of all roles together."""
    return sum((usage[role] for role in _ROLES if role in usage), Usage())
