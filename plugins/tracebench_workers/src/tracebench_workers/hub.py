"""Where workers join a run: a listening port, a thread that serves it, and what is known of each worker."""

from __future__ import annotations

import asyncio
import hmac
import logging
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracebench_core.specs import JobOrder
from tracebench_workers.frames import BEATS, HELLO_SECONDS, LONGEST_HELLO, Ear, Message, Post, Streams, pump, send
from tracebench_workers.options import EVERYWHERE, Serving, listening
from tracebench_workers.shared import Ground
from tracebench_workers.ticket import Ticket, new_token, serving

if TYPE_CHECKING:
    from tracebench_workers.keeping import Kept

log = logging.getLogger(__name__)

ANSWER_SECONDS = 900.0
"""How long a worker may take to see whether it has what the run needs: it imports that."""
CLOSING = 10.0
"""Seconds that saying goodbye may take."""
MOST_STRANGERS = 384
"""Connections at a time that have not shown the token yet; further ones are closed at once. A whole array of workers may come together."""


class Given(NamedTuple):
    """An order on its way, or under way, at a worker."""

    order: JobOrder
    words: dict[str, Any]
    body: bytes
    deadline: float | None = None
    """By this process's monotonic clock; the worker is told the seconds left when the order is sent."""

    def send(self, post: Post) -> None:
        """Send the order."""
        seconds = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        post.send({**self.words, "seconds": seconds}, self.body)


@dataclass(eq=False)
class Station:
    """A worker, as the run knows it."""

    session: str
    name: str
    slots: int
    boot: str
    host: str = ""
    running: dict[int, Given] = field(default_factory=dict)
    """By the number of the order. Changed by the run's own thread alone."""
    cancelled: set[int] = field(default_factory=set)
    """Of the orders that it runs; it is told again when it comes back."""
    post: Post | None = None
    """None while it is out of reach."""
    silence: float = 0.0
    """Seconds waited since its last word."""
    is_gone: bool = False
    shares: bool = False
    """Whether it writes where the run sees it."""
    trained: set[str] = field(default_factory=set)
    """Jobs whose files it still has, since it sent them after their training."""


class Told(NamedTuple):
    """Something that the run's own thread is to hear."""

    what: Literal["joined", "end", "left"]
    station: Station
    words: dict[str, Any]
    body: bytes = b""


class Hub:
    """Lets workers in, and carries orders and ends; who does what is decided elsewhere."""

    def __init__(self, options: Serving, welcome: dict[str, Any], ground: Ground | None = None) -> None:
        """Listen. `welcome` is told to each that knocks: what it needs, and what it is to do; `ground`: a folder that it may see.

        Raises:
            UsageError: when the address cannot be had.
        """
        self.told: queue.SimpleQueue[Told | Kept] = queue.SimpleQueue()
        """What the run's own thread is to hear; whoever works for it beside it may put here what has come of that."""
        self.gateway: tuple[str, int] | None = None
        """The run's gateway; workers reach nothing else through here."""
        self._ground = ground
        self._demands_shared = options.files == "shared"
        self._welcome = {**welcome, "folder": ground.offer() if ground is not None else None}
        self._stations: dict[str, Station] = {}
        self._token = new_token()
        context, pinned = serving()
        listeners = listening(options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="workers", daemon=True)
        self._thread.start()
        self._acts: deque[Callable[[], None]] = deque()
        self._strangers = 0
        bound = listeners[0].getsockname()[1]
        self._servers: list[asyncio.Server] = [
            self._do(
                asyncio.start_server(
                    self._answer,
                    sock=listener,
                    ssl=context,
                    ssl_handshake_timeout=HELLO_SECONDS,
                    backlog=MOST_STRANGERS,
                )
            )
            for listener in listeners
        ]
        seen, _, seen_port = options.reach.rpartition(":")
        host = options.listen.rpartition(":")[0] or "127.0.0.1"
        own = host if host not in EVERYWHERE else socket.gethostname()
        self.ticket = Ticket(seen or own, int(seen_port or bound), pinned, self._token)

    def give(self, station: Station, number: int, given: Given) -> None:
        """Send an order to a worker at the next `wake`; one that is out of reach gets it when it comes back."""
        station.running[number] = given

        def now() -> None:
            if station.post is not None:
                given.send(station.post)

        self._acts.append(now)

    def cancel(self, station: Station, number: int) -> None:
        """Have a worker end a job, now or when it is in reach again."""
        station.cancelled.add(number)
        self._tell(station, {"cancel": number})
        self.wake()

    def acknowledge(self, station: Station, number: int) -> None:
        """Tell a worker at the next `wake` that an end has arrived, late or not, so that it need not be told again."""
        self._tell(station, {"ack": number})

    def dismiss(self, station: Station, why: str) -> None:
        """Know a worker no more; should it come back, it is told so."""
        station.is_gone = True
        self._tell(station, {"over": why})
        self.wake()

    def close(self) -> None:
        """Say goodbye to all and listen no more. Idempotent."""
        if self._loop.is_closed():
            return
        try:
            self._do(self._say_goodbye(), seconds=CLOSING)
        except TimeoutError:
            log.warning("not all workers heard that the run is over")
        self._stop()

    async def _say_goodbye(self) -> None:
        for server in self._servers:
            server.close()
        for station in self._stations.values():
            if (post := station.post) is not None:
                post.send({"over": "the run is over"})
                with suppress(TimeoutError):
                    await asyncio.wait_for(post.flush(), 1.0)
                post.close()
        await asyncio.sleep(0.05)  # for the last words to leave

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING)
        if not self._loop.is_running():
            self._loop.close()

    def _do(self, coroutine: Any, *, seconds: float = 30.0) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(seconds)

    def _tell(self, station: Station, words: dict[str, Any]) -> None:
        def now() -> None:
            if station.post is not None:
                station.post.send(words)

        self._acts.append(now)

    def wake(self) -> None:
        """Have the hub's thread send what waits: waking it costs more than sending does."""
        if self._acts:
            self._loop.call_soon_threadsafe(self._act)

    def _act(self) -> None:
        while self._acts:
            self._acts.popleft()()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = await self._asked(reader)
            if hello is None or not hmac.compare_digest(str(hello[0].get("token")).encode(), self._token.encode()):
                log.warning("somebody without this run's token was not let in")
                send(
                    writer,
                    {
                        "over": "the token is not that of this run: a ticket is good for one run, and changes when it is resumed"
                    },
                )
            elif hello[0].get("kind") == "gateway":
                await self._lead_to_gateway((reader, writer))
            elif hello[0].get("kind") == "look":
                await self._show((reader, writer))
            else:
                await self._serve(hello[0], (reader, writer))
        except (OSError, TimeoutError):
            pass
        except (KeyError, TypeError, ValueError) as err:
            log.warning("a worker said something that is no word of one: %s: %s", type(err).__name__, err)
        finally:
            writer.close()

    async def _asked(self, reader: asyncio.StreamReader) -> Message | None:
        """Return what somebody says first, who may be anybody."""
        if self._strangers >= MOST_STRANGERS:
            raise ConnectionRefusedError
        self._strangers += 1
        try:
            return await asyncio.wait_for(Ear(reader, longest=LONGEST_HELLO, most=0).hear(), HELLO_SECONDS)
        finally:
            self._strangers -= 1

    async def _lead_to_gateway(self, streams: Streams) -> None:
        if self.gateway is not None:
            await pump(streams, await asyncio.open_connection(*self.gateway))

    async def _show(self, streams: Streams) -> None:
        """Tell somebody what a worker would be told who asks whether one could join, and whether its folder would be shared."""
        reader, writer = streams
        send(writer, self._welcome)
        answer = await asyncio.wait_for(Ear(reader, most=0).hear(), ANSWER_SECONDS)
        if answer is not None:
            shares = await self._is_shared_with(str(answer[0].get("session", "")), answer[0])
            send(writer, {"shares": shares})
            await writer.drain()

    async def _serve(self, hello: dict[str, Any], streams: Streams) -> None:
        reader, writer = streams
        has = {*hello.get("has", ())}
        station = self._stations.get(str(hello["session"]))
        if station is None and not hello.get("is_back"):
            send(writer, self._welcome)
            answer = await asyncio.wait_for(Ear(reader, most=0).hear(), ANSWER_SECONDS)
            if answer is None or "fits" not in answer[0]:
                lacks = answer[0].get("lacks", "it gave no answer") if answer is not None else "it went away"
                log.warning("worker %s is not let in: %s", hello["name"], lacks)
                return
            station = Station(
                str(hello["session"]), str(hello["name"]), int(hello["slots"]), str(hello["boot"]), str(hello["host"])
            )
            station.shares = await self._is_shared_with(station.session, answer[0])
            if self._demands_shared and not station.shares:
                log.warning("worker %s is not let in: the run directory is not shared with it", station.name)
                send(writer, {"over": "it says that it sees the folder of the run, and what it writes is not there"})
                return
            self._stations[station.session] = station
            self.told.put(Told("joined", station, hello))
        elif station is None or station.is_gone:
            send(writer, {"over": "it was silent for longer than its lease, and its jobs are run elsewhere"})
            return
        if station.post is not None:
            station.post.close()
        post = station.post = Post(writer)
        try:
            for number, given in [*station.running.items()]:
                if number not in has:
                    given.send(post)
            for number in [*station.cancelled]:
                post.send({"cancel": number})
            await self._hear(station, reader, post)
        finally:
            post.close()
            if station.post is post:
                station.post = None

    async def _is_shared_with(self, session: str, answer: dict[str, Any]) -> bool:
        seen = answer.get("seen")
        if self._ground is None or not isinstance(seen, str):
            return False
        return await asyncio.to_thread(self._ground.is_seen_by, session, seen)

    async def _hear(self, station: Station, reader: asyncio.StreamReader, post: Post) -> None:
        told = 0.0

        def heard() -> None:
            """Files on their way are a sign of life; the worker is told so, because its own signs wait behind them."""
            nonlocal told
            station.silence = 0.0
            if time.monotonic() - told > float(self._welcome["lease"]) / 2 / BEATS:
                told = time.monotonic()
                post.send({"heard": True})

        ear = Ear(reader, heard=heard)
        while (message := await ear.hear()) is not None:
            words, body = message
            station.silence = 0.0
            if "alive" in words:
                post.send(words)
            elif "end" in words:
                self.told.put(Told("end", station, words, body))
            elif "left" in words:
                self.told.put(Told("left", station, words))
