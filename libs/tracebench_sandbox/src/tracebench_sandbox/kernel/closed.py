"""A network with one way out: a program in a network namespace of its own reaches the addresses that are named, and nothing else.

Each address is bound in the namespace as it is on the host, so that no URL changes. The listening socket is handed to a process on the
host's side, which accepts there and connects here. Source: network_namespaces(7), unix(7) (SCM_RIGHTS), netdevice(7).
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from tracebench_sandbox.kernel.syscalls import prctl

Address = tuple[str, int]
"""Host, which must be a loopback address of IPv4, and port."""

_SET_PDEATHSIG = 1
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_UP = 0x1
_BYTES = 1 << 16
MOST_CONNECTIONS = 512
"""At a time; one more waits. Each takes two threads here, which no limit of the program counts."""
_OTHER_FILES = 32
_SHORTAGE_SECONDS = 0.1


class Relay:
    """Make it before leaving the host, which starts its process; `open` it inside."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = tuple(addresses)
        self._inside, outside = socket.socketpair()
        parent = os.getpid()
        if os.fork() == 0:
            self._inside.close()
            prctl(_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                with suppress(OSError, ValueError):
                    _serve(outside, self._addresses)
            os._exit(0)
        outside.close()

    def open(self) -> None:
        """Bring the new namespace's loopback up, bind the addresses there, and hand them to the relay.

        Raises:
            OSError: when the namespace is not ours to set up.
        """
        _raise_loopback()
        listeners = []
        for address in self._addresses:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.bind(address)
            listener.listen(MOST_CONNECTIONS)  # one that finds it full is tried again by the kernel after a second
            listeners.append(listener)
        if listeners:
            socket.send_fds(self._inside, [b"."], [listener.fileno() for listener in listeners])
        for listener in listeners:
            listener.close()
        self._inside.close()


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(any_socket, _GET_FLAGS, name))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _UP))


def _serve(outside: socket.socket, addresses: Sequence[Address]) -> None:
    """Return at once when there is nothing to serve: the other side closes, and no socket comes."""
    _, fds, _, _ = socket.recv_fds(outside, 1, len(addresses))
    outside.close()
    room = threading.Semaphore(_room())
    threads = [
        threading.Thread(target=_accept, args=(socket.socket(fileno=fd), address, room))
        for fd, address in zip(fds, addresses, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _room() -> int:
    """Return how many connections, of all addresses together, fit into the files that this process may open: two each."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + _OTHER_FILES
    if files != resource.RLIM_INFINITY and files < wanted:
        files = wanted if most == resource.RLIM_INFINITY else min(most, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        return max(1, (files - _OTHER_FILES) // 2)
    return MOST_CONNECTIONS


def _accept(listener: socket.socket, address: Address, room: threading.Semaphore) -> None:
    """Take connections for ever. What keeps one from being taken, as a lack of files or threads, passes: it waits for that."""
    while True:
        room.acquire()
        try:
            client, _ = listener.accept()
            try:
                threading.Thread(target=_join, args=(client, address, room), daemon=True).start()
            except RuntimeError:
                client.close()
                raise
        except (OSError, RuntimeError):
            room.release()
            time.sleep(_SHORTAGE_SECONDS)


def _join(client: socket.socket, address: Address, room: threading.Semaphore) -> None:
    """Pass on what either says, until both have ended; a server that cannot be reached has ended already."""
    try:
        with client, suppress(OSError, RuntimeError), socket.create_connection(address) as server:
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()
    finally:
        room.release()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what arrives until there is no more, and then the end of it."""
    with suppress(OSError):
        while data := source.recv(_BYTES):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
