"""A recorded job that is killed inside its search goes on where it was: no call is paid twice, and the end is the same."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.reading.compare import without_times
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import holder_of
from tracebench_testing.fake_openai import FakeOpenAI

COMMAND = str(Path(sys.executable).parent / "trace-bench")
STEPS = {"num_steps": 8}
SEARCHES = {
    "MapElites": STEPS,
    "Novelty": STEPS,
    "Anneal": STEPS,
    "TextualGradients": STEPS,
    "Sequence": {
        "legs": [{"trainer": "Anneal", "params": STEPS, "share": 0.5}, {"trainer": "PrioritySearch", "params": STEPS}]
    },
    "Portfolio": {"num_turns": 4, "turn_steps": 2},
}


def reply(messages: list[dict[str, Any]]) -> str:
    """Answer by what was asked, so that who asks the same is answered the same."""
    digest = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).digest()
    return json.dumps({"values": {"x": digest[0] / 64}})


def config(runs: Path, name: str, url: str) -> dict[str, Any]:
    return {
        "runs_dir": str(runs),
        "run_id": "r",
        "mode": "real",
        "llm": {"model": "m", "base_url": url, "record": True},
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": name, "optimizer": "Reflective", "params": SEARCHES[name]}],
        "budget": {"llm_calls": 24},
    }


def events(run_dir: Path) -> list[dict[str, Any]]:
    run = api.load_run(run_dir)
    [job] = run.planned
    lines = [json.loads(line) for line in run.layout.job(job.job_id).events.read_text().splitlines()]
    dropped = {"seconds", "t", "mono", "used", "versions", "digest", "reused", "reused_from"}
    return [{k: v for k, v in line.items() if k not in dropped} for line in lines if line["kind"] != "activity"]


@pytest.mark.heavy("record")
@pytest.mark.parametrize("name", SEARCHES)
def test_a_killed_search_goes_on_inside_itself(tmp_path: Path, name: str) -> None:
    with FakeOpenAI(reply=reply) as server:
        api.run(parse_config(config(tmp_path / "calm", name, server.base_url)), stream=io.StringIO())
        asked = len(server.log.served)
        assert asked >= 8

        server.delay = 0.05
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(config(tmp_path / "killed", name, server.base_url)))
        process = subprocess.Popen([COMMAND, "run", "--config", str(path)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 100
        while len(server.log.served) < asked + asked // 2:
            assert time.monotonic() < deadline
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        run_dir = tmp_path / "killed" / "r"
        while holder_of(RunLayout(run_dir)) is not None:
            time.sleep(0.02)
        lost = len(server.log.served) - asked
        assert api.resume(run_dir, stream=io.StringIO()).counts == {"ok": 1}
        again = len(server.log.served) - asked - lost

    assert again < asked, "everything was asked again"
    assert lost + again - asked <= 8, "only what was under way when it was killed is asked again"
    assert events(run_dir) == events(tmp_path / "calm" / "r")
    one, other = (
        [without_times(r) for r in api.load_run(d).results.values()] for d in (run_dir, tmp_path / "calm" / "r")
    )
    assert one == other
