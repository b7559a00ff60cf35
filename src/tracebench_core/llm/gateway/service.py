"""One call from admission to settlement: cap, cache, ask, meter, record, file."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from tracebench_core.llm.access import Refusal
from tracebench_core.llm.cassette.cache import CallCache
from tracebench_core.llm.cassette.recorder import Recorder
from tracebench_core.llm.cassette.reuse import Finished
from tracebench_core.llm.credentials import redact
from tracebench_core.llm.exchange import ChatRequest, Metered, OnDelta, Provider, ProviderError, Reply, Tokens
from tracebench_core.llm.gateway.accounts import Account, Accounts, refusal_text
from tracebench_core.llm.gateway.ledger import Ledger
from tracebench_core.llm.gateway.limits import Limits
from tracebench_core.llm.gateway.meter import estimate, measure
from tracebench_core.llm.gateway.providers.pieces import send_in_pieces
from tracebench_core.llm.gateway.retry import ask_with_retries
from tracebench_core.llm.gateway.settings import GatewaySettings
from tracebench_core.llm.prices import PriceTable
from tracebench_core.llm.tokens import Claims

MOST_REFUSALS_KEPT = 1_000
"""Refused calls of one job that are filed one by one; a client that loops on is only counted."""
LONGEST_CALL = 3_600.0
"""Seconds after which a call of a job without a time budget is given up."""


class Refused(Exception):  # noqa: N818 - the call is refused; nothing went wrong
    """A cap forbids the call."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal_text(refusal))
        self.axis, self.scope = refusal


class Service:
    """What the routes call. One event loop runs it, so counters need no locks."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        provider: Provider,
        ledger: Ledger,
        recorder: Recorder | None,
        cache: CallCache | None,
        finished: Finished | None = None,
    ) -> None:
        self.settings = settings
        self.accounts = Accounts(settings.run_budget, started=settings.started)
        self.prices = PriceTable(settings.llm.prices)
        self.ledger = ledger
        ledger.restore(self.accounts)
        self._provider = provider
        self._recorder = recorder
        self._cache = cache
        self._finished = finished
        self._secrets = tuple(settings.environ.values())
        self._rng = random.Random(settings.seed)  # noqa: S311 - jitter
        real = settings.mode == "real"
        self._max_retries = settings.llm.max_retries if real else 0
        self._limits = Limits(
            concurrency=settings.llm.max_concurrency, per_minute=settings.llm.requests_per_minute if real else None
        )

    def admit(self, account: Account, claims: Claims, *, calls: int) -> None:
        """Put `calls` calls under way.

        Raises:
            Refused: when a cap forbids them; the refusal is filed.
        """
        refusal = self.accounts.refusal(account, claims.budget, phase=claims.phase, calls=calls)
        if refusal is None:
            return
        if account.capped.refused < MOST_REFUSALS_KEPT:
            record = self._record(claims, "refused", error=refusal_text(refusal))
            self.accounts.file(account, record)
            self.ledger.append("llm_call", job_id=claims.job_id, attempt=claims.attempt, **record)
        else:
            account.capped.refused += 1
        raise Refused(refusal)

    def release(self, job_id: str, attempt: str) -> None:
        """Forget an attempt that has ended: its keys open nothing from now on."""
        self.accounts.release(job_id, attempt)
        self.ledger.append("release", job_id=job_id, attempt=attempt)
        if self._finished:
            self._finished.forget(job_id)

    def is_unpriced(self, claims: Claims) -> bool:
        """Tell whether a cap in USD holds for a call whose price nobody knows."""
        capped = claims.budget.usd is not None or self.settings.run_budget.usd is not None
        return capped and claims.phase == "training" and self.prices.price(claims.model) is None

    async def call(
        self, account: Account, claims: Claims, request: ChatRequest, *, on_delta: OnDelta | None = None
    ) -> tuple[Reply, Metered]:
        """Make one admitted call, and file it however it ends, cancellation included.

        Raises:
            ProviderError: with the providers' secrets out of its text.
            Refused: when the job's time ended while the model was asked.
        """
        begun = time.monotonic()
        streamed: list[str] = []
        # A caller that goes away has still had what was streamed to it.
        outcome: Reply | ProviderError = ProviderError("the caller went away", kind="request")
        metered: Metered | None = None

        async def forward(delta: dict[str, Any]) -> None:
            streamed.append(delta.get("content") or "")
            if on_delta is not None:
                await on_delta(delta)

        try:
            outcome, metered = await self._answer(account, claims, request, forward if on_delta else None, streamed)
        finally:
            if metered is None:
                metered = self._cost_of_failure(request, outcome, streamed)
            self._settle(account, claims, request, outcome, metered, seconds=time.monotonic() - begun)
        if isinstance(outcome, ProviderError):
            if self._is_out_of_time(account, claims):
                account.refusal = account.refusal or Refusal("seconds", "job")
                raise Refused(account.refusal) from outcome
            raise outcome
        return outcome, metered

    async def _answer(
        self,
        account: Account,
        claims: Claims,
        request: ChatRequest,
        on_delta: OnDelta | None,
        streamed: list[str],
    ) -> tuple[Reply | ProviderError, Metered | None]:
        earlier = self._finished.reply(request) if self._finished else None
        if earlier is not None and earlier.metered is not None:
            if on_delta is not None:
                await send_in_pieces(earlier.message, on_delta)
            return earlier, replace(earlier.metered, reused=True)
        cached = self._cache.get(request) if self._cache else None
        if cached is not None:
            if on_delta is not None:
                await on_delta(cached.message)
            return cached, Metered(Tokens(0, 0), 0.0, cached=True)

        async def attempt() -> Reply:
            async with self._limits.slot(request.identity):
                return await self._provider.ask(request, on_delta=on_delta)

        answered = await ask_with_retries(
            attempt,
            max_retries=self._max_retries,
            deadline=self._deadline(account, claims),
            may_retry=lambda: not streamed,
            rng=self._rng,
        )
        result = answered.result
        if isinstance(result, ProviderError):
            text = redact(str(result), self._secrets)
            error = ProviderError(
                text, kind=result.kind, status_code=result.status_code, retry_after=result.retry_after
            )
            cost = result.metered or self._cost_of_failure(request, error, streamed)
            return error, replace(cost, retries=cost.retries + answered.retries)
        metered = measure(request, result, prices=self.prices)
        if self._cache:
            self._cache.put(request, result)
        return result, replace(metered, retries=metered.retries + answered.retries)

    def _deadline(self, account: Account, claims: Claims) -> float:
        seconds = claims.budget.seconds if claims.phase == "training" else None
        if seconds is None:
            return time.monotonic() + LONGEST_CALL
        return time.monotonic() + min(LONGEST_CALL, seconds - account.capped.seconds())

    def _is_out_of_time(self, account: Account, claims: Claims) -> bool:
        seconds = claims.budget.seconds if claims.phase == "training" else None
        return seconds is not None and account.capped.seconds() >= seconds

    def _cost_of_failure(self, request: ChatRequest, outcome: Reply | ProviderError, streamed: list[str]) -> Metered:
        """Return what a call without an answer cost: nothing, or an estimate of what was streamed before it broke."""
        if isinstance(outcome, Reply) or not streamed:
            return Metered(Tokens(0, 0), 0.0)
        tokens = estimate(request.messages, "".join(streamed))
        usd = self.prices.usd(request.identity, prompt=tokens.prompt, completion=tokens.completion)
        return Metered(tokens, usd, estimated=True)

    def _settle(
        self,
        account: Account,
        claims: Claims,
        request: ChatRequest,
        outcome: Reply | ProviderError,
        metered: Metered,
        *,
        seconds: float,
    ) -> None:
        failed = isinstance(outcome, ProviderError)
        kept = self._recorder.keep(request, outcome, metered) if self._recorder and not metered.reused else {}
        if self._finished and kept:
            self._finished.add(kept)
        record = self._record(
            claims,
            "error" if failed else "ok",
            prompt_tokens=metered.tokens.prompt,
            completion_tokens=metered.tokens.completion,
            cached_tokens=metered.tokens.cached,
            usd=metered.usd,
            seconds=round(seconds, 6),
            retries=metered.retries,
            cached=metered.cached,
            estimated=metered.estimated,
            error=f"{outcome.kind}: {outcome}" if isinstance(outcome, ProviderError) else "",
            request_hash=request.digest,
            reply_hash=kept.get("reply", ""),
        )
        self.accounts.end(account, record, is_paid=not metered.reused)
        marks = {"reused": True} if metered.reused else {}
        self.ledger.append("llm_call", job_id=claims.job_id, attempt=claims.attempt, **record, **marks)

    def _record(self, claims: Claims, status: str, **fields: Any) -> dict[str, Any]:
        empty = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "usd": 0.0, "request_hash": ""}
        named = {"role": claims.role, "model": claims.model.model, "phase": claims.phase, "status": status}
        return named | empty | fields
