"""What a real worker and a real hub say to each other when one of them says something odd."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.errors import UsageError
from tracebench_core.specs import ExecutorSetting
from tracebench_workers.executor import WorkersExecutor, _keep
from tracebench_workers.fitting import needs_of
from tracebench_workers.frames import _SIZES, connect, receive, send
from tracebench_workers.hub import MOST_STRANGERS, Given, Hub, Station, Told
from tracebench_workers.options import Options
from tracebench_workers.ticket import Ticket

SETTING = ExecutorSetting(run_dir="", environ={}, load=())
NOBODYS: Any = None


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(Options(), {"needs": needs_of(SETTING), "setting": SETTING.model_dump(mode="json"), "lease": 60.0})
    yield made
    made.close()


@pytest.fixture
def worker(hub: Hub, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tracebench_workers", "--jobs", "2"],
        cwd=tmp_path,
        env={**os.environ, "TRACEBENCH_TICKET": str(hub.ticket)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    yield process
    process.kill()
    process.communicate()


def joined(hub: Hub) -> Station:
    told = hub.told.get(timeout=120)
    assert told.what == "joined"
    return told.station


def test_orders_that_cannot_be_taken_are_lost_and_the_worker_stays(hub: Hub, worker: subprocess.Popen[bytes]) -> None:
    station = joined(hub)
    for number, (order, body) in enumerate([("{}", b""), ("no json", b""), ("{}", b"no parcel"), (7, b"")]):
        hub.give(station, number, Given(NOBODYS, {"order": order, "number": number}, body))
        told = hub.told.get(timeout=60)
        assert (told.what, told.words.get("end"), told.words.get("exit")) == ("end", number, "lost")
        assert "could not take the order" in told.words["detail"]
    assert worker.poll() is None
    hub.close()
    assert b"the run is over" in worker.communicate(timeout=60)[0]


def test_a_worker_that_is_ended_says_that_it_leaves(hub: Hub, worker: subprocess.Popen[bytes]) -> None:
    joined(hub)
    worker.terminate()
    assert hub.told.get(timeout=60).what == "left"


def hello(hub: Hub, **more: Any) -> dict[str, Any]:
    plain = {"kind": "worker", "session": "s", "name": "n", "slots": 1, "boot": "b", "pid": 1}
    return {**plain, "token": hub.ticket.token, **more}


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def join(hub: Hub) -> Any:
    reader, writer = await connect(hub.ticket)
    send(writer, hello(hub))
    assert "needs" in (await receive(reader))[0]  # type: ignore[index]
    send(writer, {"fits": True})
    return reader, writer


@pytest.mark.parametrize("sizes", [(1 << 17, 0), (10, 1)], ids=["words", "body"])
def test_nothing_large_is_taken_of_whoever_has_shown_no_token(hub: Hub, sizes: tuple[int, int]) -> None:
    async def knock() -> Any:
        reader, writer = await connect(hub.ticket)
        writer.write(_SIZES.pack(*sizes))
        await writer.drain()
        answer = await receive(reader)
        await closed(writer)
        return answer

    answer = asyncio.run(knock())
    assert "the token is not that of this run" in answer[0]["over"]


def test_strangers_that_say_nothing_keep_no_further_ones_waiting(hub: Hub) -> None:
    async def crowd() -> Any:
        held = [await connect(hub.ticket) for _ in range(MOST_STRANGERS)]
        reader, last = await connect(hub.ticket)
        refused = await receive(reader)
        await closed(last)
        for _, writer in held:
            await closed(writer)
        await asyncio.sleep(0.1)
        _, writer = await join(hub)
        await closed(writer)
        return refused

    assert asyncio.run(crowd()) is None
    assert joined(hub).name == "n"


def test_odd_words_of_a_worker_end_its_connection_and_nothing_else(hub: Hub) -> None:
    async def knock(more: dict[str, Any]) -> None:
        reader, writer = await connect(hub.ticket)
        send(writer, hello(hub, **more))
        if await receive(reader) is not None:
            send(writer, {"fits": True})
            assert await receive(reader) is None
        await closed(writer)

    for more in ({"slots": "many"}, {"session": "t", "has": 7}):
        asyncio.run(knock(more))


def test_a_cancel_and_an_order_reach_a_worker_that_comes_back(hub: Hub) -> None:
    async def work() -> list[dict[str, Any]]:
        _, writer = await join(hub)
        station = await asyncio.to_thread(joined, hub)
        await closed(writer)
        while station.writer is not None:
            await asyncio.sleep(0.01)
        hub.give(station, 1, Given(NOBODYS, {"order": "{}", "number": 1}, b"", deadline=1.0))
        hub.cancel(station, 1)
        reader, writer = await connect(hub.ticket)
        send(writer, hello(hub, is_back=True))
        found = [(await receive(reader))[0] for _ in range(2)]  # type: ignore[index]
        await closed(writer)
        return found

    assert asyncio.run(work()) == [{"order": "{}", "number": 1, "seconds": 0.0}, {"cancel": 1}]


def test_a_file_on_its_way_is_a_sign_of_life_and_answered(hub: Hub) -> None:
    async def work() -> tuple[Any, float]:
        reader, writer = await join(hub)
        station = await asyncio.to_thread(joined, hub)
        station.silence = 5.0
        words = b'{"end": 1}'
        writer.write(_SIZES.pack(len(words), 1 << 20) + words + bytes(1000))  # and no more of it
        answer = await receive(reader)
        await closed(writer)
        return answer, station.silence

    assert asyncio.run(work()) == (({"heard": True}, b""), 0.0)


@pytest.mark.parametrize("exit_", ["finished", "unwritable", ["done"], None, 0])
def test_an_end_that_there_is_not_loses_the_job(hub: Hub, exit_: Any) -> None:
    executor, station = WorkersExecutor(), Station("s", "n", 1, "b", 1)
    station.running[1] = Given(NOBODYS, {}, b"")
    executor._take(hub, Told("end", station, {"end": 1, "exit": exit_}))
    assert [end.exit for end in executor._ready] == ["lost"]
    assert not station.running


@pytest.mark.parametrize("port", ["65536", "99999"])
def test_a_port_that_there_is_not_is_refused(port: str) -> None:
    with pytest.raises(ValidationError):
        Options(listen=f"127.0.0.1:{port}")
    with pytest.raises(UsageError):
        Ticket.parse(f"tb1/host:{port}/{'0' * 64}/t")
    assert Options(listen="127.0.0.1:65535", reach="h:7400").listen
    assert Ticket.parse(f"tb1/host:65535/{'0' * 64}/t").port == 65535


def test_the_ticket_is_for_its_owner_and_through_no_link(tmp_path: Path) -> None:
    other = tmp_path / "others"
    other.write_text("kept")
    (tmp_path / "ticket").symlink_to(other)
    _keep(tmp_path / "ticket", "secret")
    assert other.read_text() == "kept"
    assert (tmp_path / "ticket").read_text() == "secret\n"
    assert (tmp_path / "ticket").lstat().st_mode & 0o177777 == 0o100600
