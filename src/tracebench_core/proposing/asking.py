"""Which of a role's models a proposer asks: a bandit that weighs what came of each model's proposals against what they cost.

UCB1 (Auer, Cesa-Bianchi and Fischer 2002) over the models' names. A model's worth is the share of its proposals that measured better than
what they were made from, less `cost_weight` times its mean cost as a part of the dearest model's. All that it uses is on record, so that a
replay chooses alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Usage, Values


class ProposerSettings(BaseModel):
    """What may be set of every proposer that asks a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    patches: bool = False
    """Let the model answer with a patch (search-and-replace blocks or a unified diff) in place of a whole text or program."""
    models: tuple[str, ...] = ()
    """Names on the list `llm.roles.optimizer.models`, among which a bandit chooses for each proposal; the role's own model when empty."""
    cost_weight: float = Field(default=0.2, ge=0)
    """Of the bandit: how much of a share of better proposals the dearest model's cost is worth."""
    exploration: float = Field(default=0.3, ge=0)
    """Of the bandit: the weight of the confidence bound."""


@dataclass(slots=True)
class Asked:
    """One proposal under way: the model that is asked for it, and what it has cost."""

    model: str | None = None
    tokens: int = 0
    usd: float | None = 0.0

    @property
    def sampling(self) -> dict[str, Any]:
        """Return what names the model in a call."""
        return {} if self.model is None else {"model": self.model}

    def pay(self, usage: Usage) -> None:
        """Add a call's cost."""
        self.tokens += usage.tokens
        self.usd = None if self.usd is None or usage.usd is None else self.usd + usage.usd


@dataclass(slots=True)
class _Arm:
    name: str
    asked: int = 0
    judged: int = 0
    better: int = 0
    paid: int = 0
    tokens: int = 0
    usd: float | None = 0.0


class ModelBandit:
    """Chooses a model for each proposal of one proposer, and learns from what was measured of the proposals. For one thread."""

    def __init__(self, problem: Problem, settings: ProposerSettings) -> None:
        self._problem = problem
        self._settings = settings
        self._arms = [_Arm(name) for name in dict.fromkeys(settings.models)]
        self._open: list[tuple[_Arm, Values, Values]] = []

    def choose(self, n: int) -> list[Asked]:
        """Return `n` proposals to ask for, each with its model; the choice is on record as the number `model_choice:<name>`, its worth."""
        if not self._arms:
            return [Asked() for _ in range(n)]
        self._judge()
        chosen = []
        for _ in range(n):
            arm = self._next()
            arm.asked += 1
            self._problem.log(f"model_choice:{arm.name}", self._worth(arm))
            chosen.append(Asked(arm.name))
        return chosen

    def proposed(self, asked: Asked, base: Values, values: Values | None) -> None:
        """Take in what a model proposed, None where nothing could be used; call it in the order of the requests."""
        arm = next((a for a in self._arms if a.name == asked.model), None)
        if arm is None:
            return
        arm.paid += 1
        arm.tokens += asked.tokens
        arm.usd = None if arm.usd is None or asked.usd is None else arm.usd + asked.usd
        if values is None:
            arm.judged += 1
        else:
            self._open.append((arm, base, values))

    def _judge(self) -> None:
        """Judge the proposals that were measured since, each on the examples that what it was made from was measured on, too."""
        still_open = []
        for arm, base, values in self._open:
            before, after = self._problem.scores(base), self._problem.scores(values)
            if shared := before.keys() & after.keys():
                arm.judged += 1
                arm.better += math.fsum(after[e] - before[e] for e in sorted(shared)) > 0
            else:
                still_open.append((arm, base, values))
        self._open = still_open

    def _next(self) -> _Arm:
        """Return the arm with the highest bound; one that was never asked comes first, and among equals the first of the list."""
        if untried := [arm for arm in self._arms if not arm.asked]:
            return untried[0]
        total = sum(arm.asked for arm in self._arms)
        return max(
            self._arms,
            key=lambda arm: self._worth(arm) + self._settings.exploration * math.sqrt(2 * math.log(total) / arm.asked),
        )

    def _worth(self, arm: _Arm) -> float:
        share = arm.better / arm.judged if arm.judged else 0.0
        costs = {a.name: cost for a, cost in zip(self._arms, self._costs(), strict=True)}
        dearest = max(costs.values())
        return share - (self._settings.cost_weight * costs[arm.name] / dearest if dearest else 0.0)

    def _costs(self) -> Sequence[float]:
        """Return every model's mean cost of a proposal: USD where all prices are known, else tokens."""
        priced = all(arm.usd is not None for arm in self._arms) and any(arm.usd for arm in self._arms)
        amounts = [(arm.usd or 0.0) if priced else float(arm.tokens) for arm in self._arms]
        return [amount / arm.paid if arm.paid else 0.0 for amount, arm in zip(amounts, self._arms, strict=True)]
