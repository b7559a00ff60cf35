"""Keeps a provider's keys out of what it answers: a server may echo the request's headers, and answers end up in files."""

from __future__ import annotations

import ctypes
import io
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TextIO

from tracebench_gateway.credentials import SHORTEST_SECRET, redact
from tracebench_gateway.exchange import ChatRequest, OnDelta, Provider, Reply


class WithoutEcho:
    """A provider whose answers have the keys masked, also where a stream cuts one in two."""

    def __init__(self, provider: Provider, secrets: Sequence[str]) -> None:
        self._provider = provider
        self._secrets = tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """See `Provider`."""
        stream = _Stream(on_delta, self._secrets) if on_delta is not None and self._secrets else None
        reply = await self._provider.ask(request, on_delta=stream.take if stream is not None else on_delta)
        if stream is not None:
            await stream.end()
        return replace(reply, message=_masked(reply.message, self._secrets)) if self._secrets else reply


class _Stream:
    """Passes pieces on, and holds back the end of a text that may be the beginning of a key."""

    def __init__(self, on_delta: OnDelta, secrets: Sequence[str]) -> None:
        self._on_delta = on_delta
        self._secrets = secrets
        self._held = ""

    async def take(self, delta: dict[str, Any]) -> None:
        clean: dict[str, Any] = _masked(delta, self._secrets)
        content = delta.get("content")
        if isinstance(content, str):
            text = redact(self._held + content, self._secrets)
            cut = len(text) - max(_overlap(text, secret) for secret in self._secrets)
            clean["content"], self._held = text[:cut], text[cut:]
            if content and not clean["content"] and len(clean) == 1:
                return
        await self._on_delta(clean)

    async def end(self) -> None:
        if self._held:
            await self._on_delta({"content": self._held})


def _overlap(text: str, secret: str) -> int:
    """Return how many characters at the end of a text are the beginning of a secret."""
    return next((n for n in range(min(len(text), len(secret) - 1), 0, -1) if text.endswith(secret[:n])), 0)


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {redact(name, secrets): _masked(item, secrets) for name, item in value.items()}
    return [_masked(item, secrets) for item in value] if isinstance(value, list) else value


PR_SET_DUMPABLE = 4


def forbid_inspection() -> None:
    """Make `/proc/self` root's, and leave no core dump (Linux; elsewhere nothing is promised)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


class Redacting(io.TextIOBase):
    """A text stream that masks secret values; it writes whole lines, so that none is cut in two."""

    def __init__(self, stream: TextIO, secrets: Iterable[str]) -> None:
        self._stream = stream
        self._secrets = tuple(secrets)
        self._waiting = ""

    def write(self, text: str) -> int:
        """Take text; what is not yet a line waits."""
        *lines, self._waiting = (self._waiting + text).split("\n")
        if lines:
            self._stream.write(redact("\n".join([*lines, ""]), self._secrets))
            self._stream.flush()
        return len(text)

    def finish(self) -> None:
        """Write what waits."""
        self._stream.write(redact(self._waiting, self._secrets))
        self._stream.flush()
        self._waiting = ""

    def fileno(self) -> int:
        """Return the descriptor below, for libraries that ask whether it is a terminal."""
        return self._stream.fileno()


def redact_output(secrets: Iterable[str]) -> tuple[Redacting, Redacting]:
    """Let this process's standard streams mask `secrets`; returns them."""
    values = tuple(secrets)
    sys.stdout, sys.stderr = streams = Redacting(sys.stdout, values), Redacting(sys.stderr, values)
    return streams
