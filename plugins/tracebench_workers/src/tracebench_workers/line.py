"""A worker's connection to its run: joined, kept alive, taken up again when it breaks, and the run's gateway at a port of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from tracebench_workers.frames import BEATS, FENCE, Ear, NotTheRunError, Post, connect, pump, send
from tracebench_workers.ticket import Ticket
from tracebench_workers.waking import Wake

AGAIN = 0.2
"""Seconds between two attempts to reach the run."""
FIRST_SECONDS = 30.0
"""How long a run that does not answer yet is waited for."""

ANOTHER = "somebody else answers at the address of the ticket: the run is over, or was resumed with a new ticket"


class Order(NamedTuple):
    """A phase of a job that the run gives to this worker, and the files it needs."""

    words: dict[str, Any]
    body: bytes = b""


Ending = Literal["over", "refused", "absent", "told"]
"""The run is over; it did not let the worker in; it does not answer, or no longer; the worker was told to end."""


class Listener(Protocol):
    """Whoever is at work here; called in the line's thread, and only `check` may take its time."""

    def check(self, welcome: dict[str, Any]) -> dict[str, Any]:
        """Take the run's welcome; return the words of the answer: what is lacking here, or that all is there."""
        ...

    def cancel(self, number: int) -> None:
        """End an order."""
        ...

    def over(self, why: str, ending: Ending) -> None:
        """End all."""
        ...


class Line:
    """Runs in a thread of its own. Orders are in `heard`; what was done is told by `tell_end`, and kept until it has arrived."""

    def __init__(self, ticket: Ticket, hello: dict[str, Any], listener: Listener) -> None:
        self.heard: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self.wake = Wake()
        """Set with each order that is heard."""
        self.port = 0
        """Of the gateway, on the loopback of this machine."""
        self._ticket = ticket
        self._hello = {**hello, "token": ticket.token}
        self._listener = listener
        self._outbox: dict[int, tuple[dict[str, Any], bytes]] = {}
        self._has: set[int] = set()
        self._post: Post | None = None
        self._answered = time.monotonic()
        self._lease: float | None = None
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._work, name="line", daemon=True)

    @property
    def is_in(self) -> bool:
        """Whether the run has let this worker in."""
        return self._lease is not None

    def start(self) -> None:
        """Begin to join."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()

    def tell_end(self, number: int, exit_: str, detail: str, body: bytes) -> None:
        """Tell the end of an order, now or when the run is in reach again."""
        words = {"end": number, "exit": exit_, "detail": detail}

        def now() -> None:
            self._outbox[number] = (words, body)
            if self._post is not None:
                self._post.send(words, body)

        self._loop.call_soon_threadsafe(now)

    def leave(self, why: str) -> None:
        """Tell the run that this worker ends."""

        async def now() -> None:
            self._is_over = True
            if self._post is not None:
                self._post.send({"left": why}, in_turn=True)
                await self._post.flush()
                self._post.close()

        if self._thread.is_alive():
            try:
                asyncio.run_coroutine_threadsafe(now(), self._loop).result(2.0)
            except (OSError, TimeoutError):
                return

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._stay())
        except Exception as err:  # noqa: BLE001 - a worker whose line is broken has to end its jobs
            self._end(f"the line to the run broke: {type(err).__name__}: {err}", "absent")

    def _end(self, why: str, ending: Ending) -> None:
        if not self._is_over:
            self._is_over = True
            self._listener.over(why, ending)

    @property
    def _by_its_run(self) -> Ending:
        return "refused" if self._lease is None else "over"

    async def _stay(self) -> None:
        door = await asyncio.start_server(partial(relay, self._ticket), "127.0.0.1", 0)
        self.port = door.sockets[0].getsockname()[1]
        beating, fence = asyncio.create_task(self._beat()), asyncio.create_task(self._keep_fence())
        while not self._is_over:
            try:
                reader, writer = await connect(self._ticket)
            except NotTheRunError:
                self._end(
                    ANOTHER,
                    self._by_its_run,
                )
            except (OSError, TimeoutError) as err:
                self._give_up(err)
                await asyncio.sleep(AGAIN)
            else:
                await self._talk(reader, writer)
                if not self._is_over:
                    await asyncio.sleep(AGAIN)
        beating.cancel()
        fence.cancel()

    def _give_up(self, err: Exception) -> None:
        if self._lease is None and time.monotonic() - self._answered > FIRST_SECONDS:
            where = f"{self._ticket.host}:{self._ticket.port}"
            self._end(f"no run answers at {where}: {str(err) or type(err).__name__}", "absent")

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        post, ear = Post(writer), Ear(reader, heard=self._hears)
        post.send({**self._hello, "has": sorted(self._has), "is_back": self._lease is not None})
        if self._lease is not None:
            self._post = post
            for words, body in self._outbox.values():
                post.send(words, body)
        while (message := await ear.hear()) is not None:
            words, body = message
            if "needs" in words:
                answer = await asyncio.to_thread(self._listener.check, words)
                post.send(answer)
                if lacks := answer.get("lacks"):
                    await post.flush()
                    self._end(lacks, "refused")
                    break
                self._lease, self._answered, self._post = float(words["lease"]), time.monotonic(), post
            else:
                self._obey(words, body)
            if self._is_over:
                break
        self._post = None
        post.close()

    def _hears(self) -> None:
        """Files on their way are an answer: those of the run itself wait behind them."""
        if self._lease is not None:
            self._answered = time.monotonic()

    def _obey(self, words: dict[str, Any], body: bytes) -> None:
        if "alive" in words:
            self._answered = float(words["alive"])
        elif "heard" in words:
            self._hears()
        elif "number" in words and words["number"] not in self._has:
            self._has.add(words["number"])
            self.heard.put(Order(words, body))
            self.wake.set()
        elif "cancel" in words:
            self._listener.cancel(words["cancel"])
        elif "ack" in words:
            self._outbox.pop(words["ack"], None)
        elif "over" in words:
            self._end(str(words["over"]), self._by_its_run)

    async def _beat(self) -> None:
        while True:
            lease = self._lease
            await asyncio.sleep(AGAIN if lease is None else lease / BEATS)
            if lease is None:
                continue
            if self._post is not None:
                self._post.send({"alive": time.monotonic()})

    async def _keep_fence(self) -> None:
        while True:
            await asyncio.sleep(AGAIN)
            if self._lease is not None and time.monotonic() - self._answered > FENCE * self._lease:
                self._end(f"the run has not answered for {FENCE * self._lease:g} s", "absent")


async def relay(ticket: Ticket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Lead a connection of this machine to the gateway of a run."""
    try:
        run = await connect(ticket)
        send(run[1], {"token": ticket.token, "kind": "gateway"})
        await pump((reader, writer), run)
    except (OSError, TimeoutError, NotTheRunError):
        writer.close()
