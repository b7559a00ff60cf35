"""Every provider that litellm knows. Its own retries are off: they hide calls from the ledger and multiply with ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from tracebench_core.errors import typed
from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError, Reply, limit_of
from tracebench_gateway.models import model_config
from tracebench_gateway.routing import INSTALL, is_asked_for_responses
from tracebench_gateway.server.providers.bodies import counted
from tracebench_gateway.server.providers.failures import as_provider_error
from tracebench_gateway.server.providers.keys import provider_headers, provider_key
from tracebench_gateway.server.providers.pieces import StreamedMessage, kept_message
from tracebench_gateway.server.providers.usage import read_usage
from tracebench_gateway.server.requests.fields import SAMPLING

REGIONS = {"oci": "oci_region", "vertex_ai": "vertex_location", "vertex_ai_beta": "vertex_location"}
"""By provider, what litellm calls its region; any other's is AWS's."""

OF_RESPONSES = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "tools", "tool_choice", "parallel_tool_calls", "response_format",
     "reasoning_effort", "verbosity"}
)  # fmt: skip
"""What litellm has a place for in the responses API, of the fields that a model takes."""
LEAST_OF_RESPONSES = 16
"""Tokens: OpenAI's least limit there. litellm sends it in place of a smaller one, which would pass a cap."""


class LiteLLMProvider:
    """Asks through `litellm.acompletion`, one attempt a call."""

    def __init__(self, llm: LLMConfig, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]) -> None:
        self._llm = llm
        self._variants = variants
        self._environ = environ

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the model's answer.

        Raises:
            ProviderError: with the kind of failure.
        """
        if request.kind != "chat":
            words = f"`{request.identity.provider}` is asked through litellm, which the gateway uses for chat alone"
            raise ProviderError(words, kind="request")
        await self._import()
        limit = limit_of(request.sent())
        if limit is not None and limit < LEAST_OF_RESPONSES and is_asked_for_responses(request.identity):
            words = f"the responses API takes no limit below {LEAST_OF_RESPONSES} tokens; `{limit}` are asked for, or left by a cap"
            raise ProviderError(words, kind="request")
        try:
            async with asyncio.timeout(self._llm.timeout):
                answering = self._stream(request, on_delta) if on_delta else self._whole(request)
                return replace(await answering, left_out=self._dropped(request))
        except TimeoutError as err:
            raise ProviderError(f"no answer within {self._llm.timeout:g} s", kind="timeout") from err
        except ProviderError:
            raise
        except Exception as err:
            raise as_provider_error(err, base_url=request.identity.base_url) from err

    async def _complete(self, request: ChatRequest, **options: Any) -> Any:
        identity = request.identity
        return await self._litellm.acompletion(
            model=f"{identity.provider}/{identity.model}",
            messages=request.messages,
            base_url=identity.base_url,
            api_key=provider_key(self._llm, request, variants=self._variants, environ=self._environ),
            num_retries=0,
            max_retries=0,
            timeout=self._llm.timeout,
            drop_params=True,
            **self._reach(request),
            **request.sent(),
            **options,
        )

    def _dropped(self, request: ChatRequest) -> tuple[str, ...]:
        """Return what litellm leaves out of a request, as the model does not take it."""
        identity = request.identity
        model = identity.model.removeprefix("responses/")
        taken = self._litellm.get_supported_openai_params(model=model, custom_llm_provider=identity.provider)
        if taken and is_asked_for_responses(identity):
            taken = OF_RESPONSES.intersection(taken)
        return tuple(sorted(name for name in request.sent() if name in SAMPLING and taken and name not in taken))

    def _reach(self, request: ChatRequest) -> dict[str, Any]:
        """Return how the config says that a provider is reached, under the names that litellm knows."""
        config = model_config(self._variants.get(request.variant, self._llm), request.role, request.name)
        provider = request.identity.provider
        told: dict[str, Any] = {
            "api_version": config.api_version,
            REGIONS.get(provider, "aws_region_name"): config.region,
        }
        told[f"{'vertex_project' if provider.startswith('vertex') else 'project_id'}"] = config.project
        told["extra_headers"] = provider_headers(self._llm, request, variants=self._variants, environ=self._environ)
        return {name: value for name, value in told.items() if value}

    async def _whole(self, request: ChatRequest) -> Reply:
        return self._reply(await self._complete(request))

    async def _stream(self, request: ChatRequest, on_delta: OnDelta) -> Reply:
        stream = await self._complete(request, stream=True, stream_options={"include_usage": True})
        streamed = StreamedMessage()
        finish_reason = ""
        async for chunk in stream:
            for choice in chunk.choices:
                await streamed.add(choice.delta.model_dump(exclude_none=True), on_delta)
                finish_reason = choice.finish_reason or finish_reason
        message = streamed.whole()
        # litellm puts its own count where the provider sent none; what was really sent is in the raw chunks.
        sent = [usage for chunk in stream.chunks if (usage := getattr(chunk, "usage", None)) is not None]
        if not (
            message["content"] or message.get("tool_calls") or sent
        ):  # litellm makes an empty answer of a body that is no stream
            raise ProviderError("the answer is no stream of completions", kind="malformed")
        return Reply(message, finish_reason or "stop", **_tokens(sent[-1] if sent else None))

    def _reply(self, response: Any) -> Reply:
        choices = getattr(response, "choices", None)
        if not choices:
            raise ProviderError("the answer holds no choices", kind="malformed")
        message = choices[0].message.model_dump(exclude_none=True)
        kept = kept_message(message)
        return Reply(
            {"role": "assistant", "content": ""} | kept,
            choices[0].finish_reason or "stop",
            **_tokens(getattr(response, "usage", None)),
        )

    @cached_property
    def _litellm(self) -> Any:
        import litellm  # noqa: PLC0415 - two seconds that only real mode pays

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        return litellm

    async def _import(self) -> None:
        """Import litellm beside the event loop, and not on an attempt's time."""
        if "_litellm" in vars(self):
            return
        try:
            await asyncio.to_thread(lambda: self._litellm)
        except ImportError as err:
            raise ProviderError(f"litellm cannot be imported: {err}. {typed(INSTALL)}", kind="auth") from err


def _tokens(usage: Any) -> dict[str, Any]:
    """Return the provider's count; litellm shows a missing one as zeros."""
    return counted(None if usage is None else read_usage({"usage": usage.model_dump()}))
