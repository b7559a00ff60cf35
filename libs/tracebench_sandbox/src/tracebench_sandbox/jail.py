"""`python -m tracebench_sandbox.jail [OPTION]… COMMAND…`: a trusted-in-part program out of sight of the host's processes.

It loses the view of every process but its own: `/proc` shows those that it starts. It has no capability, so that it cannot take the new
`/proc` off, and whatever it started ends with it. It keeps the host's network, unless it may reach one address only, and the host's files,
unless it has a root of its own; a host that cannot see to either starts nothing. Source: pid_namespaces(7), user_namespaces(7).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.kernel import landlock, limits, namespaces, seccomp
from tracebench_sandbox.kernel.closed import Relay
from tracebench_sandbox.kernel.enclosure import Enclosure
from tracebench_sandbox.kernel.syscalls import prctl
from tracebench_sandbox.template.lockdown import drop_capabilities

_SET_PDEATHSIG, _SET_DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38
NOT_STARTED = 127
ONLY, ENCLOSED, LIMITS, TELL = "--only=", "--enclosed=", "--limits=", "--tell="
"""What options begin with: the one address that the program may reach, nothing for none; its root (`Enclosure`) and its limits
(`limits.Limits`), as JSON; the descriptor on which is told that it is held, by an empty line, or why it is not."""


class Held(NamedTuple):
    """How a program is held, as the options say."""

    relay: Relay | None = None
    enclosure: Enclosure | None = None
    limits: limits.Limits = limits.Limits()
    tell: int | None = None


def enter(held: Held) -> None:
    """Return in the first process of new namespaces, with their own `/proc`; the calling process waits for it and ends as it ends.

    Raises:
        OSError: when this host allows no user namespaces; nothing has changed then.
    """
    group = limits.open_group(held.limits)
    namespaces.leave_host(namespaces.PIDS | namespaces.IPC | (namespaces.NET if held.relay else 0))
    if held.relay is not None:
        held.relay.open()
    first = os.fork()
    if first != 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        status = namespaces.wait_for(first)
        if group is not None:
            group.close()
        namespaces.end_like(status)
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    in_group = group is not None and group.join()
    limits.limit_namespace(held.limits)
    if held.enclosure is not None:
        os.setsid()  # no terminal is its own
        held.enclosure.build()
    else:
        try:
            namespaces.mount("proc", Path("/proc"), kind="proc")
        except OSError as err:  # a container that masks parts of its own
            _warn(err)
    drop_capabilities()
    prctl(_NO_NEW_PRIVS, 1)
    if held.enclosure is not None:
        landlock.scope()
        if seccomp.available():
            seccomp.hold_program()
    limits.limit_process(held.limits, in_group=in_group)
    prctl(
        _SET_DUMPABLE, 0
    )  # what this process was made from, the host's own interpreter, is out of the program's reach


def main() -> None:
    """Move apart and become the command; on a host that does not allow it, say so, and become it all the same if it may keep network and
    files."""
    held = _options()
    try:
        enter(held)
    except OSError as err:
        if held.enclosure is not None:
            _refuse(held, f"its files cannot be kept to a folder here: {err.strerror}")
        if held.relay is not None:
            _refuse(held, f"the network cannot be closed here: {err.strerror}")
        _warn(err)
        _become()
    _tell(held, "")
    # The first process of a namespace is deaf to signals from within that it does not handle: the command is the second.
    command = os.fork()
    if command == 0:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        _become()
    namespaces.leave_like(namespaces.wait_for(command))


def _options() -> Held:
    """Take the options off the command line."""
    held = Held()
    while sys.argv[1].startswith("--"):
        name, _, value = sys.argv.pop(1).partition("=")
        match f"{name}=":
            case "--only=":
                host, _, port = value.rpartition(":")
                held = held._replace(relay=Relay([(host, int(port))] if value else []))
            case "--enclosed=":
                held = held._replace(enclosure=Enclosure(**json.loads(value)))
            case "--limits=":
                held = held._replace(limits=limits.Limits(**json.loads(value)))
            case "--tell=":
                held = held._replace(tell=int(value))
                os.set_inheritable(int(value), False)  # noqa: FBT003 - as it takes it
            case _:
                raise SystemExit(f"{name}: no such option")
    return held


def _become() -> None:
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - this is what it is for
    except OSError as err:
        os.write(2, f"{sys.argv[1]}: {err.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _refuse(held: Held, why: str) -> None:
    """End without a program."""
    os.write(2, f"{why[0].upper()}{why[1:]}.\n".encode())
    _tell(held, why)
    os._exit(NOT_STARTED)


def _tell(held: Held, words: str) -> None:
    if held.tell is not None:
        with suppress(OSError):  # nobody wants to know any more
            os.write(held.tell, f"{words}\n".encode())
        os.close(held.tell)


def _warn(err: OSError) -> None:
    os.write(2, f"This program sees the host's processes, and what they hold: {err.strerror}.\n".encode())


if __name__ == "__main__":
    main()
