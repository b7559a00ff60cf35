"""The routes: those of models, for jobs and foreign clients, and `/ledger` and `/admin`, for the engine alone."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tracebench_gateway.access import LEDGER_HEADER
from tracebench_gateway.models import names_of
from tracebench_gateway.server.connections import ConnectionGuard
from tracebench_gateway.server.errors import Failure, rejected
from tracebench_gateway.server.flow import Caller, converse, count, respond
from tracebench_gateway.server.requests.fields import is_number
from tracebench_gateway.server.requests.reading import BadRequest, read_object
from tracebench_gateway.server.service import Service
from tracebench_gateway.server.wire.bare import CompletionsWire, EmbeddingsWire
from tracebench_gateway.server.wire.base import Wire
from tracebench_gateway.server.wire.chat import ChatWire
from tracebench_gateway.server.wire.gemini import GeminiWire
from tracebench_gateway.server.wire.messages import MessagesWire, count_prompt
from tracebench_gateway.server.wire.responses import ResponsesWire
from tracebench_gateway.tokens import Claims, verify
from tracebench_gateway.turns import ASKER_HEADER

Handler = Callable[[Request], Awaitable[Response]]
CHAT = ChatWire()
MESSAGES = MessagesWire()
GEMINI = GeminiWire()
WIRES: dict[str, Wire] = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": ResponsesWire(),
    "/v1/messages": MESSAGES,
    "/v1/completions": CompletionsWire(),
    "/v1/embeddings": EmbeddingsWire(),
    "/v1beta/models/{model:path}:{method}": GEMINI,
    "/v1/models/{model:path}:{method}": GEMINI,
}
LONGEST_NUMBER = 12
"""Digits of a call's number."""


class _Engine(NamedTuple):
    """A job's own engine, which makes a call."""

    caller: Caller
    after: int
    """The number of the last call that it was told of."""


class Routes:
    """Handlers, each behind the key of a job, of the engine or of the runner."""

    def __init__(self, service: Service, guard: ConnectionGuard) -> None:
        self._service = service
        self._guard = guard
        self._secret = bytes.fromhex(service.settings.token_secret)
        self._admin = service.settings.admin_token
        self._known: dict[str, Claims] = {}

    def app(self) -> Starlette:
        """Return the application."""
        models = [Route(path, self._asking(wire), methods=["POST"]) for path, wire in WIRES.items()]
        return Starlette(
            routes=[
                *models,
                Route("/v1/messages/count_tokens", self.for_job(self._count, MESSAGES), methods=["POST"]),
                Route("/v1/models", self.for_job(self._models, CHAT)),
                Route("/ledger/records", self.for_engine(self._records)),
                Route("/ledger/clock", self.for_engine(self._start_clock), methods=["POST"]),
                Route("/ledger/end", self.for_engine(self._end), methods=["POST"]),
                Route("/ledger/anew", self.for_engine(self._score_anew), methods=["POST"]),
                Route("/admin/health", self.for_runner(self._health)),
                Route("/admin/gone", self.for_runner(self._give_up), methods=["POST"]),
                Route("/admin/run", self.for_runner(self._run)),
                Route("/admin/jobs/{job_id}/{attempt}/records", self.for_runner(self._records_of)),
                Route("/admin/jobs/{job_id}/{attempt}/release", self.for_runner(self._release), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _no_route},
        )

    def for_job(self, handler: Callable[[Request, Caller], Awaitable[Response]], wire: Wire) -> Handler:
        """Let a handler be reached with a job's key only."""

        async def guarded(request: Request) -> Response:
            caller = self._caller(request)
            if isinstance(caller, Failure):
                return respond(wire, caller)
            claims = caller.claims
            if claims.is_engine:
                return respond(wire, rejected("this key asks no model", status=401, kind="invalid_api_key"))
            if caller.account.is_trained and claims.phase == "training":
                words = f"the training of job `{claims.job_id}` has ended"
                return respond(wire, rejected(words, status=401, kind="invalid_api_key"))
            return await handler(request, caller)

        return guarded

    def for_engine(self, handler: Callable[[Request, Caller], Awaitable[Response]]) -> Handler:
        """Let a handler be reached with the engine's key of a job only: what a program holds starts no clock."""

        async def guarded(request: Request) -> Response:
            caller = self._caller(request)
            if isinstance(caller, Failure):
                return respond(CHAT, caller)
            if not caller.claims.is_engine:
                return respond(CHAT, rejected("this key is not the engine's", status=401, kind="invalid_api_key"))
            try:
                return await handler(request, caller)
            except BadRequest as error:
                return respond(CHAT, rejected(str(error), status=error.status))

        return guarded

    def for_runner(self, handler: Handler) -> Handler:
        """Let a handler be reached with the runner's key only."""

        async def guarded(request: Request) -> Response:
            if not hmac.compare_digest(_key(request).encode(), self._admin.encode()):
                return respond(CHAT, rejected("this key is not the runner's", status=401, kind="invalid_api_key"))
            self._guard.vouch(request.scope)
            return await handler(request)

        return guarded

    def _caller(self, request: Request) -> Caller | Failure:
        """Return who asks, by the key: a job, or its engine."""
        token = _key(request)
        claims = self._claims(token)
        if claims is None:
            return rejected("this key is not one of this run", status=401, kind="invalid_api_key")
        account = self._service.accounts.account(claims.job_id, claims.attempt)
        if account is None:
            self._known.pop(token, None)
            return rejected(f"job `{claims.job_id}` has ended", status=401, kind="invalid_api_key")
        self._known[token] = claims
        self._guard.vouch(request.scope)
        return Caller(claims, account)

    def _claims(self, token: str) -> Claims | None:
        return self._known.get(token) or verify(token, secret=self._secret)

    def _asking(self, wire: Wire) -> Handler:
        async def asking(request: Request, caller: Caller) -> Response:
            engine = self._engine_of(request, caller)
            asker = request.headers.get(ASKER_HEADER, "") if engine is not None else ""
            response = await converse(request, wire=wire, service=self._service, caller=caller, asker=asker)
            if engine is None or not isinstance(response, JSONResponse):
                return response
            return _with_ledger(response, engine)

        return self.for_job(asking, wire)

    def _engine_of(self, request: Request, caller: Caller) -> _Engine | None:
        """Return the job's own engine, where it makes this call: it need not ask how the job stands then, but is told with the answer.

        Known before the call is made: between its filing and its answer, the death of this process would have it made twice.
        """
        key, _, after = request.headers.get(LEDGER_HEADER, "").partition(" ")
        claims = self._claims(key) if key else None
        if claims is None or not claims.is_engine:
            return None
        if (claims.job_id, claims.attempt) != (caller.claims.job_id, caller.claims.attempt):
            return None
        self._known[key] = claims
        return _Engine(Caller(claims, caller.account), _number(after))

    async def _models(self, request: Request, caller: Caller) -> Response:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": identity.provider}
            for name, identity in names_of(caller.claims.model).items()
        ]
        return JSONResponse({"object": "list", "data": listed})

    async def _count(self, request: Request, caller: Caller) -> Response:
        """Count a prompt by our estimate; no model is asked."""
        try:
            counted = await count(request, count_prompt, service=self._service, caller=caller)
        except BadRequest as error:
            return respond(MESSAGES, rejected(str(error), status=error.status))
        return JSONResponse({"input_tokens": counted})

    async def _records(self, request: Request, caller: Caller) -> Response:
        return JSONResponse(_standing(caller, _after(request)))

    async def _start_clock(self, request: Request, caller: Caller) -> Response:
        elapsed = (await read_object(request)).get("elapsed", 0.0)
        if not is_number(elapsed) or elapsed < 0:
            raise BadRequest("`elapsed` must be a number of seconds, 0 or more")
        self._service.start_clock(caller.account, elapsed=elapsed)
        return JSONResponse(_standing(caller, _after(request)))

    async def _end(self, request: Request, caller: Caller) -> Response:
        await self._service.end_training(caller.account)
        return JSONResponse(_standing(caller, _after(request)))

    async def _score_anew(self, request: Request, caller: Caller) -> Response:
        account = caller.account
        account.score_anew()
        self._service.ledger.append("anew", job_id=account.job_id, attempt=account.attempt)
        return JSONResponse(_standing(caller, _after(request)))

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"mode": self._service.settings.mode, "away": self._service.outages.state()})

    async def _give_up(self, request: Request) -> Response:
        self._service.outages.give_up(request.query_params.getlist("address"))
        return JSONResponse({})

    async def _run(self, request: Request) -> Response:
        accounts = self._service.accounts
        run, budget = accounts.run, accounts.run_budget
        return JSONResponse(
            {
                "used": run.state().model_dump(),
                "overshoot": run.overshoot(budget),
                "held": run.held._asdict() | {"usd": float(run.held.usd)},
                "refused": run.refused,
                "refusal": accounts.run_refusal,
            }
        )

    async def _records_of(self, request: Request) -> Response:
        account = self._service.accounts.account(request.path_params["job_id"], request.path_params["attempt"])
        if account is None:
            return JSONResponse({"records": []})
        await self._service.end_training(account)
        return JSONResponse({"records": account.records[_after(request) :]})

    async def _release(self, request: Request) -> Response:
        job_id, attempt = request.path_params["job_id"], request.path_params["attempt"]
        await self._service.release(job_id, attempt)
        self._known = {token: c for token, c in self._known.items() if (c.job_id, c.attempt) != (job_id, attempt)}
        return JSONResponse({})


def _with_ledger(response: JSONResponse, engine: _Engine) -> Response:
    """Return an answer with how the job stands."""
    standing = json.dumps(_standing(engine.caller, engine.after), separators=(",", ":")).encode()
    body = b'%b,"tracebench":%b}' % (bytes(response.body)[:-1], standing)
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(body, response.status_code, headers)


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    offered = ", ".join([*WIRES, "/v1/models"]).replace(":path", "")
    words = f"the gateway does not answer {request.method} {request.url.path[:200]}; it offers {offered}"
    return respond(CHAT, rejected(words, status=status))


def _key(request: Request) -> str:
    """Return the key of a request: as Anthropic's clients send it, as OpenAI's do, or as Google's, who may also put it into the address."""
    headers = request.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or bearer or headers.get("x-goog-api-key") or request.query_params.get("key", "")


def _standing(caller: Caller, after: int) -> dict[str, Any]:
    """Return how an attempt stands, with its calls after a number; every answer to the engine tells it."""
    account = caller.account
    balance = account.capped
    return {
        "used": balance.usage(),
        "overshoot": balance.overshoot(caller.claims.budget),
        "refusal": account.refusal,
        "scoring_refusal": account.scoring_refusal,
        "began": balance.clock,
        "calls": len(account.records),
        "records": account.records[after:],
    }


def _after(request: Request) -> int:
    return _number(request.query_params.get("after", "0"))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else 0
