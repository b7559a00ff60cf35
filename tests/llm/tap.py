"""A tap between clients and a gateway: it passes bytes on as they are, and keeps what every client was answered."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import httptools

WIRES = ("/chat/completions", "/responses", "/messages", "/completions", "/embeddings", "Content")
"""How the addresses of models end, but for Gemini's method names, which hold `Content`."""
ENDS = (b"data: [DONE]", b'"message_stop"', b'"response.completed"', b'"response.incomplete"', b'"finishReason"')
"""What stands in a stream that is whole."""
SMALL = 1 << 20


class Tap:
    """Listens on 127.0.0.1 and forwards to `target`; use it as a context manager."""

    def __init__(self, target: str) -> None:
        self.answered = 0
        """Calls, every choice of a request being one, that were answered with 2xx and to the end."""
        self.lost = 0
        """Requests whose clients saw no whole answer: they hung up, or the gateway did."""
        self.lose: Callable[[], object] | None = None
        """Called once, with the next answer of a model on its way, which its client never sees: the connection breaks instead."""
        self._target = (urlsplit(target).hostname or "", urlsplit(target).port or 0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Tap:
        self._thread.start()
        opening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = opening.result()
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close their sockets at the loop's next turns

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            with closing(far_writer):
                await self._tap(reader, writer, far_reader, far_writer)

    async def _tap(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
    ) -> None:
        talk = _Talk(self)
        there = asyncio.ensure_future(_pump(reader, far_writer, talk.asked))
        back = asyncio.ensure_future(_pump(far_reader, writer, talk.told))
        try:
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            if there.done() and not back.done():  # a client may have closed its half alone
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(back), 0.05)
        finally:
            self.lost += talk.open
            for task in (there, back):
                task.cancel()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, see: Any) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 18):
            see(data)
            writer.write(data)
            await writer.drain()


class _Talk:
    """One connection: its requests in order, and their answers."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._asked: list[int] = []
        self._requests = httptools.HttpRequestParser(_Request(self._asked))
        self._answers = httptools.HttpResponseParser(self)
        self._body = b""

    @property
    def open(self) -> int:
        """Requests of models that were not answered to the end."""
        return sum(calls > 0 for calls in self._asked)

    def asked(self, data: bytes) -> None:
        with suppress(httptools.HttpParserError):
            self._requests.feed_data(data)

    def told(self, data: bytes) -> None:
        if self.open and self._tap.lose is not None:
            lose, self._tap.lose = self._tap.lose, None
            lose()
            raise ConnectionResetError
        with suppress(httptools.HttpParserError):
            self._answers.feed_data(data)

    def on_message_begin(self) -> None:
        self._body, self._is_stream = b"", False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._is_stream = self._is_stream or (name.lower() == b"content-type" and b"event-stream" in value)

    def on_body(self, body: bytes) -> None:
        self._body = (self._body + body)[-SMALL:]

    def on_message_complete(self) -> None:
        if self._answers.get_status_code() < 200:
            return
        calls = self._asked.pop(0) if self._asked else 0
        is_pieces = self._is_stream or self._body.startswith(b"[")  # Gemini's streams may be one array
        whole = not is_pieces or any(end in self._body for end in ENDS)
        if self._answers.get_status_code() < 300 and whole:
            self._tap.answered += calls


class _Request:
    def __init__(self, asked: list[int]) -> None:
        self._asked = asked

    def on_message_begin(self) -> None:
        self._url, self._pieces, self._size = b"", [], 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= SMALL:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        path = self._url.decode().partition("?")[0]
        is_model = any(path.endswith(end) for end in WIRES[:-1]) or WIRES[-1] in path
        self._asked.append(_calls(b"".join(self._pieces), path) if is_model else 0)


def _calls(body: bytes, path: str) -> int:
    """Return how many calls of a model a request is; one that is too large to be kept is one."""
    with suppress(ValueError, TypeError, AttributeError):
        data = json.loads(body)
        prompts = data.get("prompt") if path.endswith("/completions") and "/chat" not in path else None
        texts = len(prompts) if isinstance(prompts, list) and not all(isinstance(p, int) for p in prompts) else 1
        candidates = (data.get("generationConfig") or {}).get("candidateCount")
        return int(data.get("n") or candidates or 1) * texts
    return 1


def check_answered(tap: Tap, ledger: Iterable[dict[str, Any]]) -> None:
    """See that clients were answered exactly what the ledger calls `ok`; what a lost answer was, only the ledger knows."""
    ok = sum(line["kind"] == "llm_call" and line["status"] == "ok" for line in ledger)
    assert tap.answered <= ok, f"{tap.answered} calls were answered, and the ledger knows of {ok}"
    assert tap.lost or tap.answered == ok, f"the ledger says that {ok} calls were answered, clients saw {tap.answered}"
