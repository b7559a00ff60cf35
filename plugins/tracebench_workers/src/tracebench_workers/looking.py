"""`doctor --as worker`: what a worker has on this machine, and, with a ticket, what it lacks of what its run needs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api import Diagnosis, diagnose
from tracebench_engine.api.programs import scratch_folder
from tracebench_workers.command import VARIABLE
from tracebench_workers.frames import HELLO_SECONDS, Ear, NotTheRunError, Streams, connect, send
from tracebench_workers.line import ANOTHER, relay
from tracebench_workers.member import Member
from tracebench_workers.ticket import Ticket

MACHINE = frozenset({"Python", "system", "open files", "processes", "isolation", "GPU"})
"""What of a machine a worker needs, by the names that `doctor` gives it."""
ANEW = "take the ticket of the run anew"
HOW = f"{VARIABLE}=$(cat ticket) trace-bench doctor --as worker"


def look(root: Path | None) -> Iterator[Diagnosis]:
    """Look from the place of a worker; of its run, too, where the variable of the ticket is set."""
    yield from (row for row in diagnose() if row.name in MACHINE)
    yield _scratch()
    told = os.environ.get(VARIABLE, "")
    if not told:
        yield asyncio.run(_loopback(None))
        yield Diagnosis("run", ok=False, value=f"none was asked: `{VARIABLE}` is not set", hint=HOW)
        return
    try:
        ticket = Ticket.parse(told)
    except TraceBenchError as err:
        yield Diagnosis("run", ok=False, value=str(err), hint=HOW, needed=True)
        return
    yield from asyncio.run(_ask(ticket, root))


def _scratch() -> Diagnosis:
    try:
        with scratch_folder("worker") as folder:
            free = os.statvfs(folder)
            return Diagnosis(
                "scratch",
                ok=True,
                value=f"{free.f_bavail * free.f_frsize / 2**30:.1f} GiB in {folder.parent}",
                needed=True,
            )
    except (OSError, TraceBenchError) as err:
        return Diagnosis("scratch", ok=False, value=str(err), hint="export TMPDIR=DIR, a folder with room", needed=True)


async def _ask(ticket: Ticket, root: Path | None) -> list[Diagnosis]:
    """Ask a run whether a worker of this machine could join; none does."""
    where = f"{ticket.host}:{ticket.port}"
    try:
        reader, writer = await connect(ticket)
    except NotTheRunError:
        return [_no(f"{where}: {ANOTHER}")]
    except (OSError, TimeoutError) as err:
        return [_no(f"no run answers at {where}: {str(err) or type(err).__name__}", hint=f"curl -kv https://{where}")]
    member = Member(ticket, jobs=1, name="", root=root, folder=Path.cwd())
    try:
        return await _shown(ticket, member, (reader, writer))
    except TimeoutError:
        return [_no(f"{where} gave no answer in {HELLO_SECONDS:g} s", hint="trace-bench ps")]
    except (KeyError, TypeError, ValueError) as err:
        words = f"{where} says what this version does not understand: {type(err).__name__}: {err}"
        return [_no(words, hint="install the version of the run")]
    finally:
        member.leave_folder()
        writer.close()


async def _shown(ticket: Ticket, member: Member, streams: Streams) -> list[Diagnosis]:
    reader, writer = streams
    send(writer, {"token": ticket.token, "kind": "look"})
    ear = Ear(reader)
    welcome = await asyncio.wait_for(ear.hear(), HELLO_SECONDS)
    if welcome is None or "needs" not in welcome[0]:
        why = str(welcome[0].get("over", "")) if welcome is not None else ""
        return [_no(why or "it gave no answer")]
    found = await asyncio.to_thread(member.check, welcome[0])
    send(writer, {**found, "session": member.session})
    last = await asyncio.wait_for(ear.hear(), HELLO_SECONDS)
    shares = last is not None and last[0].get("shares") is True
    fits = "lacks" not in found
    takes = f"{ticket.host}:{ticket.port} takes a worker of this machine"
    run = Diagnosis("run", ok=fits, value=found.get("lacks", takes), needed=True)
    return [run, *([_folder(welcome[0], shares=shares)] if fits else []), await _loopback(ticket)]


def _no(why: str, *, hint: str = ANEW) -> Diagnosis:
    return Diagnosis("run", ok=False, value=why, hint=hint, needed=True)


def _folder(welcome: dict[str, Any], *, shares: bool) -> Diagnosis:
    offer = welcome.get("folder")
    if offer is None:
        return Diagnosis("folder", ok=True, value="the run takes files over the connection")
    path = Path(offer["jobs"]).parent
    if shares:
        return Diagnosis("folder", ok=True, value=f"{path} is shared with the run")
    hint = "mount it here under that path, or leave it: files go over the connection (`files: auto`)"
    return Diagnosis(
        "folder",
        ok=False,
        value=f"{path} is not shared with the run",
        hint=hint,
        needed=bool(welcome.get("must_share")),
    )


async def _loopback(ticket: Ticket | None) -> Diagnosis:
    """Look whether jobs can be given a port of this machine's loopback, and where it leads."""

    def turn_away(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    try:
        door = await asyncio.start_server(turn_away if ticket is None else partial(relay, ticket), "127.0.0.1", 0)
    except OSError as err:
        return Diagnosis(
            "loopback", ok=False, value=f"no port of 127.0.0.1 can be had: {err}", hint="ip link set lo up", needed=True
        )
    async with door:
        port = door.sockets[0].getsockname()[1]
        led = await asyncio.to_thread(_led, port)
    to = (
        ""
        if ticket is None
        else ", which leads to the run's gateway"
        if led
        else ", which leads to the run; it has asked no model so far"
    )
    return Diagnosis(
        "loopback", ok=True, value=f"jobs ask models at a port of 127.0.0.1, such as {port}{to}", needed=True
    )


def _led(port: int) -> bool:
    """Say whether whoever is at the other end of a port speaks HTTP, as the gateway does."""
    asked = HTTPConnection("127.0.0.1", port, timeout=HELLO_SECONDS)
    try:
        asked.request("GET", "/v1/models")
        return asked.getresponse().status > 0
    except (OSError, HTTPException):
        return False
    finally:
        asked.close()
