"""Who used how much: one account per job and attempt, and the run's own."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracebench_core.specs import Axis, Budget
from tracebench_gateway.access import Phase, Refusal
from tracebench_gateway.server.metering.balance import FREE, Balance, Demand, Need, Room, need_of
from tracebench_gateway.turns import Place

UNASKED_LIMIT = 4_096
"""Tokens of an answer that neither its caller nor the config limits, while tokens or USD are capped: what is set aside must have an end."""


class Filed(NamedTuple):
    """A call that was answered and filed: what it asked, and the most tokens that it was granted."""

    digest: str
    limit: int | None


def scoped(phase: Phase, asker: str, key: str) -> str:
    """Return a caller's key as it stands in an account: one of training names no call of scoring, one evaluation's none of another."""
    return f"{phase}.{asker}.{key}" if key else ""


@dataclass(slots=True)
class Account:
    """One attempt at a job. `capped` holds what training used, `scored` what the engine's own scoring did."""

    job_id: str
    attempt: str
    capped: Balance = field(default_factory=Balance)
    scored: Balance = field(default_factory=Balance)
    records: list[dict[str, Any]] = field(default_factory=list)
    """One per finished call, in the order of `call`, which counts from 1."""
    refusal: Refusal | None = None
    """The cap that first turned a training call away."""
    scoring_refusal: Refusal | None = None
    """The same of scoring's calls."""
    asked: Counter[str] = field(default_factory=Counter)
    """By request, the number of the next one like it."""
    asked_by: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """By request and evaluation, the numbers of the calls that this one made of it, in its own order."""
    section: int = 0
    """The section that the last placed call belongs to."""
    before: dict[str, int] = field(default_factory=dict)
    """By request, how often it had been asked when that section began."""
    asked_in_training: Counter[str] = field(default_factory=Counter)
    """`asked`, as training left it."""
    named: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By the key of a conversation, what was asked and the number of its first choice."""
    filed: dict[str, Filed] = field(default_factory=dict)
    """By key, what each call was that was answered and filed: asked for again, it is the same call."""
    is_trained: bool = False
    """Training has ended: its keys ask for nothing more."""

    def occurrence(self, digest: str, place: Place | None = None, *, phase: Phase = "training", key: str = "") -> int:
        """Return how often this request was asked before, and count it; with a place, as if its section had come in order.

        What is asked again under its key has the number that it had.
        """
        conversation, _, choice = key.rpartition(".")
        known, first = self.named.get(conversation, ("", 0))
        if key and known == digest:
            number = first + int(choice)
        elif place is None:
            number = self.asked[digest]
        else:
            if place.section != self.section:
                self.section, self.before = place.section, {}
            number = self.before.setdefault(digest, self.asked[digest]) + place.offset
        if key:
            self.named[conversation] = digest, number - int(choice)
        self.asked[digest] = max(self.asked[digest], number + 1)
        if phase == "training":
            self.asked_in_training[digest] = self.asked[digest]
        return number

    def turn(self, digest: str, asker: str, occurrence: int) -> int:
        """Return which of an evaluation's own equal calls this one is, and count it; 0 where nobody says which asks."""
        if not asker:
            return 0
        own = self.asked_by.setdefault((digest, asker), [])
        if occurrence not in own:  # else it is asked again under its key
            own.append(occurrence)
        return own.index(occurrence)

    def restore_occurrence(
        self, digest: str, number: int | None, phase: Phase, *, place: Place | None = None, key: str = ""
    ) -> None:
        """Count a call of the ledger; `number` is the occurrence that it was, where the ledger tells."""
        if number is not None and place is not None:
            if place.section != self.section:
                self.section, self.before = place.section, {}
            self.before.setdefault(digest, number - place.offset)
        if number is not None and key:
            conversation, _, choice = key.rpartition(".")
            self.named[conversation] = digest, number - int(choice)
        self.asked[digest] = max(self.asked[digest] + (number is None), (number or 0) + 1)
        if phase == "training":
            self.asked_in_training[digest] = self.asked[digest]

    def score_anew(self) -> None:
        """Count requests as if training had just ended: what a scoring that was cut short had asked is asked again."""
        self.is_trained = True
        self.scored, self.scoring_refusal = Balance(held=self.scored.held), None
        self.asked = Counter(self.asked_in_training)
        self.asked_by.clear()
        for by_key in (self.named, self.filed):
            for key in [key for key in by_key if not key.startswith("training.")]:
                del by_key[key]

    def balance(self, phase: Phase) -> Balance:
        """Return what a phase has used."""
        return self.capped if phase == "training" else self.scored

    def add(self, record: dict[str, Any]) -> None:
        """File a finished call under the next number."""
        record["call"] = len(self.records) + 1
        self.records.append(record)
        self.balance(record["phase"]).charge(record)
        if record["status"] == "refused" and record["phase"] == "training":
            self.refusal = self.refusal or refusal_of(record["error"])
        elif record["status"] == "refused":
            self.scoring_refusal = self.scoring_refusal or refusal_of(record["error"])


class Grant(NamedTuple):
    """What a request may do: `limit` is the most tokens of each answer, None where nothing limits it."""

    need: Need
    limit: int | None
    is_strict: bool = False


class Accounts:
    """Every account that is still in use, and the balance of the whole run."""

    def __init__(self, run_budget: Budget, *, started: float, scoring_budget: Budget | None = None) -> None:
        """`scoring_budget` holds for the scoring of each job."""
        self.run = Balance(clock=started)
        self.run_budget = run_budget
        self.scoring_budget = scoring_budget or Budget()
        self.run_refusal: Axis | None = None
        """The run's cap that first turned a call away."""
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

    def grant(self, account: Account, budget: Budget, demand: Demand, *, phase: Phase) -> Grant | Refusal | None:
        """Set aside the worst that a request can cost; None when it must wait for calls under way, of which some may cost less.

        Of scoring's calls their own caps and the run's in USD are asked: what chooses and tests a winner is on no job's budget.

        An answer is limited to what is asked for, and to what the caps pay if those calls cost nothing more.
        """
        scopes = [(account.capped, budget, "job"), (self.run, self.run_budget, "run")]
        if phase != "training":
            of_run = Budget(usd=self.run_budget.usd, strict=self.run_budget.strict)
            scopes = [(account.scored, self.scoring_budget, "scoring"), (self.run, of_run, "run")]
        is_strict = any(caps.strict for _, caps, _ in scopes)
        if is_strict:
            demand = demand._replace(prompt=demand.most)
        alone, scope = FREE, "job"
        for balance, caps, name in scopes:
            room = balance.room(caps, demand, beside=False)
            if room.tokens < alone.tokens:
                alone, scope = room, name
        if alone.axis is not None and alone.tokens < demand.fewest:
            return Refusal(alone.axis, scope)  # type: ignore[arg-type]  # one of those above
        limit = self._limit(demand, alone)
        beside = min((balance.room(caps, demand, beside=True).tokens for balance, caps, _ in scopes), default=math.inf)
        if beside < (demand.fewest if limit is None else limit):
            return None
        need = need_of(demand, limit)
        self._balances(account, phase, Balance.hold, need)
        return Grant(need, limit, is_strict)

    def give_back(self, account: Account, phase: Phase, need: Need) -> None:
        """Give back what a request had set aside: what it cost is filed by now."""
        self._balances(account, phase, Balance.give_back, need)

    def file(self, account: Account | None, record: dict[str, Any], *, is_paid: bool = True) -> None:
        """File a call: one just ended or refused, or one read back from the ledger. A released job's call counts for the run alone.

        What an earlier attempt has paid for counts for the job again, so that its caps hold where they held then, and not for the run.
        """
        if account is not None:
            account.add(record)
        if is_paid:
            self.run.charge(record)
        refused = refusal_of(record["error"]) if record["status"] == "refused" else None
        if refused is not None and refused.scope == "run":
            self.run_refusal = self.run_refusal or refused.axis

    def _limit(self, demand: Demand, room: Room) -> int | None:
        if demand.fewest == 0:
            return 0
        if math.isinf(room.tokens):
            return demand.limit
        return min(demand.limit or UNASKED_LIMIT, int(room.tokens))

    def _balances(self, account: Account, phase: Phase, change: Any, need: Need) -> None:
        change(self.run, need)
        change(account.balance(phase), need)


def refusal_text(refusal: Refusal) -> str:
    """Return a refusal in the words of the ledger."""
    return f"{refusal.scope} budget reached: {refusal.axis}"


def refusal_of(text: str) -> Refusal | None:
    """Return the refusal that the ledger's words stand for."""
    scope, reached, axis = text.partition(" budget reached: ")
    return Refusal(axis, scope) if reached else None  # type: ignore[arg-type]  # written by `refusal_text`
