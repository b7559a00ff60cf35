"""The stub's answer to a request: which format the prompt asks for, which values it shows, and what becomes of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracebench_core.contracts import StubFormat
from tracebench_core.ids import derive_seed
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.proposing.mutation import looks_like_code, mutate
from tracebench_core.specs import Message, Role
from tracebench_gateway.exchange import ChatRequest

Ladder = Sequence[Mapping[str, Any]]
"""Assignments, the worst first, each of all parameters or of some."""
ODDS = 1 / 3
"""How often a proposal is a shipped answer; the others are mutations, as without a ladder."""


def next_rung(ladder: Ladder, values: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return what makes the shown values the next better answer; any answer, where they are none; empty for a mutation instead.

    A prompt that shows one value under a name of its own, as libraries' prompts do, is matched with answers of one value.
    """
    rungs = [fitting for answer in ladder if (fitting := _fit(answer, values))]
    if not rungs or rng.random() >= ODDS:
        return {}
    reached = max((i for i, rung in enumerate(rungs) if _is_shown(rung, values)), default=None)
    if reached is None:
        return rng.choice(rungs)
    return rungs[reached + 1] if reached + 1 < len(rungs) else {}


def _fit(answer: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer under the names that are shown; empty where it does not fit."""
    if answer.keys() <= values.keys():
        return dict(answer)
    if len(answer) == len(values) == 1:
        (shown,), (value,) = values.items(), answer.values()
        return {shown[0]: value} if type(shown[1]) is type(value) else {}
    return {}


def _is_shown(rung: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(_plain(values[name]) == _plain(value) for name, value in rung.items())


def _plain(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


REASONING = "Seed-determined mutation by the stub model."


@dataclass(frozen=True, slots=True)
class Draft:
    """The current values that a prompt shows, and how an answer with new ones is written."""

    values: dict[str, Any]
    render: Callable[[Mapping[str, Any]], str]
    hints: dict[str, dict[str, Any]] = field(default_factory=dict)


def current_values(prompt: str) -> Draft | None:
    """Our own format: a JSON section, answered by a JSON object with `values`."""
    values = shown_values(prompt)
    if values is None:
        return None
    return Draft(values, lambda new: json.dumps({"reasoning": REASONING, "values": dict(new)}, ensure_ascii=False))


def fenced_code(prompt: str) -> Draft | None:
    """A fenced block of code that is to come back improved."""
    blocks = re.findall(r"```[ \t]*(\w*)[ \t]*\n(.*?)```", prompt, flags=re.DOTALL)
    blocks = [(language, code) for language, code in blocks if looks_like_code(code)]
    if not blocks:
        return None
    language, code = blocks[-1]

    def render(new: Mapping[str, Any]) -> str:
        return f"```{language or 'python'}\n{str(new.get('code', code)).rstrip()}\n```"

    return Draft({"code": code}, render, {"code": {"kind": "code"}})


StubMode = Literal["mutate", "empty", "answers"]
WORDS_IN_AN_ANSWER = 12


def answer(
    request: ChatRequest, *, mode: StubMode, formats: Sequence[tuple[Role, StubFormat]] = (), ladder: Ladder = ()
) -> str:
    """Return the stub's answer: the same for the same seed, role, request and n-th time of asking, whatever runs beside it.

    Args:
        formats: those of plugins, with the role whose prompts each answers; asked after our own, and before what any fenced code gets.
        ladder: the answers that the job's task ships, the worst first; some proposals are the next of them.
    """
    purpose = ("stub", request.role, request.digest, request.occurrence)
    rng = random.Random(derive_seed(request.seed, *purpose))  # noqa: S311 - reproducible, not secret
    prompt = "\n\n".join(_text(message) for message in request.messages)
    known = {hint["name"]: hint for hint in request.hints.get("parameters", ())}

    def propose(values: Mapping[str, Any], hints: Mapping[str, Mapping[str, Any]] | None = None, /) -> dict[str, Any]:
        if mode == "empty":
            return {}
        if shipped := next_rung(ladder, values, rng):
            return shipped
        return _propose(
            values, rng, hints={name: {**(hints or {}).get(name, {}), **known.get(name, {})} for name in values}
        )

    is_proposer = request.role == "optimizer"
    if is_proposer and (draft := current_values(prompt)) is not None:
        return draft.render(propose(draft.values, draft.hints))
    for role, recognise in formats:
        if role == request.role and (text := recognise(request.messages, rng, propose)) is not None:
            return text
    if is_proposer and (draft := fenced_code(prompt)) is not None:
        return draft.render(propose(draft.values, draft.hints))
    return _some_words(prompt, rng)


def _propose(
    values: Mapping[str, Any], rng: random.Random, *, hints: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Change one value, and each other one with even odds; at least one that can change."""
    names = sorted(values)
    if not names:
        return {}
    sure = rng.choice(names)
    return {
        name: mutate(values[name], rng, hint=dict(hints[name]))
        for name in names
        if name == sure or rng.random() < 1 / 2
    }


def _some_words(prompt: str, rng: random.Random) -> str:
    """Return a short text of the prompt's own words."""
    words = prompt.split()
    return " ".join(rng.sample(words, min(len(words), WORDS_IN_AN_ANSWER))) or "stub"


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
