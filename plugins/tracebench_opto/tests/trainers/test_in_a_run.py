"""Calls under way together, through the gateway: recorded, replayed and capped as if they came one after another."""

from __future__ import annotations

import io
import itertools
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.reading.compare import differences
from tracebench_testing.fake_openai import FakeOpenAI


class Whimsical:
    """Never answers the same twice, and lets later questions overtake earlier ones."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._rng = random.Random(0)

    def __call__(self, _messages: list[dict[str, Any]]) -> str:
        with self._lock:
            number, wait = next(self._numbers), self._rng.uniform(0.0, 0.03)
        time.sleep(wait)
        return json.dumps({"values": {"x": number / 10}})


def run(runs: Path, *, threads: int, **fields: Any) -> Any:
    settings = {"num_steps": 3, "num_proposals": 4, "num_threads": threads}
    trainers = [{"id": "PrioritySearch", "optimizer": "Reflective", "params": settings}]
    config = {"tasks": ["internal:numeric_param"], "trainers": trainers, "runs_dir": str(runs), **fields}
    return api.load_run(api.run(parse_config(config), stream=io.StringIO()).run_dir)


def told(run: Any) -> list[dict[str, Any]]:
    """Return the events of the run's one job without times and without the trainer's settings."""
    [job] = run.planned
    lines = [json.loads(line) for line in run.layout.job(job.job_id).events.read_text().splitlines()]
    dropped = {"seconds", "t", "mono", "used", "params", "job_id", "versions", "mode", "reply_hash"}
    return [{k: v for k, v in line.items() if k not in dropped} for line in lines if line["kind"] != "job_started"]


@pytest.mark.parametrize("threads", [8, 1])
def test_a_recording_of_calls_in_flight_replays_exactly(tmp_path: Path, threads: int) -> None:
    with FakeOpenAI(reply=Whimsical()) as server:
        llm = {"model": "fake", "base_url": server.base_url, "record": True}
        recorded = run(tmp_path / "a", threads=8, mode="real", llm=llm)
        assert len(server.log.served) >= 20
    again = run(tmp_path / "b", threads=threads, mode="replay", replay_from=str(recorded.layout.path))
    assert {r.status for r in again.results.values()} == {"ok"}
    if threads == 8:
        assert list(differences(recorded, again)) == []
    assert told(again) == told(recorded)


def test_the_stub_answers_the_same_whatever_is_in_flight(tmp_path: Path) -> None:
    alone, together = (run(tmp_path / str(n), threads=n, mode="stub") for n in (1, 8))
    assert told(alone) == told(together)
