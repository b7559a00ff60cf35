"""The local control channel of a run: a Unix socket for its owner alone, one JSON line asked and one answered.

The folder of the socket is closed to others (0700), and whoever connects all the same is told apart by `SO_PEERCRED` (unix(7)). A process
of another PID or mount namespace is turned away: it is a program of a job, and jobs have no say over each other.
"""

from __future__ import annotations

import json
import logging
import os
import select
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

LONGEST_MESSAGE = 1 << 16
PATIENCE = 5.0
"""Seconds that either side waits for the other."""
_CREDENTIALS = struct.Struct("3i")
_PEER_PIDFD = 77
"""SO_PEERPIDFD of Linux 6.5: stands for the process that connected, and for no later one of its number."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who asks, as the kernel says."""

    pid: int
    uid: int


Answer = Callable[[dict[str, Any], Peer], dict[str, Any]]


class ControlServer:
    """Answers on a socket in a thread of its own until it is closed. A context manager."""

    def __init__(self, address: Path, answer: Answer) -> None:
        self._answer = answer
        self._path = address
        with suppress(FileNotFoundError):
            address.unlink()  # of a runner that was killed: the run's lock is ours
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(address))
        address.chmod(0o600)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering. Idempotent."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE)
        with suppress(FileNotFoundError):
            self._path.unlink()

    def __enter__(self) -> ControlServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                try:
                    self._serve_one(connection)
                except (OSError, ValueError, TypeError) as err:
                    log.debug("a request on the control channel failed: %s", err)

    def _serve_one(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        peer = _peer(connection)
        if peer.uid != os.geteuid():
            log.warning("process %s of user %s was refused on the control channel", peer.pid, peer.uid)
            _send(connection, {"ok": False, "error": "this run belongs to another user"})
            return
        request = _receive(connection)
        if not _is_among_us(connection, peer):
            log.warning("process %s was refused on the control channel: it is in other namespaces", peer.pid)
            _send(connection, {"ok": False, "error": "a program that a job has started cannot steer runs"})
            return
        try:
            reply = self._answer(request, peer)
        except Exception as err:
            log.warning("the control channel failed: %s", err, exc_info=True)
            reply = {"ok": False, "error": f"{type(err).__name__}: {err}"}
        _send(connection, reply)


def ask(address: str, request: dict[str, Any]) -> dict[str, Any]:
    """Send one request to a run and return its answer.

    Raises:
        OSError: when nobody answers there.
        ValueError, TypeError: when what answers does not speak our language.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(address)
        with suppress(BrokenPipeError):  # a refusal is sent without reading the request
            _send(connection, request)
        return _receive(connection)


def _peer(connection: socket.socket) -> Peer:
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return Peer(pid=pid, uid=uid)


def _is_among_us(connection: socket.socket, peer: Peer) -> bool:
    """Tell whether a peer lives in this process's PID and mount namespaces; one that is gone, or out of sight, does not."""
    try:
        held = connection.getsockopt(socket.SOL_SOCKET, _PEER_PIDFD)
    except OSError:  # an older kernel
        held = None
    try:
        same = all(
            Path(f"/proc/{peer.pid}/ns/{kind}").readlink() == Path(f"/proc/self/ns/{kind}").readlink()
            for kind in ("pid", "mnt")
        )
        return same and (
            held is None or not select.select([held], [], [], 0)[0]
        )  # readable once that process has ended
    except OSError:
        return False
    finally:
        if held is not None:
            os.close(held)


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _receive(connection: socket.socket) -> dict[str, Any]:
    data = bytearray()
    while not data.endswith(b"\n"):
        piece = connection.recv(LONGEST_MESSAGE)
        if not piece or len(data) + len(piece) > LONGEST_MESSAGE:
            raise ValueError("a message was cut short or is too long")
        data += piece
    message = json.loads(data)
    if not isinstance(message, dict):
        raise TypeError("a message is a JSON object")
    return message
