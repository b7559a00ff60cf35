"""The routes: OpenAI's, for jobs and foreign clients, and `/ledger`, for our own client and the runner."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tracebench_core.llm.gateway.chat import Caller, chat
from tracebench_core.llm.gateway.errors import rejected
from tracebench_core.llm.gateway.service import Service
from tracebench_core.llm.tokens import Claims, verify

Handler = Callable[[Request], Awaitable[Response]]


class Routes:
    """Handlers, each behind the key of a job or of the runner."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._secret = bytes.fromhex(service.settings.token_secret)
        self._admin = service.settings.admin_token
        self._known: dict[str, Claims] = {}

    def app(self) -> Starlette:
        """Return the application."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self.for_job(self._chat), methods=["POST"]),
                Route("/v1/models", self.for_job(self._models)),
                Route("/ledger/records", self.for_job(self._records)),
                Route("/ledger/used", self.for_job(self._used)),
                Route("/ledger/clock", self.for_job(self._start_clock), methods=["POST"]),
                Route("/admin/health", self.for_runner(self._health)),
                Route("/admin/run", self.for_runner(self._run)),
                Route("/admin/jobs/{job_id}/{attempt}/records", self.for_runner(self._records_of)),
                Route("/admin/jobs/{job_id}/{attempt}/release", self.for_runner(self._release), methods=["POST"]),
            ],
        )

    def for_job(self, handler: Callable[[Request, Caller], Awaitable[Response]]) -> Handler:
        """Let a handler be reached with a job's key only."""

        async def guarded(request: Request) -> Response:
            token = _bearer(request)
            claims = self._known.get(token) or verify(token, secret=self._secret)
            if claims is None:
                return rejected("this key is not one of this run", status=401, kind="invalid_api_key")
            account = self._service.accounts.account(claims.job_id, claims.attempt)
            if account is None:
                self._known.pop(token, None)
                return rejected(f"job `{claims.job_id}` has ended", status=401, kind="invalid_api_key")
            self._known[token] = claims
            return await handler(request, Caller(claims, account))

        return guarded

    def for_runner(self, handler: Handler) -> Handler:
        """Let a handler be reached with the runner's key only."""

        async def guarded(request: Request) -> Response:
            if not hmac.compare_digest(_bearer(request).encode(), self._admin.encode()):
                return rejected("this key is not the runner's", status=401, kind="invalid_api_key")
            return await handler(request)

        return guarded

    async def _chat(self, request: Request, caller: Caller) -> Response:
        return await chat(request, service=self._service, caller=caller)

    async def _models(self, request: Request, caller: Caller) -> Response:
        identity = caller.claims.model
        model = {"id": identity.model, "object": "model", "created": 0, "owned_by": identity.provider}
        return JSONResponse({"object": "list", "data": [model]})

    async def _records(self, request: Request, caller: Caller) -> Response:
        return JSONResponse({"records": caller.account.records[_after(request) :]})

    async def _used(self, request: Request, caller: Caller) -> Response:
        balance = caller.account.capped
        overshoot = balance.overshoot(caller.claims.budget)
        return JSONResponse({"used": balance.usage(), "overshoot": overshoot, "refusal": caller.account.refusal})

    async def _start_clock(self, request: Request, caller: Caller) -> Response:
        account = caller.account
        data = await request.json()
        account.capped.clock = time.monotonic() - float(data.get("elapsed", 0.0))
        ids = {"job_id": account.job_id, "attempt": account.attempt}
        self._service.ledger.append("clock", **ids, mono=account.capped.clock)
        return JSONResponse({})

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"mode": self._service.settings.mode})

    async def _run(self, request: Request) -> Response:
        run, budget = self._service.accounts.run, self._service.accounts.run_budget
        return JSONResponse(
            {
                "used": run.state().model_dump(),
                "overshoot": run.overshoot(budget),
                "in_flight": run.in_flight,
                "refused": run.refused,
            }
        )

    async def _records_of(self, request: Request) -> Response:
        account = self._service.accounts.account(request.path_params["job_id"], request.path_params["attempt"])
        records = account.records[_after(request) :] if account else []
        return JSONResponse({"records": records})

    async def _release(self, request: Request) -> Response:
        job_id, attempt = request.path_params["job_id"], request.path_params["attempt"]
        self._service.release(job_id, attempt)
        self._known = {token: c for token, c in self._known.items() if (c.job_id, c.attempt) != (job_id, attempt)}
        return JSONResponse({})


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _after(request: Request) -> int:
    after = request.query_params.get("after", "0")
    return int(after) if after.isdecimal() else 0
