"""A provider's own cache of prompts: who wants a mark where the kept part ends, who keeps prompts by itself, and where marks are set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tracebench_core.specs import LLMConfig, Message, ModelIdentity
from tracebench_gateway.models import model_config
from tracebench_gateway.routing import OPENAI_HOST
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.tokens import Claims

FIELD, MARK = "prompt_cache", "cache_control"
MARKED = ("claude", "amazon.nova")
"""In names of models whose prompts are kept up to a mark, whoever serves them: Anthropic's, and Amazon's Nova."""
BY_ITSELF = frozenset(
    {"azure", "cerebras", "dashscope", "deepseek", "fireworks_ai", "gemini", "groq", "hosted_vllm", "llamafile", "lm_studio", "minimax",
     "moonshot", "ollama", "ollama_chat", "openai", "stub", "vertex_ai", "vllm", "xai", "zai"}
)  # fmt: skip
"""Providers that keep the beginnings of prompts unasked, as their documentation says; servers of one's own that are named so, too."""
KEPT = {"type": "ephemeral"}


def with_marks(asked: Asked, *, claims: Claims, llm: LLMConfig) -> Asked:
    """Return a request with its prompts marked as the config asks; what the model does not take is named as left out."""
    wanted = model_config(llm, claims.role, asked.model.name).prompt_cache
    if wanted is None or asked.kind == "embedding":
        return asked
    if not wanted:
        return _without(asked)
    if wants_mark(asked.model.identity) and asked.kind == "chat":
        return asked if _has_marks(asked) else replace(asked, conversations=[*map(_marked, asked.conversations)])
    if keeps_by_itself(asked.model.identity):
        return asked
    return replace(asked, left_out=(*asked.left_out, FIELD))


def wants_mark(identity: ModelIdentity) -> bool:
    """Tell a model whose provider keeps a prompt up to a mark, and nothing without one."""
    return identity.provider == "anthropic" or any(name in identity.model.lower() for name in MARKED)


def keeps_by_itself(identity: ModelIdentity) -> bool:
    """Tell a provider that keeps prompts unasked; of a server at an address of one's own that speaks OpenAI's API, nobody knows."""
    if identity.provider == "openai" and identity.base_url:
        return urlsplit(identity.base_url).hostname == OPENAI_HOST
    return identity.provider in BY_ITSELF and not wants_mark(identity)


def _marked(messages: list[Message]) -> list[Message]:
    """Return a conversation with a mark at the end of what tells the model its part, and at the end of the last that a user says."""
    ends = [[i for i, m in enumerate(messages) if m["role"] in roles and _place(m) is not None] for roles in _ROLES]
    places = {found[-1] for found in ends if found}
    return [_with_mark(message) if i in places else message for i, message in enumerate(messages)]


_ROLES = ({"system", "developer"}, {"user"})


def _place(message: Message) -> int | None:
    """Return which part of a message can bear a mark: the last text that is not empty."""
    content = message.get("content")
    if isinstance(content, str):
        return 0 if content.strip() else None
    texts = [i for i, part in enumerate(content or ()) if part.get("type") == "text" and str(part.get("text")).strip()]
    return texts[-1] if texts else None


def _with_mark(message: Message) -> Message:
    content, place = message["content"], _place(message)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return message | {"content": [part | {MARK: KEPT} if i == place else part for i, part in enumerate(parts)]}


def _has_marks(asked: Asked) -> bool:
    return any(MARK in bearer for bearer in _bearers(asked))


def _bearers(asked: Asked) -> Iterator[dict[str, Any]]:
    """Yield whatever a mark may stand on: tools, messages and their parts."""
    yield from asked.sampling.get("tools") or ()
    for message in (message for conversation in asked.conversations for message in conversation):
        yield message
        yield from _parts(message)


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _without(asked: Asked) -> Asked:
    if not _has_marks(asked):
        return asked
    conversations = [[_bare_message(message) for message in messages] for messages in asked.conversations]
    sampling = dict(asked.sampling)
    if sampling.get("tools"):
        sampling["tools"] = [_bare(tool) for tool in sampling["tools"]]
    return replace(asked, conversations=conversations, sampling=sampling, left_out=(*asked.left_out, MARK))


def _bare_message(message: Message) -> Message:
    parts = {"content": [_bare(part) for part in _parts(message)]} if _parts(message) else {}
    return _bare(message) | parts


def _bare(bearer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in bearer.items() if name != MARK}
