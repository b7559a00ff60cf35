"""Descriptors over a socket, as `socket.send_fds` and `recv_fds` send and receive them, in few steps.

Those make arrays, and a fresh fork copies a page of memory for nearly everything that it touches for the first time.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

_SIZE = 4
"""Bytes of a descriptor's number: an `int` of C."""


def send(link: socket.socket, data: bytes, fds: Sequence[int]) -> None:
    """Send a message with descriptors; raises OSError where nobody can take it."""
    numbers = b"".join([fd.to_bytes(_SIZE, sys.byteorder) for fd in fds])
    link.sendmsg((data,), ((socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers),))


def receive(link: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Return a message of up to `size` bytes, empty at the end, and up to `most` descriptors, which are the caller's from now on."""
    data, parts, _, _ = link.recvmsg(size, socket.CMSG_LEN(most * _SIZE))
    fds = []
    for level, kind, numbers in parts:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            places = range(0, len(numbers) // _SIZE * _SIZE, _SIZE)
            fds += [int.from_bytes(numbers[place : place + _SIZE], sys.byteorder) for place in places]
    return data, fds
