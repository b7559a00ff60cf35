"""What a real worker and a real hub say to each other when one of them says something odd."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.errors import UsageError
from tracebench_core.specs import ExecutorSetting, JobOrder, PluginsConfig
from tracebench_workers.executor import WorkersExecutor, _keep, patience
from tracebench_workers.fitting import needs_of
from tracebench_workers.frames import _SIZES, PIECE, Ear, Post, connect, send
from tracebench_workers.hub import MOST_STRANGERS, Given, Hub, Station, Told
from tracebench_workers.options import Options
from tracebench_workers.ticket import Ticket

SETTING = ExecutorSetting(run_dir="", environ={}, load=())
NOBODYS: Any = None


async def receive(reader: asyncio.StreamReader) -> Any:
    """Return the next message of a connection on which no file is under way; a hub that says nothing fails the test."""
    return await asyncio.wait_for(Ear(reader).hear(), 60)


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
        hub.wake()
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
    assert worker.wait(60) == 130  # what placed it must not take its work for done


def test_a_worker_whose_run_is_over_has_done_its_work(hub: Hub, worker: subprocess.Popen[bytes]) -> None:
    joined(hub)
    hub.close()
    assert worker.wait(60) == 0


def hello(hub: Hub, **more: Any) -> dict[str, Any]:
    plain = {"kind": "worker", "session": "s", "name": "n", "slots": 1, "boot": "b", "host": "h"}
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


def test_an_array_of_workers_that_come_together_is_let_in(hub: Hub) -> None:
    async def arrive() -> list[bool]:
        streams = await asyncio.gather(*(connect(hub.ticket) for _ in range(128)))
        for number, (_, writer) in enumerate(streams):  # all are there before the first one speaks
            send(writer, hello(hub, session=f"s{number}", name=f"n{number}"))
        welcomed = [await receive(reader) for reader, _ in streams]
        for _, writer in streams:
            await closed(writer)
        return ["needs" in words[0] for words in welcomed if words is not None]

    assert asyncio.run(arrive()) == [True] * 128


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
        while station.post is not None:
            await asyncio.sleep(0.01)
        hub.give(station, 1, Given(NOBODYS, {"order": "{}", "number": 1}, b"", deadline=1.0))
        hub.wake()
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
        writer.write(_SIZES.pack(len(words), 1 << 20) + words + _SIZES.pack(0, 1000) + bytes(1000))  # and no more of it
        answer = await receive(reader)
        await closed(writer)
        return answer, station.silence

    assert asyncio.run(work()) == (({"heard": True}, b""), 0.0)


def test_words_overtake_a_file(hub: Hub) -> None:
    async def work() -> list[Any]:
        reader, writer = await join(hub)
        station = await asyncio.to_thread(joined, hub)
        hub.give(station, 1, Given(NOBODYS, {"order": "{}", "number": 1}, os.urandom(1 << 25)))
        hub.wake()
        hub.cancel(station, 1)
        ear = Ear(reader)
        found = [await asyncio.wait_for(ear.hear(), 60) for _ in range(2)]
        await closed(writer)
        return found

    first, second = asyncio.run(work())
    assert first == ({"cancel": 1}, b"")
    assert (second[0]["number"], len(second[1])) == (1, 1 << 25)


def test_files_arrive_as_they_were_sent_and_what_waits_for_its_turn_comes_after_them(hub: Hub) -> None:
    parcels = [os.urandom(size) for size in (1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE)]

    async def work() -> list[Any]:
        _, writer = await join(hub)
        await asyncio.to_thread(joined, hub)
        post = Post(writer)
        for number, parcel in enumerate(parcels):
            post.send({"end": number}, parcel)
        post.send({"left": "it is done"}, in_turn=True)
        await asyncio.wait_for(post.flush(), 60)
        told = [await asyncio.to_thread(hub.told.get, timeout=60) for _ in range(len(parcels) + 1)]
        await closed(writer)
        return told

    told = asyncio.run(work())
    assert [(each.what, each.body) for each in told] == [*(("end", parcel) for parcel in parcels), ("left", b"")]


@pytest.mark.parametrize(
    "said",
    [
        _SIZES.pack(0, 8) + bytes(8),
        _SIZES.pack(2, 4) + b"{}" + _SIZES.pack(0, 5) + bytes(5),
        _SIZES.pack(2, 4) + b"{}" + _SIZES.pack(0, 0),
        _SIZES.pack(2, 4) + b"{}" + _SIZES.pack(2, 4) + b"{}",
        _SIZES.pack(2, 1 << 20) + b"{}" + _SIZES.pack(0, PIECE + 1) + bytes(PIECE + 1),
        _SIZES.pack(2, 1 << 40) + b"{}",
        _SIZES.pack(2, 0) + b"[]",
    ],
    ids=["no words", "too much", "nothing", "two files", "a large piece", "a large file", "no object"],
)
def test_what_is_no_message_ends_the_connection(said: bytes) -> None:
    async def hear() -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(said)
        return await asyncio.wait_for(Ear(reader).hear(), 10)

    assert asyncio.run(hear()) is None


def test_a_worker_is_given_up_when_its_jobs_must_have_ended() -> None:
    station = Station("s", "n", 1, "b")
    assert patience(30.0, station) == 30.0
    station.running[1] = Given(JobOrder.model_construct(grace=20.0), {}, b"")
    assert patience(30.0, station) == pytest.approx(0.7 * 30 + 20 + 2)
    assert patience(3.0, station) > 0.7 * 3 + 20


def test_a_worker_that_holds_code_less_well_than_the_run_demands_is_refused() -> None:
    tell = """
from tracebench_core.specs import ExecutorSetting
from tracebench_workers.fitting import lacking, needs_of
setting = ExecutorSetting(run_dir="", environ={}, load=())
for require in (None, "process", "auto", "strong"):
    print(repr(lacking(needs_of(setting), setting.model_copy(update={"require": require}))))
"""
    hide = [str(Path(__file__).parents[3] / "tests/sandbox/hide.py"), "landlock,seccomp,namespaces"]
    told = subprocess.run(
        [sys.executable, *hide, sys.executable, "-c", tell], capture_output=True, text=True, check=True, timeout=120
    )
    without, process, auto, strong = told.stdout.splitlines()
    assert (without, process) == ("''", "''")
    assert "neither Landlock with seccomp nor user namespaces" in auto
    assert "needs Landlock and seccomp" in strong


def test_a_ticket_that_cannot_be_kept_is_told_and_a_temporary_one_goes_with_the_run(tmp_path: Path) -> None:
    def setting(**options: Any) -> ExecutorSetting:
        return SETTING.model_copy(
            update={"plugins": PluginsConfig(options={"workers": {"listen": "127.0.0.1:0", **options}})}
        )

    with pytest.raises(UsageError, match="cannot be kept"):
        WorkersExecutor()._opened(setting(ticket=str(tmp_path / "nowhere/ticket")))
    before = {*Path(tempfile.gettempdir()).glob("trace-bench-*/ticket")}
    executor = WorkersExecutor()
    executor._opened(setting())
    made = {*Path(tempfile.gettempdir()).glob("trace-bench-*/ticket")} - before
    ours = [path for path in made if executor._hub and path.read_text().strip() == str(executor._hub.ticket)]
    assert len(ours) == 1
    executor._let_go()
    assert not ours[0].parent.exists()


@pytest.mark.parametrize("exit_", ["finished", "unwritable", ["done"], None, 0])
def test_an_end_that_there_is_not_loses_the_job(hub: Hub, exit_: Any) -> None:
    executor, station = WorkersExecutor(), Station("s", "n", 1, "b")
    station.running[1] = Given(NOBODYS, {}, b"")
    hub.told.put(Told("end", station, {"end": 1, "exit": exit_}))
    executor._wait(hub)
    while executor._active:
        executor._wait(hub)
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


def test_a_worker_that_finds_no_run_says_so_by_its_exit_code(hub: Hub, tmp_path: Path) -> None:
    hub.close()
    soon = "import runpy, tracebench_workers.line as line; line.FIRST_SECONDS = 0.5; "
    soon += "runpy.run_module('tracebench_workers', run_name='__main__')"
    found = subprocess.run(
        [sys.executable, "-P", "-c", soon],
        cwd=tmp_path,
        env={**os.environ, "TRACEBENCH_TICKET": str(hub.ticket)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (found.returncode, "There is no run to work for: no run answers" in found.stderr) == (3, True), found.stderr
