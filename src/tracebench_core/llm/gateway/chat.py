"""`POST /v1/chat/completions`, whole or streamed. A request for n choices is n calls: not every provider has `n`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tracebench_core.llm.exchange import ChatRequest, Metered, ProviderError, Reply, request_digest
from tracebench_core.llm.gateway.accounts import Account
from tracebench_core.llm.gateway.errors import error_body, failed, refused, rejected
from tracebench_core.llm.gateway.request import Asked, BadRequest, read_request
from tracebench_core.llm.gateway.service import Refused, Service
from tracebench_core.llm.tokens import Claims

PATIENT_REFUSALS = 20
"""Refusals that are answered at once; a client that loops on waits ever longer and loses its connection each time."""
LONGEST_PENALTY = 5.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: verified claims and the account they belong to."""

    claims: Claims
    account: Account


async def chat(request: Request, *, service: Service, caller: Caller) -> Response:
    """Answer one chat request."""
    claims, account = caller.claims, caller.account
    try:
        asked = read_request(await request.body(), claims=claims, llm=service.settings.llm)
    except BadRequest as error:
        return rejected(str(error), status=error.status)
    if service.is_unpriced(claims):
        message = (
            f"a cap in USD cannot be kept: the price of `{claims.model.model}` is unknown; give it in `llm.prices`"
        )
        return rejected(message, status=400, kind="unpriced_model")
    try:
        service.admit(account, claims, calls=asked.choices)
    except Refused as refusal:
        return await _turn_away(refusal, account)
    requests = _requests(asked, caller)
    if asked.stream:
        return await _streamed(_Stream(service, caller, asked, requests))
    return await _whole(service, caller, requests)


async def _turn_away(refusal: Refused, account: Account) -> Response:
    beyond = account.capped.refused - PATIENT_REFUSALS
    if beyond > 0:
        await asyncio.sleep(min(LONGEST_PENALTY, 0.05 * 2 ** min(beyond, 10)))
    return refused(refusal, close=beyond > 0)


def _requests(asked: Asked, caller: Caller) -> list[ChatRequest]:
    claims = caller.claims
    digest = request_digest(identity=claims.model, role=claims.role, messages=asked.messages, sampling=asked.sampling)
    return [
        ChatRequest(
            job_id=claims.job_id,
            seed=claims.seed,
            role=claims.role,
            identity=claims.model,
            messages=asked.messages,
            sampling=asked.sampling,
            digest=digest,
            occurrence=caller.account.occurrence(digest),
            hints=claims.hints,
        )
        for _ in range(asked.choices)
    ]


async def _whole(service: Service, caller: Caller, requests: list[ChatRequest]) -> Response:
    calls = [service.call(caller.account, caller.claims, request) for request in requests]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    answers: list[tuple[Reply, Metered]] = []
    for outcome in outcomes:
        if isinstance(outcome, ProviderError):
            return failed(outcome)
        if isinstance(outcome, Refused):
            return refused(outcome, close=False)
        if isinstance(outcome, BaseException):
            raise outcome
        answers.append(outcome)
    choices = [
        {"index": index, "message": reply.message, "finish_reason": reply.finish_reason, "logprobs": None}
        for index, (reply, _) in enumerate(answers)
    ]
    head = _head("chat.completion", caller.claims.model.model)
    return JSONResponse(head | {"choices": choices, "usage": _usage([metered for _, metered in answers])})


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _usage(costs: list[Metered]) -> dict[str, Any]:
    prompt = sum(cost.tokens.prompt for cost in costs)
    completion = sum(cost.tokens.completion for cost in costs)
    cached = sum(cost.tokens.cached for cost in costs)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


Piece: TypeAlias = dict[str, Any] | ProviderError | Refused | None
"""What a stream is made of; None ends it."""


class _Stream:
    """Server-sent events from one or more calls at once; pieces are queued as they come."""

    def __init__(self, service: Service, caller: Caller, asked: Asked, requests: list[ChatRequest]) -> None:
        self._service = service
        self._caller = caller
        self._asked = asked
        self._head = _head("chat.completion.chunk", caller.claims.model.model)
        self._queue: asyncio.Queue[Piece] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(requests))

    async def first(self) -> Piece:
        """Wait for the first piece: until then, a failure still has a status code of its own."""
        return await self._queue.get()

    async def events(self, first: Piece) -> AsyncIterator[bytes]:
        """Yield the events, the first piece included."""
        piece = first
        try:
            while piece is not None:
                if isinstance(piece, ProviderError):
                    yield _event(error_body(str(piece), kind=piece.kind, kind_of_failure=piece.kind))
                    return
                if isinstance(piece, Refused):
                    yield _event(error_body(str(piece), kind="insufficient_quota", axis=piece.axis, scope=piece.scope))
                    return
                yield _event(piece)
                piece = await self._queue.get()
            yield b"data: [DONE]\n\n"
        finally:
            self._task.cancel()

    async def _run(self, requests: list[ChatRequest]) -> None:
        calls = [self._one(index, request) for index, request in enumerate(requests)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        costs = []
        for outcome in outcomes:
            if isinstance(outcome, ProviderError | Refused):
                await self._queue.put(outcome)
                return
            if isinstance(outcome, BaseException):
                await self._queue.put(ProviderError(f"the gateway failed: {outcome!r}", kind="server"))
                raise outcome
            costs.append(outcome)
        if self._asked.wants_usage:
            await self._queue.put(self._head | {"choices": [], "usage": _usage(costs)})
        await self._queue.put(None)

    async def _one(self, index: int, request: ChatRequest) -> Metered:
        async def pass_on(delta: dict[str, Any]) -> None:
            await self._queue.put(self._chunk(index, delta, finish_reason=None))

        caller = self._caller
        reply, metered = await self._service.call(caller.account, caller.claims, request, on_delta=pass_on)
        await self._queue.put(self._chunk(index, {}, finish_reason=reply.finish_reason))
        return metered

    def _chunk(self, index: int, delta: dict[str, Any], *, finish_reason: str | None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return self._head | {"choices": [choice]}


async def _streamed(stream: _Stream) -> Response:
    first = await stream.first()
    if isinstance(first, ProviderError):
        return failed(first)
    if isinstance(first, Refused):
        return refused(first, close=False)
    return StreamingResponse(stream.events(first), media_type="text/event-stream")


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
