"""What a machine is told that asks whether a worker of its could join: of a real hub, of a server that is none, and of nobody."""

from __future__ import annotations

import asyncio
import gc
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.llm.scripted import Scripted

from tracebench_core.errors import UsageError
from tracebench_core.specs import ExecutorSetting
from tracebench_engine.api import Diagnosis
from tracebench_workers import looking
from tracebench_workers.command import VARIABLE
from tracebench_workers.fitting import needs_of
from tracebench_workers.hub import Hub
from tracebench_workers.line import ANOTHER
from tracebench_workers.looking import ANEW, HOW, look
from tracebench_workers.options import Options, listening, refuse_unheard
from tracebench_workers.shared import Ground
from tracebench_workers.ticket import Ticket, serving

SETTING = ExecutorSetting(run_dir="", environ={}, load=())
NEEDS = needs_of(SETTING)
Made = Callable[..., Hub]


@pytest.fixture
def made() -> Iterator[Made]:
    """Return a function that makes a hub."""
    hubs: list[Hub] = []

    def make(ground: Ground | None = None, listen: str = "", **welcome: Any) -> Hub:
        plain = {"needs": NEEDS, "setting": SETTING.model_dump(mode="json"), "lease": 60.0}
        hubs.append(Hub(Options(listen=listen), {**plain, **welcome}, ground))
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()


async def asked(ticket: Ticket) -> list[Diagnosis]:
    """Ask, and wait until every connection is closed, as nobody does whose process ends."""
    rows = await looking._ask(ticket, None)
    loop: Any = asyncio.get_running_loop()
    until = loop.time() + 60
    while loop._transports and loop.time() < until:
        gc.collect()
        await asyncio.sleep(0.005)
    return rows


def ask(ticket: Ticket) -> list[Diagnosis]:
    return asyncio.run(asked(ticket))


def where(hub: Hub) -> str:
    return f"127.0.0.1:{hub.ticket.port}"


def test_a_machine_that_fits_is_told_what_it_would_share_and_where_its_jobs_would_ask_models(made: Made) -> None:
    hub = made()
    run, folder, loopback = ask(hub.ticket)
    assert run == Diagnosis("run", ok=True, value=f"{where(hub)} takes a worker of this machine", needed=True)
    assert folder == Diagnosis("folder", ok=True, value="the run takes files over the connection")
    assert (loopback.name, loopback.ok) == ("loopback", True)
    assert loopback.value.endswith(", which leads to the run; it has asked no model so far")
    assert hub.told.empty(), "nobody has joined"
    with Scripted({}) as server:
        hub.gateway = ("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]))
        assert ask(hub.ticket)[-1].value.endswith(", which leads to the run's gateway")


def has_both_families() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


BOTH = pytest.mark.skipif(not has_both_families(), reason="this machine has no `::1`")


@BOTH
def test_an_address_in_brackets_is_listened_at_and_found(made: Made) -> None:
    refuse_unheard(Options(listen="[::1]:0"))
    hub = made(listen="[::1]:0")
    assert (hub.ticket.host, ask(hub.ticket)[0].ok) == ("[::1]", True)
    assert made(listen="[::]:0").ticket.host == socket.gethostname()


@BOTH
def test_workers_find_a_run_at_each_of_its_addresses(made: Made) -> None:
    hub = made(listen="*:0")
    assert [ask(replace(hub.ticket, host=host))[0].ok for host in ("127.0.0.1", "[::1]")] == [True, True]


@BOTH
def test_a_port_that_is_taken_at_one_address_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        ports = iter([taken.getsockname()[1], 0])

        class Socket(socket.socket):
            def bind(self, address: Any) -> None:
                super().bind((address[0], address[1] or next(ports), *address[2:]))

        monkeypatch.setattr(socket, "socket", Socket)
        listeners = listening(Options(listen="*:0"))
    assert [listener.getsockname()[1] for listener in listeners] == [listeners[0].getsockname()[1]] * len(listeners)
    assert next(ports, None) is None
    for listener in listeners:
        listener.close()


def test_an_address_that_a_machine_lacks_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in ("192.0.2.1", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    (listener,) = listening(Options(listen="both:0"))
    assert listener.getsockname()[0] == "127.0.0.1"
    listener.close()
    found.pop()
    with pytest.raises(UsageError, match="Cannot assign requested address"):
        listening(Options(listen="both:0"))


def test_a_folder_that_both_see_is_shared_and_left_as_it_was(made: Made, tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    before = {*ground._path.iterdir()}
    _, folder, _ = ask(made(ground).ticket)
    assert folder == Diagnosis("folder", ok=True, value=f"{tmp_path} is shared with the run")
    assert {*ground._path.iterdir()} == before


@pytest.mark.parametrize("must_share", [False, True])
def test_a_folder_that_is_not_seen_here_keeps_off_whoever_has_to_share_it(
    made: Made, tmp_path: Path, must_share: bool
) -> None:
    ground = Ground(tmp_path)
    hub = made(ground, must_share=must_share)
    shutil.rmtree(ground._path)
    run, *more = ask(hub.ticket)
    if must_share:
        assert run.value.startswith("the run directory is not shared with this machine: ")
        assert run.value.endswith("; mount it here under that path, or start the run with `files: auto`")
        assert (run.ok, [row.name for row in more]) == (False, ["loopback"])
        return
    assert (run.ok, more[0].name, more[0].ok, more[0].needed) == (True, "folder", False, False)
    assert more[0].value == f"{tmp_path} is not shared with the run"
    assert more[0].hint == "mount it here under that path, or leave it: files go over the connection (`files: auto`)"


def test_a_machine_that_lacks_something_is_told_what(made: Made) -> None:
    run, loopback = ask(made(needs={**NEEDS, "python": "2.7"}).ticket)
    assert (run.ok, run.needed, loopback.name) == (False, True, "loopback")
    assert "2.7" in run.value


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fingerprint": "0" * 64}, ANOTHER),
        ({"token": "mine"}, "the token is not that of this run: a ticket is good for one run, and changes when it is resumed"),
    ],
)  # fmt: skip
def test_the_ticket_of_another_run_opens_nothing(made: Made, changed: dict[str, str], words: str) -> None:
    hub = made()
    (run,) = ask(replace(hub.ticket, **changed))
    told = f"{where(hub)}: {words}" if "fingerprint" in changed else words
    assert run == Diagnosis("run", ok=False, value=told, hint=ANEW, needed=True)


def test_where_nobody_listens_no_run_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (run,) = ask(Ticket("127.0.0.1", port, "0" * 64, "t"))
    assert run.value.startswith(f"no run answers at 127.0.0.1:{port}: ")
    assert run.hint == f"curl -kv https://127.0.0.1:{port}"
    assert (run.ok, run.needed) == (False, True)


def test_a_run_of_another_version_is_told_and_ends_in_no_error_of_ours(made: Made) -> None:
    hub = made(setting={"odd": 1})
    (run,) = ask(hub.ticket)
    assert run.value.startswith(f"{where(hub)} says what this version does not understand: ValidationError: ")
    assert (run.ok, run.hint) == (False, "install the version of the run")


@pytest.mark.parametrize("is_held", [True, False])
def test_a_run_that_says_nothing_is_told_and_ends_in_no_error_of_ours(
    monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    """It is held, as by SIGSTOP, or ends just now."""
    monkeypatch.setattr(looking, "HELLO_SECONDS", 0.05 if is_held else 60.0)

    async def main() -> tuple[int, list[Diagnosis]]:
        context, pinned = serving()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if is_held:
                await reader.read()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
            port = server.sockets[0].getsockname()[1]
            return port, await asked(Ticket("127.0.0.1", port, pinned, "t"))

    port, (run,) = asyncio.run(main())
    assert run.value == (f"127.0.0.1:{port} gave no answer in 0.05 s" if is_held else "it gave no answer")
    assert run.hint == ("trace-bench ps" if is_held else ANEW)


def test_a_machine_is_looked_at_without_a_run_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = [Diagnosis(name, ok=True, value="") for name in ("Python", "git", "isolation", "models")]
    monkeypatch.setattr(looking, "diagnose", lambda: machine)  # what it says of this machine has tests of its own
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    rows = [*look(None)]
    assert [row.name for row in rows] == ["Python", "isolation", "scratch", "loopback", "run"]
    assert rows[2].value.endswith(f" GiB in {tmp_path}")
    assert rows[3].value.startswith("jobs ask models at a port of 127.0.0.1, such as ")
    assert not rows[3].value.endswith("far")
    assert rows[4] == Diagnosis("run", ok=False, value=f"none was asked: `{VARIABLE}` is not set", hint=HOW)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    monkeypatch.setenv(VARIABLE, "no ticket")
    *_, scratch, run = look(None)
    assert (scratch.ok, scratch.needed, scratch.hint) == (False, True, "export TMPDIR=DIR, a folder with room")
    assert (run.ok, run.needed, run.hint) == (False, True, HOW)
    assert run.value.startswith("This is no ticket of a run")
