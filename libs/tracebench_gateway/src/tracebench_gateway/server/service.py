"""One call from admission to settlement: cap, cache, ask, meter, record, file."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tracebench_core.ids import content_hash
from tracebench_core.specs import ModelIdentity
from tracebench_gateway.access import Phase, Refusal
from tracebench_gateway.cassette.cache import CallCache
from tracebench_gateway.cassette.finished_calls import FinishedCalls
from tracebench_gateway.cassette.recorder import Recorder, reply_content
from tracebench_gateway.cassette.scorings import Scorings
from tracebench_gateway.cassette.undelivered import Undelivered
from tracebench_gateway.credentials import redact
from tracebench_gateway.exchange import ChatRequest, Metered, OnDelta, Provider, ProviderError, Reply, Tokens
from tracebench_gateway.server.echo import WithoutEcho
from tracebench_gateway.server.errors import Refused
from tracebench_gateway.server.idempotency import IdempotentCalls
from tracebench_gateway.server.metering.accounts import Account, Accounts, Filed, Grant, refusal_text
from tracebench_gateway.server.metering.admission import Admission, IsGone, Limits
from tracebench_gateway.server.metering.ledger import Ledger, marks_of
from tracebench_gateway.server.metering.meter import at_least, cost, estimate, is_credible, measure
from tracebench_gateway.server.outage import Outages
from tracebench_gateway.server.providers.pieces import send_in_pieces, text_of_delta
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.server.requests.large import Reader, Room
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.retry import ask_with_retries
from tracebench_gateway.server.settings import GatewaySettings
from tracebench_gateway.server.shared import SharedCalls
from tracebench_gateway.tokens import Claims
from tracebench_runs.prices import PriceTable

MOST_REFUSALS_KEPT = 1_000
"""Refused calls of one job that are filed one by one; a client that loops on is only counted."""
LONGEST_CALL = 3_600.0
"""Seconds after which a call of a job without a time budget is given up."""


@dataclass(slots=True)
class Progress:
    """How far a call came: what of it is charged when it breaks off depends on that."""

    is_asked: bool = False
    """The provider was sent the prompt."""
    streamed: list[str] = field(default_factory=list)


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
        finished: FinishedCalls | None = None,
        scorings: Scorings | None = None,
        undelivered: Undelivered | None = None,
    ) -> None:
        self.settings = settings
        self.accounts = Accounts(settings.run_budget, started=settings.started, scoring_budget=settings.scoring_budget)
        self.prices = PriceTable(settings.prices)
        self.ledger = ledger
        ledger.restore(self.accounts)
        self._admission = Admission(self.accounts)
        self._under_way: dict[tuple[str, str], dict[asyncio.Future[Any], Phase]] = defaultdict(dict)
        self._recorder = recorder
        self._cache = cache
        self._finished = finished
        self._scorings = scorings
        self._shared = SharedCalls()
        self._secrets = tuple(settings.environ.values())
        self.room, self.reader = Room(), Reader(settings.environ)
        self._provider = WithoutEcho(provider, self._secrets)
        self.again = IdempotentCalls(self._provider, undelivered, self.prices)
        self._rng = random.Random(settings.seed)  # noqa: S311 - jitter
        real = settings.mode == "real"
        self._max_retries = settings.llm.max_retries if real else 0
        self.outages = Outages(limit=settings.llm.outage_limit if real else 0.0, gone=settings.gone)
        self._limits = Limits(
            concurrency=settings.llm.max_concurrency, per_minute=settings.llm.requests_per_minute if real else None
        )

    @asynccontextmanager
    async def hold(
        self, account: Account, claims: Claims, asked: Asked, places: Collection[int], *, is_gone: IsGone
    ) -> AsyncIterator[Grant]:
        """Hold the worst that the calls at these places of a request can cost while it is under way.

        Raises:
            Refused: when a cap forbids it; the refusal is filed.
            CallerGone: when the caller hangs up while it waits.
        """
        if claims.phase == "training":
            self.start_clock(account)
        demand = asked.demand(self.prices, places)
        async with self._admission.hold(account, claims.budget, demand, phase=claims.phase, is_gone=is_gone) as granted:
            if isinstance(granted, Refusal):
                self._refuse(account, claims, asked, granted)
                raise Refused(granted)
            yield granted

    def start_clock(self, account: Account, *, elapsed: float = 0.0) -> float:
        """Let the job's cap in seconds count from `elapsed` seconds ago, unless it counts already; return since when."""
        if account.capped.clock is None:
            account.capped.clock = time.monotonic() - elapsed
            ids = {"job_id": account.job_id, "attempt": account.attempt}
            self.ledger.append("clock", **ids, mono=account.capped.clock)
        return account.capped.clock

    def track(self, account: Account, phase: Phase, task: asyncio.Future[Any]) -> None:
        """Count a request among those that the end of its job cancels, until it is through."""
        key = (account.job_id, account.attempt)
        self._under_way[key][task] = phase
        task.add_done_callback(lambda _: self._forget(key, task))

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way."""
        return not self._under_way

    def _forget(self, key: tuple[str, str], task: asyncio.Future[Any]) -> None:
        tasks = self._under_way[key]
        tasks.pop(task, None)
        if not tasks:
            del self._under_way[key]

    async def end_training(self, account: Account) -> None:
        """End the training calls of an attempt and see them filed; further ones are turned away."""
        account.is_trained = True
        tasks = [t for t, phase in self._tasks(account) if phase == "training"]
        await _cancelled(tasks)

    async def release(self, job_id: str, attempt: str) -> None:
        """Forget an attempt that has ended: its calls are ended and filed, and its keys open nothing from now on."""
        account = self.accounts.account(job_id, attempt)
        if account is not None:
            account.is_trained = True
            await _cancelled([task for task, _ in self._tasks(account)])
        self.accounts.release(job_id, attempt)
        self.ledger.append("release", job_id=job_id, attempt=attempt)
        if self._finished:
            self._finished.forget(job_id)
        if self._scorings:
            self._scorings.forget(job_id)
        self.again.forget(job_id, attempt)

    def check_priced(self, claims: Claims, identity: ModelIdentity) -> None:
        """See that a cap in USD can be kept.

        Raises:
            BadRequest: when nobody knows what the model costs.
        """
        capped = claims.budget.usd is not None or self.settings.run_budget.usd is not None
        if capped and claims.phase == "training" and self.prices.price(identity) is None:
            raise BadRequest(
                f"a cap in USD cannot be kept: the price of `{identity.model}` is unknown; give it in `llm.prices`"
            )

    def _tasks(self, account: Account) -> list[tuple[asyncio.Future[Any], Phase]]:
        return list(self._under_way.get((account.job_id, account.attempt), {}).items())

    def _refuse(self, account: Account, claims: Claims, asked: Asked, refusal: Refusal) -> None:
        balance = account.balance(claims.phase)
        if balance.refused < MOST_REFUSALS_KEPT:
            model = asked.model.identity.model
            record = self._record(claims, model, "refused", error=refusal_text(refusal))
            self.accounts.file(account, record)
            self.ledger.append("llm_call", job_id=claims.job_id, attempt=claims.attempt, **record)
        else:
            balance.refused += 1

    async def call(
        self, account: Account, claims: Claims, request: ChatRequest, *, on_delta: OnDelta | None = None
    ) -> tuple[Reply, Metered]:
        """Make one admitted call, and file it however it ends, cancellation included.

        One of scoring goes on when its caller goes away: whoever scores in that one's place asks the same, and is given its answer.

        Raises:
            ProviderError: with the providers' secrets out of its text.
            Refused: when the job's time ended while the model was asked.
        """
        if self._scorings is None or claims.phase == "training":
            return await self._call(account, claims, request, on_delta=on_delta)
        return await self._shared.join(
            (claims.job_id, request.digest, request.occurrence),
            lambda take: self._call(account, claims, request, on_delta=take),
            on_delta=on_delta,
            track=lambda task: self.track(account, claims.phase, task),
        )

    async def _call(
        self, account: Account, claims: Claims, request: ChatRequest, *, on_delta: OnDelta | None = None
    ) -> tuple[Reply, Metered]:
        begun = time.monotonic()
        progress = Progress()
        outcome: Reply | ProviderError | None = None
        metered: Metered | None = None

        async def forward(delta: dict[str, Any]) -> None:
            progress.streamed.append(text_of_delta(delta))
            if on_delta is not None:
                await on_delta(delta)

        try:
            kept = self.again.cut_off(account, request)
            forwarded = forward if on_delta else None
            if kept is not None and forwarded is not None:
                await send_in_pieces(kept[0].message, forwarded)
            outcome, metered = kept or await self._answer(account, claims, request, forwarded, progress)
        finally:
            if outcome is None:  # cancelled: whoever goes away has still had what was asked and sent
                why = "the job's training ended" if account.is_trained else "the caller went away"
                outcome = ProviderError(why, kind="request")
                metered = self._cost_of_break(request, progress, is_sent=progress.is_asked)
            metered = metered or Metered(Tokens(0, 0), 0.0)
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
        progress: Progress,
    ) -> tuple[Reply | ProviderError, Metered | None]:
        earlier = self._earlier(claims, request)
        if earlier is not None and earlier.metered is not None:
            if on_delta is not None:
                await send_in_pieces(earlier.message, on_delta)
            return earlier, replace(earlier.metered, reused=True)
        cached = self._cache.get(request) if self._cache else None
        if cached is not None:
            if on_delta is not None:
                await send_in_pieces(cached.message, on_delta)
            return cached, Metered(Tokens(0, 0), 0.0, cached=True)

        async def attempt() -> Reply:
            async with self._limits.slot(request.identity):
                if self._is_out_of_time(account, claims):  # it may have waited long for the slot
                    raise ProviderError("the job's time is up before its model is asked", kind="timeout")
                return await self._ask(request, on_delta, progress)

        answered = await ask_with_retries(
            attempt,
            max_retries=self._max_retries,
            deadline=self._deadline(account, claims),
            may_retry=lambda: not (progress.streamed or self.outages.is_gone(request.identity)),
            rng=self._rng,
            judge=lambda error: self.outages.verdict(request.identity, error),
        )
        result = answered.result
        if isinstance(result, Reply):
            self.outages.answered(request.identity)
        if isinstance(result, ProviderError):
            text = redact(str(result), self._secrets)
            error = ProviderError(
                text, kind=result.kind, status_code=result.status_code, retry_after=result.retry_after
            )
            spent = result.metered or self._cost_of_rubbish(request, result)
            spent = spent or self._cost_of_break(request, progress, is_sent=progress.is_asked)
            return error, replace(spent, retries=spent.retries + answered.retries)
        metered = measure(request, result, prices=self.prices)
        if self._cache and not (request.is_shortened and result.finish_reason == "length"):
            self._cache.put(request, result)
        return result, replace(metered, retries=metered.retries + answered.retries)

    def _earlier(self, claims: Claims, request: ChatRequest) -> Reply | None:
        """Return what the job was answered to this request before; None where it was not."""
        if self._scorings is not None:
            return self._scorings.reply(request) if claims.phase != "training" else None
        return self._finished.reply(request) if self._finished else None

    async def _ask(self, request: ChatRequest, on_delta: OnDelta | None, progress: Progress) -> Reply:
        progress.is_asked = True
        try:
            return await self._provider.ask(request, on_delta=on_delta)
        except ProviderError as error:
            progress.is_asked = error.kind == "timeout"  # then it may be answered yet, and charged for
            raise

    def _deadline(self, account: Account, claims: Claims) -> float:
        seconds = claims.budget.seconds if claims.phase == "training" else None
        if seconds is None:
            return time.monotonic() + LONGEST_CALL
        return time.monotonic() + min(LONGEST_CALL, seconds - account.capped.seconds())

    def _is_out_of_time(self, account: Account, claims: Claims) -> bool:
        seconds = claims.budget.seconds if claims.phase == "training" else None
        return seconds is not None and account.capped.seconds() >= seconds

    def _cost_of_rubbish(self, request: ChatRequest, error: ProviderError) -> Metered | None:
        """Return what an answer that was none cost, where the provider counted it or a part of it came: it was served."""
        tokens, is_told = error.reported, False
        if tokens is not None and is_credible(tokens, request):
            is_told = True
        elif request.is_strict and (tokens is not None or error.served is not None):
            tokens = request.worst
        elif tokens is not None:
            tokens = at_least(estimate(request, ""), tokens, request)
        elif error.served is not None:
            tokens = estimate(request, error.served)
        else:
            return None
        return Metered(tokens, cost(request.identity, tokens, self.prices), estimated=not is_told)

    def _cost_of_break(self, request: ChatRequest, progress: Progress, *, is_sent: bool) -> Metered:
        """Return what a call without a whole answer cost: an estimate of the prompt and what was streamed, or nothing."""
        if not is_sent and not progress.streamed:
            return Metered(Tokens(0, 0), 0.0)
        tokens = request.worst if request.is_strict else estimate(request, "".join(progress.streamed))
        return Metered(tokens, cost(request.identity, tokens, self.prices), estimated=True)

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
        if isinstance(outcome, Reply):
            # first: what is kept elsewhere alone would pass for an answer that was paid for before
            self.again.keep(account, request, outcome, metered)
        kept = self._recorder.keep(request, outcome, metered) if self._recorder and not metered.reused else {}
        if self._finished and kept:
            self._finished.add(kept)
        if self._scorings and claims.phase != "training" and isinstance(outcome, Reply) and not metered.reused:
            self._scorings.add(request, outcome, metered)
        record = self._record(
            claims,
            request.identity.model,
            "error" if failed else "ok",
            prompt_tokens=metered.tokens.prompt,
            completion_tokens=metered.tokens.completion,
            cached_tokens=metered.tokens.cached,
            written_tokens=metered.tokens.written,
            reasoning_tokens=metered.tokens.reasoning,
            usd=metered.usd,
            seconds=round(seconds, 6),
            retries=metered.retries,
            cached=metered.cached,
            estimated=metered.estimated,
            error=f"{outcome.kind}: {outcome}" if isinstance(outcome, ProviderError) else "",
            request_hash=request.digest,
            reply_hash=_reply_hash(outcome) if metered.reused else kept.get("reply", ""),
        )
        self.accounts.file(account, record, is_paid=not metered.reused)
        if request.key and not failed:
            account.filed[request.key] = Filed(request.digest, request.limit)
        marks = marks_of(request, outcome, metered)
        self.ledger.append("llm_call", job_id=claims.job_id, attempt=claims.attempt, **record, **marks)

    def _record(self, claims: Claims, model: str, status: str, **fields: Any) -> dict[str, Any]:
        empty = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "usd": 0.0, "request_hash": ""}
        named = {"role": claims.role, "model": model, "phase": claims.phase, "status": status}
        return named | empty | fields


async def _cancelled(tasks: list[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they are through with it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _reply_hash(outcome: Reply | ProviderError) -> str:
    """Return the hash of a reply that is on the recording already."""
    return content_hash(reply_content(outcome)) if isinstance(outcome, Reply) else ""
