"""Every provider that litellm knows. Its own retries are off: they hide calls from the ledger and multiply with ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tracebench_core.llm.exchange import ChatRequest, OnDelta, ProviderError, Reply, Tokens
from tracebench_core.llm.gateway.providers.failures import as_provider_error
from tracebench_core.llm.models import key_variable, role_config
from tracebench_core.specs import LLMConfig, ModelIdentity

NO_KEY = "none"
"""Sent to servers that ask for no key: the client library behind litellm insists on one."""


class LiteLLMProvider:
    """Asks through `litellm.acompletion`, one attempt a call."""

    def __init__(self, llm: LLMConfig, *, environ: Mapping[str, str]) -> None:
        self._llm = llm
        self._environ = environ

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the model's answer.

        Raises:
            ProviderError: with the kind of failure.
        """
        await self._import()
        try:
            async with asyncio.timeout(self._llm.timeout):
                if on_delta is None:
                    return self._reply(await self._complete(request))
                return await self._stream(request, on_delta)
        except TimeoutError as err:
            raise ProviderError(f"no answer within {self._llm.timeout:g} s", kind="timeout") from err
        except ProviderError:
            raise
        except Exception as err:
            raise as_provider_error(err) from err

    async def _complete(self, request: ChatRequest, **options: Any) -> Any:
        identity = request.identity
        return await self._litellm.acompletion(
            model=f"{identity.provider}/{identity.model}",
            messages=request.messages,
            base_url=identity.base_url,
            api_key=self._key(request, identity),
            num_retries=0,
            max_retries=0,
            timeout=self._llm.timeout,
            drop_params=True,
            **request.sampling,
            **options,
        )

    async def _stream(self, request: ChatRequest, on_delta: OnDelta) -> Reply:
        stream = await self._complete(request, stream=True, stream_options={"include_usage": True})
        texts: list[str] = []
        tools: dict[int, dict[str, Any]] = {}
        finish_reason = ""
        async for chunk in stream:
            for choice in chunk.choices:
                delta = {k: v for k, v in choice.delta.model_dump(exclude_none=True).items() if k in DELTA_FIELDS}
                texts.append(delta.get("content") or "")
                for call in delta.get("tool_calls") or ():
                    _merge_tool_call(tools, call)
                finish_reason = choice.finish_reason or finish_reason
                if delta.get("content") or delta.get("tool_calls"):
                    await on_delta(delta)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(texts)}
        if tools:
            message["tool_calls"] = [tools[index] for index in sorted(tools)]
        # litellm puts its own count where the provider sent none; what was really sent is in the raw chunks.
        sent = [usage for chunk in stream.chunks if (usage := getattr(chunk, "usage", None)) is not None]
        if not (message["content"] or tools or sent):  # litellm makes an empty answer of a body that is no stream
            raise ProviderError("the answer is no stream of completions", kind="malformed")
        return Reply(message, finish_reason or "stop", reported=_tokens(sent[-1]) if sent else None)

    def _reply(self, response: Any) -> Reply:
        choices = getattr(response, "choices", None)
        if not choices:
            raise ProviderError("the answer holds no choices", kind="malformed")
        message = choices[0].message.model_dump(exclude_none=True)
        kept = {name: message[name] for name in ("role", "content", "tool_calls") if name in message}
        return Reply(
            {"role": "assistant", "content": ""} | kept,
            choices[0].finish_reason or "stop",
            reported=_tokens(getattr(response, "usage", None)),
        )

    def _key(self, request: ChatRequest, identity: ModelIdentity) -> str | None:
        variable = key_variable(role_config(self._llm, request.role), identity)
        if variable is None:
            return self._environ.get("OPENAI_API_KEY", NO_KEY) if identity.base_url else None
        return self._environ.get(variable)

    @cached_property
    def _litellm(self) -> Any:
        import litellm  # noqa: PLC0415 - two seconds that only real mode pays

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        return litellm

    async def _import(self) -> None:
        """Import litellm beside the event loop, and not on an attempt's time."""
        if "_litellm" not in vars(self):
            await asyncio.to_thread(lambda: self._litellm)


DELTA_FIELDS = frozenset({"role", "content", "tool_calls"})


def _merge_tool_call(tools: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    """Add one streamed piece of a tool call to the whole."""
    whole = tools.setdefault(piece.get("index") or 0, {"type": "function", "function": {"name": "", "arguments": ""}})
    if piece.get("id"):
        whole["id"] = piece["id"]
    for name in ("name", "arguments"):
        whole["function"][name] += (piece.get("function") or {}).get(name) or ""


def _tokens(usage: Any) -> Tokens | None:
    """Return the provider's count; litellm shows a missing one as zeros."""
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Tokens(prompt=usage.prompt_tokens or 0, completion=usage.completion_tokens or 0, cached=cached)
