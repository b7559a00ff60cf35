"""What a real worker and a real hub say to each other when one of them says something odd."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.specs import ExecutorSetting
from tracebench_workers.fitting import needs_of
from tracebench_workers.hub import Given, Hub, Station
from tracebench_workers.options import Options

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
        hub.give(station, number, Given(NOBODYS, {"order": order, "number": number, "seconds": None}, body))
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
