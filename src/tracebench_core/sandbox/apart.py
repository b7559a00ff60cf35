"""`python -m tracebench_core.sandbox.apart [--only=HOST:PORT] COMMAND…`: a trusted-in-part program out of sight of the host's processes.

It keeps the host's files, and loses the view of every process but its own: `/proc` shows those that it starts. It has no capability, so
that it cannot take the new `/proc` off, and whatever it started ends with it. It keeps the host's network, too, unless it may reach one
address only; a host that cannot see to that starts nothing. Source: pid_namespaces(7), user_namespaces(7).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tracebench_core.sandbox import namespaces
from tracebench_core.sandbox.closed import Relay
from tracebench_core.sandbox.lockdown import drop_capabilities
from tracebench_core.sandbox.syscalls import prctl

_SET_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
NOT_STARTED = 127
ONLY = "--only="
"""Begins the argument that names the one address which the program may reach; with none, it reaches nothing."""


def enter(relay: Relay | None = None) -> None:
    """Return in the first process of new namespaces, with their own `/proc`; the calling process waits for it and ends as it ends.

    Raises:
        OSError: when this host allows no user namespaces; nothing has changed then.
    """
    namespaces.leave_host(namespaces.PIDS | namespaces.IPC | (namespaces.NET if relay else 0))
    if relay is not None:
        relay.open()
    first = os.fork()
    if first != 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        namespaces.end_like(os.waitpid(first, 0)[1])
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    try:
        namespaces.mount("proc", Path("/proc"), kind="proc")
    except OSError as err:  # a container that masks parts of its own
        _warn(err)
    drop_capabilities()
    prctl(_NO_NEW_PRIVS, 1)


def main() -> None:
    """Move apart and become the command; on a host that does not allow it, say so, and become it all the same if it may use the network."""
    relay = _relay()
    try:
        enter(relay)
    except OSError as err:
        if relay is not None:
            os.write(2, f"The network cannot be closed here: {err.strerror}.\n".encode())
            os._exit(NOT_STARTED)
        _warn(err)
        _become()
    # The first process of a namespace is deaf to signals from within that it does not handle: the command is the second.
    command = os.fork()
    if command == 0:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        _become()
    while True:
        pid, status = os.wait()
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _relay() -> Relay | None:
    """Take the option off the command line."""
    if not sys.argv[1].startswith(ONLY):
        return None
    address = sys.argv.pop(1).removeprefix(ONLY)
    host, _, port = address.rpartition(":")
    return Relay([(host, int(port))] if address else [])


def _become() -> None:
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - this is what it is for
    except OSError as err:
        os.write(2, f"{sys.argv[1]}: {err.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _warn(err: OSError) -> None:
    os.write(2, f"This program sees the host's processes, and what they hold: {err.strerror}.\n".encode())


if __name__ == "__main__":
    main()
