"""Messages between a run's processes: one JSON object a line over a socket pair."""

from __future__ import annotations

import json
import select
import socket
import threading
from typing import Any

CHUNK = 1 << 16


class Wire:
    """One end of the socket pair."""

    def __init__(self, end: socket.socket, *, patience: float | None = None) -> None:
        """`patience`: seconds after which a peer that takes no message counts as gone; None to wait for it."""
        end.settimeout(patience)
        self._socket = end
        self._sending = threading.Lock()
        self._buffer = bytearray()
        self._messages: list[dict[str, Any]] = []
        self.closed = False
        self.is_hung = False
        """Whether it counts as gone because it reads nothing any more, or says what is no message."""

    def fileno(self) -> int:
        """Return the descriptor, for polling."""
        return self._socket.fileno()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message, from any thread; a peer that is gone is noticed on the next receive."""
        try:
            with self._sending:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            self.closed = True
        except TimeoutError:
            self.closed = self.is_hung = True

    def receive(self, *, timeout: float | None) -> list[dict[str, Any]]:
        """Return the messages that are here, waiting up to `timeout` seconds for the first; `closed` is set when the peer is gone."""
        if not self._messages and not self.closed and select.select([self._socket], [], [], timeout)[0]:
            self._read()
        messages, self._messages = self._messages, []
        return messages

    def receive_one(self) -> dict[str, Any] | None:
        """Return the next message, waiting for it; None when the peer is gone."""
        while not self._messages and not self.closed:
            self._read()
        return self._messages.pop(0) if self._messages else None

    @property
    def has_messages(self) -> bool:
        """Whether messages are here that polling the descriptor would not show."""
        return bool(self._messages)

    def _read(self) -> None:
        try:
            data = self._socket.recv(CHUNK)
        except ConnectionResetError:
            data = b""
        self.closed = self.closed or not data
        *lines, rest = (self._buffer + data).split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            self._take(bytes(line))

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            self._messages.append(message)
        else:
            self.closed = self.is_hung = True

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
