"""How many tokens a call took: the provider's own count where it is credible, else an estimate that is marked as one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracebench_core.llm.exchange import ChatRequest, Metered, Reply, Tokens
from tracebench_core.llm.prices import PriceTable
from tracebench_core.specs import Message, ModelIdentity

CHARACTERS_PER_TOKEN = 4
BYTES_PER_TOKEN = 3
"""Of what is set aside: dense text and code take more tokens than plain English."""
TOKENS_PER_IMAGE = 1_500
"""Set aside for a part of a message that is no text."""
TOKENS_PER_MESSAGE = 4
"""What a chat template adds around each message."""
MOST_HIDDEN_TOKENS = 50_000
"""Tokens that a text does not show: tools' schemas, images, a provider's own preamble."""
MOST_COMPLETION_TOKENS = 2_000_000
"""More than any model writes in one answer, hidden reasoning included."""


def measure(request: ChatRequest, reply: Reply, *, prices: PriceTable) -> Metered:
    """Return what the call cost."""
    if reply.metered is not None:
        return reply.metered
    reported = reply.reported
    credible = reported is not None and is_credible(reported, request.messages)
    tokens = reported if reported is not None and credible else _estimated(request, reply)
    return Metered(tokens, cost(request.identity, tokens, prices), estimated=not credible)


def _estimated(request: ChatRequest, reply: Reply) -> Tokens:
    """Return an estimate; a total that can be true is kept, and only split by it."""
    said = (reply.message.get("reasoning_content") or "") + reply.text
    guess = estimate(request.messages, said)
    split = Tokens(prompt=(reply.total or 0) - guess.completion, completion=guess.completion)
    return split if reply.total and is_credible(split, request.messages) else guess


def cost(identity: ModelIdentity, tokens: Tokens, prices: PriceTable) -> float | None:
    """Return what so many tokens of a model cost in USD, or None when nobody told the price."""
    counts = {"prompt": tokens.prompt, "completion": tokens.completion, "cached": tokens.cached}
    return prices.usd(identity, **counts, written=tokens.written)


def estimate(messages: list[Message], answer: str) -> Tokens:
    """Return a count by length: four characters a token, as is usual for English."""
    prompt = sum(
        TOKENS_PER_MESSAGE + _tokens(len(text_of(message))) + len(message.get("tokens") or ()) for message in messages
    )
    return Tokens(prompt=prompt, completion=_tokens(len(answer)))


def reserve(messages: list[Message], sampling: Mapping[str, Any]) -> int:
    """Return the tokens set aside for a prompt: more than most take, as no tokenizer of the model's is at hand."""
    prompt = sum(TOKENS_PER_MESSAGE + _held(message) for message in messages)
    tools = sampling.get("tools")
    return prompt + (_bytes_held(len(json.dumps(tools))) if tools else 0)


def is_credible(tokens: Tokens, messages: list[Message]) -> bool:
    """Tell whether a provider's count can be true: not negative, not of nothing, not beyond one token a character."""
    characters = sum(
        len(text_of(message)) + len(message.get("tokens") or ()) + TOKENS_PER_MESSAGE * CHARACTERS_PER_TOKEN
        for message in messages
    )
    return (
        0 < tokens.prompt <= characters + MOST_HIDDEN_TOKENS
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


def _held(message: Message) -> int:
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else ()
    unseen = sum(TOKENS_PER_IMAGE for part in parts if "text" not in part)
    calls = message.get("tool_calls")
    called = len(json.dumps(calls)) if calls else 0
    return _bytes_held(len(text_of(message).encode()) + called) + unseen + len(message.get("tokens") or ())


def _bytes_held(count: int) -> int:
    return -(-count // BYTES_PER_TOKEN)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
