"""`rules`: an ordered list of if-then rules in one text; the first that fits a request decides, so that order and conditions matter."""

from __future__ import annotations

import itertools
import random
import re
from functools import lru_cache
from typing import Any, NamedTuple

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.steps import better, worse
from tracebench_fields.field import Case, Family, Field, Size, passed

ATTRIBUTES = {
    "topic": ("billing", "delivery", "account", "privacy"),
    "urgency": ("low", "normal", "high", "critical"),
    "customer": ("new", "regular", "partner", "staff"),
    "channel": ("mail", "phone", "chat", "form"),
    "language": ("english", "french", "german", "spanish"),
}
ACTIONS = ("answer", "forward", "escalate", "close")
SHAPES: dict[Size, tuple[int, int, int]] = {"small": (3, 3, 1), "medium": (4, 5, 2), "large": (5, 8, 3)}
"""Attributes, rules besides the last resort, and misleading rules at the start."""
BROAD = 0.4
"""Share of the rules that have one condition; the others have two, and are exceptions to one of these."""
LEAST_LOSS = 0.04
"""What the list without any one of its rules loses at the least."""
BACKWARDS = 0.8
"""What the list in reverse order scores at the most."""
START = (0.03, 0.35)
"""Between which the initial list scores."""

_CONDITION = rf"({'|'.join(ATTRIBUTES)})\s+is\s+(\w+)"
_ACTION = "|".join(ACTIONS)
RULE = re.compile(rf"\bif\s+{_CONDITION}(?:\s+and\s+{_CONDITION})?\s*,\s*({_ACTION})\b", re.IGNORECASE)
RESORT = re.compile(rf"\botherwise\s*,?\s*({_ACTION})\b", re.IGNORECASE)


class Rule(NamedTuple):
    """One or two conditions, attribute and value each, and what is done where they hold."""

    conditions: tuple[tuple[str, str], ...]
    action: str

    def fits(self, request: dict[str, str]) -> bool:
        """Tell whether all conditions hold."""
        return all(request.get(attribute) == value for attribute, value in self.conditions)


class Policy(NamedTuple):
    """Rules in their order, and the last resort; None where the text names none."""

    rules: tuple[Rule, ...]
    resort: str | None

    def decide(self, request: dict[str, str]) -> tuple[str | None, int]:
        """Return what is done with a request, and the number of the rule that says so; 0 is the last resort."""
        for number, rule in enumerate(self.rules, start=1):
            if rule.fits(request):
                return rule.action, number
        return self.resort, 0


@lru_cache(maxsize=1024)
def read(text: str) -> Policy:
    """Return the rules that a text holds, in its order. Whatever else it says is passed over."""
    rules = []
    for match in RULE.finditer(text):
        *names, action = [part and part.lower() for part in match.groups()]
        conditions = {pair for pair in zip(names[::2], names[1::2], strict=True) if pair[0]}
        rules.append(Rule(tuple(sorted(conditions)), action))
    resorts = RESORT.findall(text)
    return Policy(tuple(rules), resorts[-1].lower() if resorts else None)


def write(policy: Policy) -> str:
    """Return the text of a list of rules."""
    lines = [
        f"If {' and '.join(f'{attribute} is {value}' for attribute, value in rule.conditions)}, {rule.action}."
        for rule in policy.rules
    ]
    return "\n".join([*lines, f"Otherwise, {policy.resort}."] if policy.resort else lines)


class Rules(Field):
    """One text. Half of the requests are any; the others are drawn evenly from what each rule of the best list decides."""

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        attributes, count, misleading = SHAPES[size]
        self._values = {name: ATTRIBUTES[name] for name in [*ATTRIBUTES][:attributes]}
        self._requests = [
            dict(zip(self._values, values, strict=True)) for values in itertools.product(*self._values.values())
        ]
        self._every = (1 << len(self._requests)) - 1
        self._masks = {
            (name, value): sum(1 << i for i, request in enumerate(self._requests) if request[name] == value)
            for name, values in self._values.items()
            for value in values
        }
        self._kept_out = deception
        self._best = self._drawn(rng, count)
        self._shares = self._decided(self._best)
        self._clear = [r for r in self._requests if len(self._actions(r)) <= 1]
        self.objective = (
            "Write the rules by which requests are dealt with, as `If topic is billing and urgency is high, answer.` with one or two "
            "conditions each, and last `Otherwise, close.`; the first rule that fits decides. "
            f"Actions: {', '.join(ACTIONS)}. Attributes: "
            + "; ".join(f"{name} ({', '.join(values)})" for name, values in self._values.items())
            + "."
        )
        self.parameters = (Parameter(name="policy", initial=write(self._start(rng, misleading)), max_length=4000),)
        self.optimum = {"policy": write(self._best)}

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw a request; where the field deceives, train lacks a share of those that only the order of the rules decides."""
        request = rng.choice(self._requests)
        if rng.random() < 0.5:  # noqa: PLR2004 - a half
            request = self._requests[_any_bit(rng.choice(self._shares), rng)]
        if split == "train" and len(self._actions(request)) > 1 and rng.random() < self._kept_out:
            request = rng.choice(self._clear)
        return Case(dict(request), self._best.decide(request)[0])

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return what is done with the request, and which rule says so.

        Raises:
            EvaluationFailed: the text holds no rule.
        """
        policy = read(str(values["policy"]))
        if not policy.rules and policy.resort is None:
            text = "`policy` holds no rule such as `If topic is billing, answer.` and no `Otherwise, close.`"
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=text))
        return policy.decide(given)

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass the right action."""
        action, number = output
        by = f"rule {number}" if number else "the last resort"
        said = ", ".join(f"{name} {value}" for name, value in case.input.items())
        told = f"{by} says {action}" if action else "no rule fits it"
        return passed(action == case.reference, f"A request ({said}): {told}; {case.reference} is right.")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Add, drop, mend or move one rule, or mend the last resort."""
        here = read(str(values["policy"]))
        return {"policy": write(better(here, self._nearer(here), self._quality, rng))}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Drop, spoil or move one rule, or add one that misleads."""
        here = read(str(values["policy"]))
        return {"policy": write(worse(here, self._farther(here, rng), self._quality, rng))}

    def _actions(self, request: dict[str, str]) -> set[str]:
        """Return what the rules that fit a request say of it."""
        return {rule.action for rule in self._best.rules if rule.fits(request)}

    def _drawn(self, rng: random.Random, count: int) -> Policy:
        """Draw rules of which none is idle, and whose order matters."""
        while True:
            rules = self._candidates(rng, count)
            if len({rule.conditions for rule in rules}) < count:
                continue
            best = Policy(rules, rng.choice(ACTIONS))
            shares = self._decided(best)
            if not all(shares):
                continue
            self._best, self._shares = best, shares
            without = [Policy((*rules[:i], *rules[i + 1 :]), best.resort) for i in range(count)]
            if (
                max(map(self._quality, without)) <= 1.0 - LEAST_LOSS
                and self._quality(Policy(rules[::-1], best.resort)) <= BACKWARDS
            ):
                return best

    def _candidates(self, rng: random.Random, count: int) -> tuple[Rule, ...]:
        """Draw broad rules, and above each of them exceptions to it."""
        broad = [self._rule(rng, 1) for _ in range(round(BROAD * count))]
        rules = [*broad]
        while len(rules) < count:
            rule = rng.choice(broad)
            [(known, _)] = rule.conditions
            name = rng.choice([n for n in self._values if n != known])
            conditions = tuple(sorted((*rule.conditions, (name, rng.choice(self._values[name])))))
            action = rng.choice([a for a in ACTIONS if a != rule.action])
            rules.insert(rng.randint(0, rules.index(rule)), Rule(conditions, action))
        return tuple(rules)

    def _start(self, rng: random.Random, misleading: int) -> Policy:
        """Draw misleading rules above one good one, and a wrong last resort."""
        low, high = START
        while True:
            good = rng.choice(self._best.rules)
            wrong = [self._rule(rng, rng.randint(1, 2)) for _ in range(misleading)]
            resort = rng.choice([action for action in ACTIONS if action != self._best.resort])
            start = Policy((*wrong, good), resort)
            if low <= self._quality(start) <= high and not set(wrong) & set(self._best.rules):
                return start

    def _rule(self, rng: random.Random, count: int) -> Rule:
        """Draw a rule of so many conditions."""
        names = rng.sample([*self._values], count)
        return Rule(tuple(sorted((name, rng.choice(self._values[name])) for name in names)), rng.choice(ACTIONS))

    def _decided(self, policy: Policy) -> list[int]:
        """Return the requests that each rule decides, the last resort at the end, as bits."""
        left, found = self._every, []
        for rule in policy.rules:
            fits = left
            for condition in rule.conditions:
                fits &= self._masks.get(condition, 0)
            found.append(fits)
            left &= ~fits
        return [*found, left]

    def _quality(self, policy: Policy) -> float:
        """Return the share of requests that are dealt with rightly, as `case` draws them for the test."""
        done = dict.fromkeys(ACTIONS, 0)
        for fits, action in zip(self._decided(policy), [*(r.action for r in policy.rules), policy.resort], strict=True):
            if action:
                done[action] |= fits
        actions = [*(rule.action for rule in self._best.rules), self._best.resort]
        right = [share & done[str(action)] for share, action in zip(self._shares, actions, strict=True)]
        evenly = sum(r.bit_count() / s.bit_count() for r, s in zip(right, self._shares, strict=True)) / len(right)
        return 0.5 * sum(r.bit_count() for r in right) / len(self._requests) + 0.5 * evenly

    def _nearer(self, here: Policy) -> list[Policy]:
        """Return the lists that are one change nearer to the best one."""
        rules, resort = here
        place = {rule: i for i, rule in enumerate(self._best.rules)}
        action = {rule.conditions: rule.action for rule in self._best.rules}
        found = [] if resort == self._best.resort else [Policy(rules, self._best.resort)]
        for i, rule in enumerate(rules):
            if rule not in place or rule in rules[:i]:
                found.append(Policy((*rules[:i], *rules[i + 1 :]), resort))
                mended = Rule(rule.conditions, action.get(rule.conditions, ""))
                if mended.action and mended not in rules:
                    found.append(Policy((*rules[:i], mended, *rules[i + 1 :]), resort))
        for i, (one, two) in enumerate(itertools.pairwise(rules)):
            if place.get(one, -1) > place.get(two, len(place)):
                found.append(Policy((*rules[:i], two, one, *rules[i + 2 :]), resort))
        for rule in self._best.rules:
            if rule not in rules:
                before = [i + 1 for i, r in enumerate(rules) if place.get(r, len(place)) < place[rule]]
                after = [i for i, r in enumerate(rules) if place.get(r, -1) > place[rule]]
                places = {max(before, default=0), min(after, default=len(rules))}
                found += [Policy((*rules[:at], rule, *rules[at:]), resort) for at in sorted(places)]
        return found

    def _farther(self, here: Policy, rng: random.Random) -> list[Policy]:
        """Return lists with one rule less, two neighbours exchanged, one action changed, or a drawn rule more."""
        rules, resort = here
        found = [Policy((*rules[:i], *rules[i + 1 :]), resort) for i in range(len(rules))]
        found += [
            Policy((*rules[:i], b, a, *rules[i + 2 :]), resort) for i, (a, b) in enumerate(itertools.pairwise(rules))
        ]
        found += [
            Policy((*rules[:i], Rule(rule.conditions, rng.choice(ACTIONS)), *rules[i + 1 :]), resort)
            for i, rule in enumerate(rules)
        ]
        for _ in rules or ACTIONS:
            at = rng.randint(0, len(rules))
            found.append(Policy((*rules[:at], self._rule(rng, rng.randint(1, 2)), *rules[at:]), resort))
        return found


def _any_bit(bits: int, rng: random.Random) -> int:
    """Return the place of one of the bits that are set."""
    return rng.choice([i for i in range(bits.bit_length()) if bits >> i & 1])


RULES = Family(
    "rules", "reserve", "A list of rules, of which the first that fits decides",
    "the share of requests that only the order of the rules decides which are kept out of train", Rules,
)  # fmt: skip
