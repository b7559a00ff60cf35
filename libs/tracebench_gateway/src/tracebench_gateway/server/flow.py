"""The way of a request through the gateway, whatever wire it came by: read, admit, call, answer whole or piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError
from tracebench_gateway.server.errors import Failure, Refused, failed, refused, rejected
from tracebench_gateway.server.metering.accounts import Account, scoped
from tracebench_gateway.server.metering.admission import CallerGone, IsGone
from tracebench_gateway.server.providers.pieces import send_in_pieces
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.server.requests.large import SMALL, Counting, Hold, Wanted, declared_size, understand
from tracebench_gateway.server.requests.reading import LARGEST_BODY, BadRequest, parse_object, read_body
from tracebench_gateway.server.service import Service
from tracebench_gateway.server.wire.base import Answer, StreamWriter, Wire
from tracebench_gateway.tokens import Claims
from tracebench_gateway.turns import HEADER, KEY_HEADER, read_key, read_place

T = TypeVar("T")
LONGEST_LENGTH = 12
"""Digits of a length."""
PATIENT_REFUSALS = 20
"""Refusals that are answered at once; a client that loops on waits ever longer and loses its connection each time."""
LONGEST_PENALTY = 5.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: verified claims and the account they belong to."""

    claims: Claims
    account: Account


class Ended(Exception):  # noqa: N818 - the job ended; nothing went wrong
    """The job's training ended while its request was under way."""


async def converse(request: Request, *, wire: Wire, service: Service, caller: Caller, asker: str = "") -> Response:
    """Answer one request; `asker` names the evaluation that makes it, where the engine tells."""
    with ExitStack() as holds:
        try:
            asked = await _read(request, wire, service, caller, holds, asker=asker)
            service.check_priced(caller.claims, asked.model.identity)
        except BadRequest as error:
            return respond(wire, rejected(str(error), status=error.status))
        try:
            turn = _Turn(service, caller, asked, request.is_disconnected)
            if asked.stream:
                return await _streamed(turn, wire, holds.pop_all())
            answers = await turn.follow(turn.run(None))
        except (ProviderError, Refused, CallerGone, Ended) as error:
            return respond(wire, await _failure(error, caller))
        return JSONResponse(wire.whole(asked, answers))


async def _read(
    request: Request, wire: Wire, service: Service, caller: Caller, holds: ExitStack, *, asker: str
) -> Asked:
    """Return what a request asks for; a large body takes room until `holds` is closed."""
    pieces, is_large = await _gather(request, service, caller, holds)
    place = read_place(request.headers.get(HEADER, ""))
    path, alt = request.path_params, request.query_params.get("alt", "json")
    address = {"alt": alt, **path} if path else {}
    key = scoped(caller.claims.phase, asker, read_key(request.headers.get(KEY_HEADER, "")))
    wanted = Wanted(wire, caller.claims, service.settings.llm_of(caller.claims.variant), place, address, asker, key)
    if is_large:
        return await service.reader.read(wanted, pieces)
    return understand(wanted, parse_object(b"".join(pieces)))


async def count(request: Request, counting: Counting, *, service: Service, caller: Caller) -> int:
    """Return what a function of a module counts in a request; a large one is read apart, as one that is answered.

    Raises:
        BadRequest: as it does, or for the body.
    """
    with ExitStack() as holds:
        pieces, is_large = await _gather(request, service, caller, holds)
        if is_large:
            return await service.reader.count(counting, pieces)
        return counting(parse_object(b"".join(pieces)))


async def _gather(request: Request, service: Service, caller: Caller, holds: ExitStack) -> tuple[list[bytes], bool]:
    """Return a body and whether it is large; such a one waits for room, which it takes until `holds` is closed."""
    held: list[Hold] = []

    async def make_room(size: int) -> None:
        if size > SMALL and not held:
            held.append(await service.room.take(caller.claims.job_id, declared_size(request.headers)))
            holds.callback(held[0].release)

    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and len(declared) < LONGEST_LENGTH:
        await make_room(min(int(declared), LARGEST_BODY))
    pieces = await read_body(request, make_room)
    return pieces, bool(held)


def respond(wire: Wire, failure: Failure) -> JSONResponse:
    """Return a failure as the wire writes it."""
    return JSONResponse(wire.error(failure), failure.status, headers=dict(failure.headers))


async def _failure(error: Exception, caller: Caller) -> Failure:
    if isinstance(error, ProviderError):
        return failed(error)
    if isinstance(error, Refused):
        beyond = caller.account.balance(caller.claims.phase).refused - PATIENT_REFUSALS
        if beyond > 0:
            await asyncio.sleep(min(LONGEST_PENALTY, 0.05 * 2 ** min(beyond, 10)))
        return refused(error, close=beyond > 0)
    if isinstance(error, Ended):
        return rejected(f"the training of job `{caller.account.job_id}` has ended", status=401, kind="invalid_api_key")
    return rejected("the caller hung up", status=400)


class _Piece(NamedTuple):
    place: int
    delta: Mapping[str, Any]


class _Finished(NamedTuple):
    place: int
    answer: Answer


Queued = _Piece | _Finished | list[Answer] | Exception
"""What a stream is made of; the list of all answers ends it, an exception breaks it off."""


class _Turn:
    """One admitted request: its calls, side by side, in a task that the end of the job cancels."""

    def __init__(self, service: Service, caller: Caller, asked: Asked, is_gone: IsGone) -> None:
        self._service = service
        self._caller = caller
        self.asked = asked
        self._is_gone = is_gone

    async def run(self, queue: asyncio.Queue[Queued] | None) -> list[Answer]:
        """Make the calls; with a queue, every piece goes there as it comes.

        Raises:
            ProviderError: the first failure of a call.
            Refused: when a cap forbids them.
            CallerGone: when nobody waits for them any more.
        """
        async with self._service.again.in_turn(self._caller.account, self.asked.key):
            return await self._run(queue)

    async def _run(self, queue: asyncio.Queue[Queued] | None) -> list[Answer]:
        claims, account = self._caller.claims, self._caller.account
        known = await self._service.again.known(account, claims, self.asked)
        missing = [place for place in range(self.asked.calls) if place not in known]
        answers = {place: Answer(*answered) for place, answered in known.items()}
        if missing:
            answers |= await self._make(missing, queue)
        if queue is not None:
            for place in known:
                await self._tell_again(place, answers[place], queue)
        return [answers[place] for place in range(self.asked.calls)]

    async def _make(self, places: list[int], queue: asyncio.Queue[Queued] | None) -> dict[int, Answer]:
        """Make the calls at these places of the request."""
        claims, account = self._caller.claims, self._caller.account
        async with self._service.hold(account, claims, self.asked, places, is_gone=self._is_gone) as grant:
            requests = self.asked.requests(claims, account, grant)
            if len(places) == 1:  # most are, and a task each costs time
                return {places[0]: await self._one(places[0], requests[places[0]], queue)}
            calls = [self._one(place, requests[place], queue) for place in places]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return {p: outcome for p, outcome in zip(places, outcomes, strict=True) if isinstance(outcome, Answer)}

    async def _tell_again(self, place: int, answer: Answer, queue: asyncio.Queue[Queued]) -> None:
        """Send an answer that was given before, piece by piece."""

        async def on_delta(delta: dict[str, Any]) -> None:
            await queue.put(_Piece(place, delta))

        await send_in_pieces(answer.reply.message, on_delta)
        await queue.put(_Finished(place, answer))

    async def follow(self, work: Awaitable[T]) -> T:
        """Await work in a task of its own that the end of training cancels.

        Raises:
            Ended: when it did.
        """
        task = asyncio.ensure_future(work)
        account = self._caller.account
        self._service.track(account, self._caller.claims.phase, task)
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and account.is_trained:
                raise Ended from None
            task.cancel()
            raise

    async def _one(self, index: int, request: ChatRequest, queue: asyncio.Queue[Queued] | None) -> Answer:
        on_delta: OnDelta | None = None
        if queue is not None:

            async def on_delta(delta: dict[str, Any]) -> None:
                await queue.put(_Piece(index, delta))

        reply, metered = await self._service.call(self._caller.account, self._caller.claims, request, on_delta=on_delta)
        answer = Answer(reply, metered)
        if queue is not None:
            await queue.put(_Finished(index, answer))
        return answer


async def _streamed(turn: _Turn, wire: Wire, holds: ExitStack) -> Response:
    """Begin to answer with the first piece: until then, a failure still has a status code of its own."""
    queue: asyncio.Queue[Queued] = asyncio.Queue()
    feeding = asyncio.create_task(_feed(turn, queue))
    feeding.add_done_callback(lambda _: holds.close())
    first = await queue.get()
    if isinstance(first, Exception):
        raise first
    writer = wire.stream(turn.asked)
    return StreamingResponse(_events(first, queue, writer, feeding, turn.asked.key), media_type=writer.media_type)


async def _feed(turn: _Turn, queue: asyncio.Queue[Queued]) -> None:
    try:
        answers = await turn.follow(turn.run(queue))
    except (ProviderError, Refused, CallerGone, Ended) as error:
        await queue.put(error)
    except Exception as error:
        await queue.put(ProviderError(f"the gateway failed: {error!r}", kind="server"))
        raise
    else:
        await queue.put(answers)


async def _events(
    first: Queued, queue: asyncio.Queue[Queued], writer: StreamWriter, feeding: asyncio.Task[None], key: str
) -> AsyncIterator[bytes]:
    """Yield a streamed answer. A caller who goes away ends its calls, which are charged for what was asked and sent; with a key they go
    on, as of an answer that comes whole: it may ask for them again."""
    piece = first
    try:
        yield writer.open()
        while not isinstance(piece, list):
            match piece:
                case _Piece(place, delta):
                    yield writer.delta(place, delta)
                case _Finished(place, answer):
                    yield writer.finish(place, answer)
                case ProviderError() as error:
                    yield writer.fail(failed(error))
                    return
                case Refused() as error:
                    yield writer.fail(refused(error))
                    return
                case _:
                    yield writer.fail(rejected("the job's training has ended", status=401, kind="invalid_api_key"))
                    return
            piece = await queue.get()
        yield writer.close(piece)
    finally:
        if not key:
            feeding.cancel()
