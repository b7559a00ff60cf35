"""Lead one address of the host into a sandbox: who connects to it on the sandbox's own loopback is passed on, and nowhere else.

python -I door.py PID 127.0.0.1:PORT

It prints READY, and then a line for each answer that says that the model's server failed, and for each that never came.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

_NEW_USER = 0x10000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
"""SIOCSIFFLAGS of netdevice(7), and the flags of an interface that is up."""
FAILED = b"HTTP/1.1 5"


def main() -> None:
    """Open the door and pass on what comes, until killed."""
    pid, address = sys.argv[1:]
    host, _, port = address.rpartition(":")
    listener = listener_inside(pid, int(port))
    asyncio.run(serve(listener, host, int(port)))


def listener_inside(pid: str, port: int) -> socket.socket:
    """Return a socket that listens in the network of a process; a child makes it, as who enters a user namespace stays there."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        users, network = (os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in ("user", "net"))
        if os.fstat(users).st_ino != Path("/proc/self/ns/user").stat().st_ino:
            os.setns(users, _NEW_USER)  # type: ignore[attr-defined,unused-ignore]
        os.setns(network)  # type: ignore[attr-defined,unused-ignore]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_:
            fcntl.ioctl(any_, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
        made = socket.create_server(("127.0.0.1", port), backlog=128)
        socket.send_fds(theirs, [b"."], [made.fileno()])
        os._exit(0)
    theirs.close()
    _, sent, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(child, 0)
    if not sent:
        raise SystemExit("the sandbox's network cannot be entered")
    return socket.socket(fileno=sent[0])


async def serve(listener: socket.socket, host: str, port: int) -> None:
    """Pass on every connection."""

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(host, port)
        except OSError as err:
            told(f"the gateway takes no connection: {err.strerror}")
            writer.close()
            return
        asked = asyncio.Event()
        await asyncio.gather(_asking(reader, back, asked), _answering(there, writer, asked), return_exceptions=True)

    server = await asyncio.start_server(passed_on, sock=listener)
    told("READY")
    await server.serve_forever()


async def _asking(reader: asyncio.StreamReader, back: asyncio.StreamWriter, asked: asyncio.Event) -> None:
    while chunk := await reader.read(1 << 16):
        asked.set()
        back.write(chunk)
        await back.drain()
    with suppress(OSError):
        back.write_eof()


async def _answering(there: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
    while chunk := await there.read(1 << 16):
        if asked.is_set() and chunk.startswith(FAILED):
            told(chunk.partition(b"\r\n")[0].decode(errors="replace"))
        asked.clear()
        writer.write(chunk)
        await writer.drain()
    if asked.is_set():
        told("an answer did not come")
    writer.close()


def told(words: str) -> None:
    """Print a line for the environment."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
