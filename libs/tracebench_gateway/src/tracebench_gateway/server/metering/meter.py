"""How many tokens a call took: the provider's own count where it is credible, else an estimate that is marked as one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracebench_core.specs import Message, ModelIdentity
from tracebench_gateway.exchange import ChatRequest, Metered, Reply, Tokens
from tracebench_gateway.server.metering.weight import TOKENS_PER_MESSAGE, body_of, weigh
from tracebench_runs.prices import PriceTable

CHARACTERS_PER_TOKEN = 4
MOST_HIDDEN_TOKENS = 50_000
"""Tokens that no byte of a request shows: a provider's own preamble, and large pictures."""
SHOWN = frozenset({"role", "content", "tokens"})
"""Of a message, what its text is told from."""
MOST_COMPLETION_TOKENS = 2_000_000
"""More than any model writes in one answer, hidden reasoning included."""


def measure(request: ChatRequest, reply: Reply, *, prices: PriceTable) -> Metered:
    """Return what the call cost."""
    if reply.metered is not None:
        return reply.metered
    reported = reply.reported
    credible = reported is not None and is_credible(reported, request)
    tokens = reported if reported is not None and credible else _estimated(request, reply)
    return Metered(tokens, cost(request.identity, tokens, prices), estimated=not credible)


def _estimated(request: ChatRequest, reply: Reply) -> Tokens:
    """Return an estimate; a total that can be true is kept, and only split by it.

    Where the provider's count is not believed, it is no less than the smaller of that count and of what the bytes sent allow.
    """
    if request.is_strict:
        return request.worst
    said = (reply.message.get("reasoning_content") or "") + reply.text
    guess = estimate(request, said)
    split = Tokens(prompt=(reply.total or 0) - guess.completion, completion=guess.completion)
    if reply.total and is_credible(split, request):
        return split
    if reply.total is not None:
        return Tokens(max(guess.prompt, min(reply.total, most_of(request))), guess.completion)
    return guess if reply.reported is None else at_least(guess, reply.reported, request)


def at_least(guess: Tokens, reported: Tokens, request: ChatRequest) -> Tokens:
    """Return an estimate raised to a count that is not believed, as far as what was sent and asked for allows."""
    limit = request.worst.completion or MOST_COMPLETION_TOKENS
    return Tokens(
        prompt=max(guess.prompt, min(reported.prompt, most_of(request))),
        completion=max(guess.completion, min(reported.completion, limit)),
    )


def most_of(request: ChatRequest) -> int:
    """Return the tokens that a prompt can have by its bytes."""
    if request.most:
        return request.most
    body = body_of(request.identity.model, request.messages, request.sent(), kind=request.kind, stream=False)
    return weigh(body).worst


def cost(identity: ModelIdentity, tokens: Tokens, prices: PriceTable) -> float | None:
    """Return what so many tokens of a model cost in USD, or None when nobody told the price."""
    counts = {"prompt": tokens.prompt, "completion": tokens.completion, "cached": tokens.cached}
    return prices.usd(identity, **counts, written=tokens.written)


def estimate(request: ChatRequest, answer: str) -> Tokens:
    """Return a count by length: four characters a token, as is usual for English."""
    return Tokens(prompt=estimate_prompt(request.messages, request.sampling), completion=_tokens(len(answer)))


def estimate_prompt(messages: list[Message], sampling: Mapping[str, Any]) -> int:
    """Return an estimate of a prompt: its texts, and what stands beside them in other fields."""
    prompt = sum(
        TOKENS_PER_MESSAGE + _tokens(len(text_of(message))) + len(message.get("tokens") or ()) for message in messages
    )
    beside = {name: value for name, value in sampling.items() if isinstance(value, str | list | dict) and value}
    fields = [{name: m[name] for name in m.keys() - SHOWN} for m in messages if m.keys() - SHOWN]
    return prompt + sum(_tokens(len(json.dumps(extra))) for extra in [*fields, beside] if extra)


def is_credible(tokens: Tokens, request: ChatRequest) -> bool:
    """Tell whether a provider's count can be true: not negative, not of nothing, not beyond one token a byte that was sent."""
    return (
        0 < tokens.prompt <= most_of(request) + MOST_HIDDEN_TOKENS
        and 0 <= tokens.completion <= MOST_COMPLETION_TOKENS
        and tokens.cached >= 0
        and tokens.written >= 0
        and tokens.cached + tokens.written <= tokens.prompt
    )


def text_of(message: Message) -> str:
    """Return the text of a message whose content is a string or a list of parts."""
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
