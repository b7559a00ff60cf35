"""Recorded, replayed, killed and gone on: the same results, and no call paid twice."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import warm
from tests.whole import HEAVY

from tracebench_core.errors import ConfigError, RunDirError
from tracebench_core.specs.events import LLMCall
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.reading.compare import IDENTITY, differences, without_identity
from tracebench_testing.fake_openai import FakeOpenAI

STEPS = 6
TIMES = re.compile(rb'"(?:seconds|time_seconds|started_at|ended_at|job_id|mode)": *(?:"[^"]*"|[-+.0-9e]+|null)')
COMMAND = Path(sys.executable).with_name("trace-bench")
Messages = list[dict[str, Any]]


def answer(messages: Messages) -> str:
    """Answer by the prompt alone, as a model at temperature 0 would."""
    digest = hashlib.sha256(json.dumps(messages).encode()).digest()
    return json.dumps({"reasoning": "so", "values": {"x": digest[0] / 64}})


def config(runs: Path, **fields: Any) -> dict[str, Any]:
    trainers = [{"id": "SequentialRefine", "params": {"num_steps": STEPS}}]
    return {"tasks": ["internal:numeric_param"], "trainers": trainers, "runs_dir": str(runs), **fields}


def real(server: FakeOpenAI, **llm: Any) -> dict[str, Any]:
    prices = {"fake": {"prompt": 1, "completion": 2}}
    return {
        "mode": "real",
        "llm": {"model": "fake", "base_url": server.base_url, "prices": prices, "record": True, **llm},
    }


def run(runs: Path, **fields: Any) -> api.Run:
    return api.load_run(api.run(parse_config(config(runs, **fields)), stream=io.StringIO()).run_dir)


def bytes_without_times(run: api.Run) -> list[bytes]:
    return [TIMES.sub(b"", run.layout.job(job.job_id).results.read_bytes()) for job in run.planned]


def test_a_replay_has_the_same_bytes_apart_from_times_and_identity(tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        recorded = run(tmp_path / "a", **real(server), seeds=[1, 2, 3], max_workers=2)
        served = len(server.log.served)
        replayed = run(
            tmp_path / "b", mode="replay", replay_from=str(recorded.layout.path), seeds=[1, 2, 3], max_workers=3
        )
        assert len(server.log.served) == served == 3 * STEPS
    assert bytes_without_times(replayed) == bytes_without_times(recorded)
    assert list(differences(recorded, replayed)) == []
    assert {r.usage["optimizer"].llm_calls for r in replayed.results.values()} == {STEPS}
    one, two = next(iter(recorded.results.values())), next(iter(replayed.results.values()))
    assert {name for name in IDENTITY if getattr(one, name) == getattr(two, name)} == set()


def test_a_recorded_stub_run_replays_too_whatever_model_its_config_names(tmp_path: Path) -> None:
    llm = {"model": "gpt-4o", "record": True}
    recorded = run(tmp_path / "a", llm=llm, seeds=[1, 2])
    replayed = run(tmp_path / "b", llm=llm, seeds=[1, 2], mode="replay", replay_from=str(recorded.layout.path))
    assert list(differences(recorded, replayed)) == []
    assert {r.status for r in replayed.results.values()} == {"ok"}


def test_a_recording_that_answers_nothing_fails_the_job_and_names_the_nearest(tmp_path: Path) -> None:
    recorded = run(tmp_path / "a", llm={"record": True})
    replayed = run(tmp_path / "b", eval_kwargs={"initial": 1.0}, mode="replay", replay_from=str(recorded.layout.path))
    (result,) = replayed.results.values()
    assert (result.status, result.error.type if result.error else "") == ("failed", "NoModelAnswered")
    assert result.error is not None
    assert "nearest is" in result.error.message
    assert "recorded '" in result.error.message
    assert result.model_errors == 1
    assert [d.field for d in differences(recorded, replayed)] == ["job", "job"]


@pytest.mark.parametrize("trainer", ["SequentialRefine", pytest.param("BestOfN", marks=HEAVY)])
def test_a_replay_that_leaves_its_recording_ends_there_and_is_not_ok(tmp_path: Path, trainer: str) -> None:
    count = {"SequentialRefine": "num_steps", "BestOfN": "n"}[trainer]
    recorded = run(tmp_path / "a", trainers=[{"id": trainer, "params": {count: 2}}], llm={"record": True})
    more = [{"id": trainer, "params": {count: STEPS}}]
    replayed = run(tmp_path / "b", trainers=more, mode="replay", replay_from=str(recorded.layout.path))
    (result,) = replayed.results.values()
    (job,) = replayed.planned
    calls = [e for e in read_events(replayed.layout.job(job.job_id)).events if isinstance(e, LLMCall)]
    missed = [call.error for call in calls if call.status == "error"]
    assert (result.status, result.error.type if result.error else "") == ("failed", "RecordingLeft")
    assert (result.model_errors, len(missed)) == (1, 1)
    assert missed[0].startswith("replay_miss: ")


def test_a_run_without_a_recording_is_refused_before_any_job(tmp_path: Path) -> None:
    plain = run(tmp_path / "a")
    with pytest.raises(RunDirError, match="was not recorded"):
        run(tmp_path / "b", mode="replay", replay_from=str(plain.layout.path))
    assert not (tmp_path / "b").exists()


def test_seeds_that_were_never_recorded_are_refused_before_any_job(tmp_path: Path) -> None:
    recorded = run(tmp_path / "a", llm={"record": True}, seeds=[1, 2])
    with pytest.raises(ConfigError, match="`seeds`: 3, 4 were not recorded"):
        run(tmp_path / "b", mode="replay", replay_from=str(recorded.layout.path), seeds=[2, 3, 4])
    assert not (tmp_path / "b").exists()


@HEAVY  # `tests/cli/test_golden.py` replays runs by the command, too
def test_the_command_replays_a_run_without_key_or_config(tmp_path: Path) -> None:
    recorded = run(tmp_path / "runs", llm={"record": True}, seeds=[1, 2])
    done = trace_bench(tmp_path, "replay", recorded.run_id)
    assert done.returncode == 0, done.stderr
    assert "The same results as recorded" in done.stderr


def test_the_flag_of_before_names_the_command_that_shows_installed_recordings(tmp_path: Path) -> None:
    done = trace_bench(tmp_path, "replay", "--demo", "stub")
    assert (done.returncode, "hint: trace-bench demo stub" in done.stderr) == (2, True)


def test_the_command_says_what_came_out_differently(tmp_path: Path) -> None:
    recorded = run(tmp_path / "runs", llm={"record": True})
    results = recorded.layout.job(recorded.planned[0].job_id).results
    results.write_text(results.read_text().replace('"score_val_initial": -3.0', '"score_val_initial": -4.0'))
    refused = trace_bench(tmp_path, "replay", recorded.run_id)
    assert (refused.returncode, "is not the file that the journal of the run vouches for" in refused.stderr) == (
        2,
        True,
    )

    layout = recorded.layout
    for witness in (*layout.journals(), layout.mirror, layout.files_index):  # of a version without end records
        witness.unlink()
    done = trace_bench(tmp_path, "replay", recorded.run_id)
    assert done.returncode == 4, done.stderr
    assert "score_val_initial was -4.0, is -3.0" in done.stderr


def trace_bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    return warm.trace_bench(*arguments, folder=folder, environ=environ)


class Killer:
    """Answers, and kills a process once, before the answer to request number `at`."""

    def __init__(self, find: Callable[[], int], *, at: int) -> None:
        self._find = find
        self._left = at
        self._lock = threading.Lock()

    def __call__(self, messages: Messages) -> str:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                os.kill(self._find(), signal.SIGKILL)
        return answer(messages)


def job_process(runs: Path) -> int:
    """Return the process that works in a job's folder under `runs`."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            where = (folder / "cwd").readlink()
        except OSError:
            continue
        if where.name == "work" and where.is_relative_to(runs):
            return int(folder.name)
    raise AssertionError("no job runs")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[api.Run, int]:
    """Run the job as it goes when nobody kills it; returns how many calls were served."""
    with FakeOpenAI(reply=answer) as server:
        calm = run(tmp_path_factory.mktemp("calm"), **real(server))
        return calm, len(server.log.served)


def test_a_killed_job_goes_through_its_finished_calls_again_for_nothing(
    tmp_path: Path, undisturbed: tuple[api.Run, int]
) -> None:
    calm, calls = undisturbed
    runs = tmp_path / "killed"
    with FakeOpenAI(reply=Killer(lambda: job_process(runs), at=4)) as server:
        killed = run(runs, **real(server))
        assert [r.status for r in killed.results.values()] == ["failed"]
        assert len(server.log.served) == 4 < calls
        api.resume(killed.layout.path, failed=True, stream=io.StringIO())
        served = server.log.served
    resumed = api.load_run(killed.layout.path)
    tokens = sum(s.prompt_tokens + s.completion_tokens for s in served)
    assert len(served) == calls
    assert [without_identity(r) for r in resumed.results.values()] == [
        without_identity(r) for r in calm.results.values()
    ]
    assert sum(r.used.tokens for r in resumed.results.values()) == tokens
    ledger = [json.loads(line) for line in (killed.layout.path / "llm" / "ledger.jsonl").read_text().splitlines()]
    paid = [line for line in ledger if line["kind"] == "llm_call" and not line.get("reused")]
    assert sum(line["prompt_tokens"] + line["completion_tokens"] for line in paid) == tokens
    again = [line for line in ledger if line.get("reused")]
    assert len(again) == 4
    assert {line["reply_hash"] for line in again} <= {line["reply_hash"] for line in paid} - {""}


@HEAVY
def test_a_killed_runner_asks_again_only_what_was_under_way(tmp_path: Path, undisturbed: tuple[api.Run, int]) -> None:
    calm, calls = undisturbed
    runner: list[warm.Started] = []
    with FakeOpenAI(reply=Killer(lambda: runner[0].pid, at=4)) as server:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config(tmp_path / "killed", run_id="run", **real(server))))
        runner.append(warm.start("run", "--config", str(path), says="nothing"))
        runner[0].wait(60)
        api.resume(tmp_path / "killed" / "run", stream=io.StringIO())
        served = len(server.log.served)
    resumed = api.load_run(tmp_path / "killed" / "run")
    assert calls <= served <= calls + 1
    assert [without_identity(r) for r in resumed.results.values()] == [
        without_identity(r) for r in calm.results.values()
    ]


def test_a_resumed_recording_replays(tmp_path: Path) -> None:
    runs = tmp_path / "killed"
    with FakeOpenAI(reply=Killer(lambda: job_process(runs), at=3)) as server:
        killed = run(runs, **real(server))
        api.resume(killed.layout.path, failed=True, stream=io.StringIO())
    replayed = run(tmp_path / "b", mode="replay", replay_from=str(killed.layout.path))
    assert list(differences(api.load_run(killed.layout.path), replayed)) == []


def test_a_forced_run_asks_anew(tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        again = parse_config(config(tmp_path, run_id="run", **real(server)))
        for _ in range(2):
            api.run(again, force=True, stream=io.StringIO())
        assert len(server.log.served) == 2 * STEPS


@pytest.mark.parametrize(("temperature", "asked"), [(0, STEPS), (0.7, 2 * STEPS)])
def test_a_shared_cache_reuses_calls_at_temperature_0_alone(tmp_path: Path, temperature: float, asked: int) -> None:
    with FakeOpenAI(reply=answer) as server:
        llm = real(server, cache="shared", temperature=temperature)
        first, second = (run(tmp_path, **llm) for _ in range(2))
        assert len(server.log.served) == asked
    (one,), (two,) = first.results.values(), second.results.values()
    assert one.score_val_best == two.score_val_best
    assert one.used.llm_calls == two.used.llm_calls == STEPS
    paid, cached = two.usage["optimizer"].llm_calls, two.usage["optimizer"].cached_calls
    assert (paid, cached) == ((0, STEPS) if temperature == 0 else (STEPS, 0))
