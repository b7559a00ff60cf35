"""Runs whose jobs are on workers, by the command as people type it: real processes, TLS on loopback, and kills."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_workers.tests.world import COMMAND, World
from tests.processes import has_ended, is_alive
from tests.whole import HEAVY

from tracebench_core.errors import UsageError
from tracebench_workers.frames import Ear, NotTheRunError, connect, send
from tracebench_workers.ticket import Ticket, serving

SERVES = (
    "-o",
    "executor=workers",
    "-o",
    "plugins.options.workers.listen=127.0.0.1:0",
    "-o",
    "plugins.options.workers.ticket=ticket",
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_two_workers_by_hand_give_the_leaderboard_of_the_local_run(world: World) -> None:
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(300) == 0, local.communicate()[0]
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", *SERVES)
    workers = [world.worker("one"), world.worker("two")]
    told, _ = run.communicate(timeout=300)

    assert run.returncode == 0, told
    assert "worker one has joined" in told
    assert "worker two has joined" in told
    assert world.leaderboard("there") == world.leaderboard("local")
    for worker in workers:
        words, _ = worker.communicate(timeout=60)
        assert (worker.returncode, "the run is over" in words) == (0, True), words
    checked = world.asked("fsck", "runs/there")
    assert checked.returncode == 0, checked.stdout


@HEAVY
def test_it_is_told_where_jobs_run_and_where_they_would(world: World) -> None:
    planned = world.asked("plan", "waits.yaml")
    assert "runs on:      workers that join at 127.0.0.1:0: trace-bench worker --ticket ticket" in planned.stdout
    assert "executor workers" in world.asked("validate", "--config", "waits.yaml").stdout
    run = world.start("run", "--config", "waits.yaml")
    first = world.worker("one")
    world.wait_for(world.begun)
    (job,) = world.wait_for(
        lambda: (
            [*(world.folder / "runs/r/jobs").iterdir()] and [job for worker in world.states() for job in worker["jobs"]]
        )
    )
    assert f"worker one on {socket.gethostname()}" in world.asked("logs", job).stderr
    table = world.asked("ps").stdout
    assert "one" in table
    assert job in table
    first.send_signal(signal.SIGSTOP)
    world.wait_for(lambda: world.states()[0]["silent"] > 0)
    first.kill()
    world.wait_for(lambda: not world.states())
    (world.folder / "go").touch()
    world.worker("two")
    told, _ = run.communicate(timeout=300)
    assert run.returncode == 0, told


@HEAVY
def test_a_killed_worker_loses_its_job_to_another(world: World) -> None:
    run = world.start("run", "--config", "waits.yaml", "-o", "seeds=[1]")
    first = world.worker("one")
    world.wait_for(world.begun)
    pid = next(iter(world.begun().values()))
    first.kill()
    world.wait_for(lambda: not is_alive(pid))
    second = world.worker("two")
    world.wait_for(lambda: pid not in world.begun().values())
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=300)

    assert run.returncode == 0, told
    assert "is run again" in told
    assert world.statuses() == ["ok"]
    assert second.wait(60) == 0


@HEAVY
def test_a_worker_that_is_held_for_less_than_its_lease_changes_nothing(world: World) -> None:
    run = world.start("run", "--config", "waits.yaml", "-o", "plugins.options.workers.lease=120")
    worker = world.worker("one")
    world.wait_for(world.begun)
    worker.send_signal(signal.SIGSTOP)
    (world.folder / "go").touch()
    time.sleep(1.0)
    worker.send_signal(signal.SIGCONT)
    told, _ = run.communicate(timeout=300)

    assert run.returncode == 0, told
    assert "lost" not in told
    assert world.statuses() == ["ok", "ok"]


@HEAVY
def test_a_worker_that_was_silent_for_too_long_ends_its_jobs_and_is_not_heard_again(world: World) -> None:
    run = world.start("run", "--config", "waits.yaml", "-o", "max_workers=1", "-o", "seeds=[1]")
    silent = world.worker("silent")
    world.wait_for(world.begun)
    pid = world.begun()["1"]
    silent.send_signal(signal.SIGSTOP)
    world.worker("other")
    world.wait_for(lambda: world.begun()["1"] != pid)
    silent.send_signal(signal.SIGCONT)
    world.wait_for(lambda: not is_alive(pid))
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=300)

    assert run.returncode == 0, told
    assert world.statuses() == ["ok"]
    assert silent.wait(60) is not None
    assert told.count("[1/1] ok") == 1


@HEAVY
def test_a_killed_run_leaves_no_job_and_is_resumed_on_this_machine(world: World) -> None:
    run = world.start("run", "--config", "waits.yaml")
    workers = [world.worker("one"), world.worker("two")]
    world.wait_for(lambda: len(world.begun()) == 2)
    pids = [*world.begun().values()]
    run.kill()
    for worker in workers:
        assert "has not answered" in worker.communicate(timeout=120)[0]
    assert all(map(has_ended, pids))
    (world.folder / "go").touch()
    resumed = world.start("resume", "runs/r", "--executor", "local")
    told, _ = resumed.communicate(timeout=300)

    assert resumed.returncode == 0, told
    assert world.statuses() == ["ok", "ok"]


@HEAVY
def test_a_killed_gateway_is_reached_again_at_the_same_port(world: World) -> None:
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", "-o", "seeds=1..6", *SERVES)
    world.worker("one")
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")

    def gateway() -> list[int]:
        with suppress(OSError):
            return [
                int(p)
                for p in children.read_text().split()
                if b"tracebench_gateway" in Path(f"/proc/{p}/cmdline").read_bytes()
            ]
        return []

    world.wait_for(lambda: any((world.folder / "runs/there/jobs").glob("*/results.json")))
    for pid in gateway():
        os.kill(pid, signal.SIGKILL)
    told, _ = run.communicate(timeout=300)
    assert run.returncode == 0, told


async def knock(ticket: Ticket, hello: dict[str, Any]) -> dict[str, Any] | None:
    reader, writer = await connect(ticket)
    send(writer, hello)
    answer = await asyncio.wait_for(Ear(reader).hear(), 60)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return answer[0] if answer is not None else None


@HEAVY
def test_what_a_worker_needs_is_checked_when_it_joins(world: World) -> None:
    run = world.start("run", "--config", "waits.yaml", "-o", "seeds=[1]")
    ticket = world.ticket()
    wrong = str(ticket).rpartition("/")[0] + "/" + "x" * 43
    forged = world.start("worker", TRACEBENCH_TICKET=wrong)
    words, _ = forged.communicate(timeout=120)
    assert (forged.returncode, "the token is not that of this run" in words) == (2, True), words
    assert asyncio.run(knock(ticket, {"kind": "gateway", "token": "nobody's"})) is not None

    elsewhere = world.folder / "elsewhere"
    elsewhere.mkdir()
    lacking = subprocess.run(
        [COMMAND, "worker", "--ticket", "../ticket"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert lacking.returncode == 2
    assert "Start the worker in a folder with the same files" in lacking.stderr, lacking.stderr
    (world.folder / "go").touch()
    world.worker("one")
    told, _ = run.communicate(timeout=300)
    assert run.returncode == 0, told
    assert "somebody without this run's token was not let in" in told
    assert "is not let in" in told


def test_another_version_of_the_bench_or_of_a_plugin_is_refused() -> None:
    from tracebench_core.specs import ExecutorSetting
    from tracebench_workers.fitting import lacking, needs_of

    setting = ExecutorSetting(run_dir="", environ={}, load=("workers",))
    needs = needs_of(setting)
    assert lacking(needs, setting) == ""
    assert "0.0.1" in lacking({**needs, "core": "0.0.1"}, setting)
    assert "of Python 2.7" in lacking({**needs, "python": "2.7"}, setting)
    assert "`workers` 9.9" in lacking({**needs, "plugins": {"workers": "9.9"}}, setting)
    assert "`nobodys` 1.0, which is not installed" in lacking({**needs, "plugins": {"nobodys": "1.0"}}, setting)


def test_nothing_is_said_to_whoever_is_not_the_run() -> None:
    async def meet() -> tuple[bytes, bool]:
        heard = b""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal heard
            heard = await asyncio.wait_for(reader.read(100), 60)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving()[0])
        ticket = Ticket("127.0.0.1", server.sockets[0].getsockname()[1], serving()[1], "secret")
        refused = False
        try:
            await connect(ticket)
        except NotTheRunError:
            refused = True
        await asyncio.sleep(0.2)
        server.close()
        return heard, refused

    assert asyncio.run(meet()) == (b"", True)


@pytest.mark.parametrize(
    "text", ["", "tb1/a/b/c", "tb1/host:1/short/token", "https://host:1", "tb1/host:x/" + "0" * 64 + "/t"]
)
def test_what_is_no_ticket_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="no ticket of a run"):
        Ticket.parse(text)


def test_options_that_say_nothing_are_refused_before_a_job_starts(world: World) -> None:
    for option, words in (("listne=1", "listne"), ("listen=everywhere", "listen"), ("lease=0", "lease")):
        run = world.start("run", "--config", "waits.yaml", "-o", f"plugins.options.workers.{option}")
        told, _ = run.communicate(timeout=120)
        assert run.returncode == 3, told  # a plugin that cannot be used
        assert "Traceback" not in told
        assert f"plugins.options.workers.{words}" in told


def test_a_cap_that_workers_cannot_keep_is_refused_in_words(world: World) -> None:
    run = world.start("run", "--config", "models.yaml", "-o", "executor=workers", "-o", "run_budget.evaluations=5")
    told, _ = run.communicate(timeout=200)
    assert run.returncode != 0
    assert "which workers do not see" in told
    assert "Traceback" not in told
