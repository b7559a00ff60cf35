"""Who used how much: one account per job and attempt, and the run's own."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.llm.access import Phase, Refusal
from tracebench_core.specs import Axis, Budget, BudgetState, Usage

CHARGED = frozenset({"ok"})
"""Only a call that a model answered, or the cache in its place, is counted against a cap."""


@dataclass(slots=True)
class Balance:
    """Counters of what was used, and of calls under way. `usd` is None once a call of unknown price was served."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0
    cached_calls: int = 0
    retries: int = 0
    in_flight: int = 0
    refused: int = 0
    clock: float | None = None
    """Monotonic seconds at which training began."""

    def charge(self, record: dict[str, Any]) -> None:
        """Count one finished call."""
        if record["status"] == "refused":
            self.refused += 1
            return
        self.llm_calls += record["status"] in CHARGED
        self.prompt_tokens += record["prompt_tokens"]
        self.completion_tokens += record["completion_tokens"]
        self.cached_tokens += record["cached_tokens"]
        self.cached_calls += record.get("cached", False)
        self.retries += record.get("retries", 0)
        usd = record["usd"]
        self.usd = None if usd is None or self.usd is None else self.usd + usd

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def usage(self) -> dict[str, Any]:
        """Return the counters under the names of `Usage`, which tells calls that a model answered from those that the cache did."""
        counted = {name: getattr(self, name) for name in Usage.model_fields}
        return counted | {"llm_calls": self.llm_calls - self.cached_calls}

    def seconds(self) -> float:
        """Return the seconds since training began, 0 before that."""
        return 0.0 if self.clock is None else time.monotonic() - self.clock

    def state(self) -> BudgetState:
        """Return what is used on the axes that the gateway sees."""
        return BudgetState(llm_calls=self.llm_calls, tokens=self.tokens, usd=self.usd, seconds=self.seconds())

    def exceeded(self, budget: Budget, *, calls: int) -> Axis | None:
        """Return the axis on which `calls` more calls may not start, or None.

        Calls under way count as made, so their number never passes its cap. Tokens and USD are known only when a call
        ends: those pass their caps by what is under way and no more.
        """
        if budget.llm_calls is not None and self.llm_calls + self.in_flight + calls > budget.llm_calls:
            return "llm_calls"
        if budget.tokens is not None and self.tokens >= budget.tokens:
            return "tokens"
        if budget.usd is not None and (self.usd is None or self.usd >= budget.usd):
            return "usd"
        if budget.seconds is not None and self.seconds() >= budget.seconds:
            return "seconds"
        return None

    def overshoot(self, budget: Budget) -> dict[Axis, float]:
        """Return how far each capped axis is past its cap, where it is."""
        used = {"llm_calls": self.llm_calls, "tokens": self.tokens, "usd": self.usd or 0.0}
        return {axis: used[axis] - cap for axis, cap in budget.caps().items() if axis in used and used[axis] > cap}


@dataclass(slots=True)
class Account:
    """One attempt at a job. `capped` holds what training used; the engine's own scoring is in `records` alone."""

    job_id: str
    attempt: str
    capped: Balance = field(default_factory=Balance)
    records: list[dict[str, Any]] = field(default_factory=list)
    """One per finished call, in the order of `call`, which counts from 1."""
    refusal: Refusal | None = None
    """The cap that first turned a training call away."""
    asked: Counter[str] = field(default_factory=Counter)
    """How often each request was asked."""

    def occurrence(self, digest: str) -> int:
        """Return how often this request was asked before, and count it."""
        seen = self.asked[digest]
        self.asked[digest] = seen + 1
        return seen

    def add(self, record: dict[str, Any]) -> None:
        """File a finished call under the next number."""
        record["call"] = len(self.records) + 1
        self.records.append(record)
        if record["phase"] == "training":
            self.capped.charge(record)
            if record["status"] == "refused" and self.refusal is None:
                self.refusal = refusal_of(record["error"])


class Accounts:
    """Every account that is still in use, and the balance of the whole run."""

    def __init__(self, run_budget: Budget, *, started: float) -> None:
        self.run = Balance(clock=started)
        self.run_budget = run_budget
        self._open: dict[tuple[str, str], Account] = {}
        self._released: set[tuple[str, str]] = set()

    def account(self, job_id: str, attempt: str) -> Account | None:
        """Return the attempt's account, opened by its first call; None once it was released."""
        key = (job_id, attempt)
        if key in self._released:
            return None
        return self._open.get(key) or self._open.setdefault(key, Account(job_id, attempt))

    def release(self, job_id: str, attempt: str) -> None:
        """Forget an attempt's records; its keys open nothing from now on."""
        self._released.add((job_id, attempt))
        self._open.pop((job_id, attempt), None)

    def refusal(self, account: Account, budget: Budget, *, phase: Phase, calls: int) -> Refusal | None:
        """Return the axis and scope (`job` or `run`) that forbid `calls` more calls, or None: then they are under way."""
        if phase == "training":
            axis = account.capped.exceeded(budget, calls=calls)
            if axis is not None:
                return Refusal(axis, "job")
            axis = self.run.exceeded(self.run_budget, calls=calls)
            if axis is not None:
                return Refusal(axis, "run")
        self._move(account, phase, calls)
        return None

    def end(self, account: Account, record: dict[str, Any], *, is_paid: bool = True) -> None:
        """File a call that was under way."""
        self._move(account, record["phase"], -1)
        self.file(account, record, is_paid=is_paid)

    def file(self, account: Account | None, record: dict[str, Any], *, is_paid: bool = True) -> None:
        """File a call: one just refused, or one read back from the ledger. A released job's call counts for the run alone.

        What an earlier attempt has paid for counts for the job again, so that its caps hold where they held then, and not for the run.
        """
        if account is not None:
            account.add(record)
        if is_paid:
            self.run.charge(record)

    def _move(self, account: Account, phase: Phase, calls: int) -> None:
        self.run.in_flight += calls
        if phase == "training":
            account.capped.in_flight += calls


def refusal_text(refusal: Refusal) -> str:
    """Return a refusal in the words of the ledger."""
    return f"{refusal.scope} budget reached: {refusal.axis}"


def refusal_of(text: str) -> Refusal | None:
    """Return the refusal that the ledger's words stand for."""
    scope, reached, axis = text.partition(" budget reached: ")
    return Refusal(axis, scope) if reached else None  # type: ignore[arg-type]  # written by `refusal_text`
