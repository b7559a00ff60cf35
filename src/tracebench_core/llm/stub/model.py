"""The stub's answer to a request: which format the prompt asks for, which values it shows, and what becomes of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from tracebench_core.ids import derive_seed
from tracebench_core.llm.exchange import ChatRequest
from tracebench_core.llm.stub.formats import FORMATS, Draft
from tracebench_core.llm.stub.mutate import mutate
from tracebench_core.specs import Message

StubMode = Literal["mutate", "empty"]
WORDS_IN_AN_ANSWER = 12


def answer(request: ChatRequest, *, mode: StubMode) -> str:
    """Return the stub's answer: the same for the same seed, role, request and n-th time of asking, whatever runs beside it."""
    purpose = ("stub", request.role, request.digest, request.occurrence)
    rng = random.Random(derive_seed(request.seed, *purpose))  # noqa: S311 - reproducible, not secret
    prompt = "\n\n".join(_text(message) for message in request.messages)
    if request.role == "optimizer":
        for recognise in FORMATS:
            draft = recognise(prompt)
            if draft is not None:
                hints = {hint["name"]: hint for hint in request.hints.get("parameters", ())}
                return draft.render(_propose(draft, rng, hints=hints) if mode == "mutate" else {})
    return _some_words(prompt, rng)


def _propose(draft: Draft, rng: random.Random, *, hints: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Change one value, and each other one with even odds; at least one that can change."""
    names = sorted(draft.values)
    if not names:
        return {}
    sure = rng.choice(names)
    return {
        name: mutate(draft.values[name], rng, hint=dict(draft.hints.get(name, {})) | dict(hints.get(name, {})))
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
