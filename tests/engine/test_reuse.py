"""What was trained is not trained again, and what was measured on a deterministic task is not measured again, whatever was killed."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import warm

from tracebench_core.errors import RunDirError
from tracebench_core.specs.events import EvaluationDone, LLMCall
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.reading.compare import without_times
from tracebench_runs.storage import lock
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import holder_of

COMMAND = str(Path(sys.executable).parent / "trace-bench")
LAB = """
import time
from pathlib import Path
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Settings(BaseModel, extra="forbid"):
    count: int = 4

class Options(BaseModel, extra="forbid"):
    folder: str = "."

class Climbs:
    def __init__(self, settings): self.count = settings.count
    def train(self, problem):
        for x in range(1, self.count + 1):
            with problem.step():
                problem.evaluate({"x": float(x)}, origin="climbs")

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    def __init__(self, folder, asks):
        self.folder, self.asks = Path(folder), asks
        ids = {"train": "ab", "validation": "v", "test": "t"}
        self.splits = {split: [Example(id=i, input=i) for i in names] for split, names in ids.items()}
    def run(self, values, example, context):
        if self.asks:
            context.complete([{"role": "user", "content": f"{example.id} {values['x']}"}])
        return values["x"]
    def guide(self, example, output, context):
        with open(self.folder / "measured", "a") as log:
            log.write(f"{example.id}{output:.0f}\\n")
        while (self.folder / f"wait-{example.id}{output:.0f}").exists():
            time.sleep(0.01)
        return Feedback(score=output, text="well")

def build(folder): return Lab(folder, False)
def build_asking(folder): return Lab(folder, True)

def task(name, loader="build", **fields):
    return TaskSpec(name=name, loader=f"fake_reuse:{loader}", title=name, options="fake_reuse:Options", **fields)

@hookimpl
def tracebench_tasks():
    return [task("pure", deterministic=True), task("moody"), task("asking", "build_asking", uses_model=True)]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Climbs", loader="fake_reuse:Climbs", settings="fake_reuse:Settings", uses_model=False)]
"""


class Bench:
    """Runs of the lab, and what its tasks have measured."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.run_dir = tmp_path / "runs" / "r"

    def config(self, task: str = "reuse:pure", **fields: Any) -> dict[str, Any]:
        return {
            "runs_dir": str(self.folder / "runs"),
            "run_id": "r",
            "tasks": [{"id": task, "eval_kwargs": {"folder": str(self.folder)}}],
            "trainers": ["Climbs"],
            "seeds": [1],
            **fields,
        }

    def run(self, config: dict[str, Any], **options: Any) -> api.RunSummary:
        return api.run(parse_config(config), stream=io.StringIO(), **options)

    def kill_at(self, measurement: str, config: dict[str, Any]) -> None:
        """Run a config, and kill its runner while it measures; nothing of it is left."""
        gate = self.folder / f"wait-{measurement}"
        gate.touch()
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        begun = (self.run_dir / "meta" / "manifest.json").exists()
        words = ["resume", str(self.run_dir)] if begun else ["run", "--config", str(path)]
        before = self.measured()[measurement]
        process = warm.start(*words, says="nothing")
        deadline = time.monotonic() + 60
        while self.measured()[measurement] == before:
            assert time.monotonic() < deadline, "it was not measured"
            assert process.poll() is None, "the run ended"
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        while holder_of(RunLayout(self.run_dir)) is not None:  # its children hold its lock until they are gone
            time.sleep(0.02)
        gate.unlink()

    def resume(self) -> api.RunSummary:
        return api.resume(self.run_dir, stream=io.StringIO())

    def measured(self) -> Counter[str]:
        log = self.folder / "measured"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    def forget(self) -> None:
        (self.folder / "measured").unlink()

    def only(self) -> Any:
        """Return the layout of the one job."""
        run = api.load_run(self.run_dir)
        return run.layout.job(run.planned[0].job_id)

    def results(self, name: str = "r") -> list[dict[str, Any]]:
        return [without_times(result) for result in api.load_run(self.folder / "runs" / name).results.values()]


@pytest.fixture
def bench(install_plugin: Callable[..., None], tmp_path: Path) -> Bench:
    install_plugin("reuse", LAB)
    return Bench(tmp_path)


def evaluations(job: Any) -> list[EvaluationDone]:
    return [event for event in read_events(job).events if isinstance(event, EvaluationDone) and event.by == "trainer"]


TRAINED = {f"{example}{x}" for example in "ab" for x in (1, 2, 3, 4)}


@pytest.mark.parametrize("task", ["reuse:moody", pytest.param("reuse:asking", marks=pytest.mark.heavy("record"))])
def test_a_run_killed_while_it_scores_is_not_trained_again(bench: Bench, task: str) -> None:
    config = bench.config(task, llm={"record": True})
    bench.kill_at("v4", config)
    assert set(read_trust(bench.run_dir).trained) == {bench.only().job_id}
    bench.kill_at("t0", config)
    bench.forget()

    assert bench.resume().counts == {"ok": 1}

    if task == "reuse:moody":
        assert {*bench.measured()} == {"t0", "t4"}
    assert {"v0", "v4", "t0", "t4"} <= {
        *bench.measured()
    } or task == "reuse:moody"  # what asked a model is measured again
    assert not TRAINED & set(bench.measured())
    assert [f for f in check_run(bench.run_dir) if f.mended_by != "nothing"] == []
    bench.run({**config, "run_id": "calm"})
    assert bench.results() == bench.results("calm")
    calls = [event for event in read_events(bench.only()).events if isinstance(event, LLMCall)]
    assert len({call.call for call in calls}) == len(calls)
    if task == "reuse:asking":
        ledger = [json.loads(line) for line in (bench.run_dir / "llm" / "ledger.jsonl").read_bytes().splitlines()]
        assert sum(line["kind"] == "llm_call" and line["phase"] == "training" for line in ledger) == len(TRAINED)
        again = api.run(
            parse_config({**config, "run_id": "again", "mode": "replay", "replay_from": str(bench.run_dir), "llm": {}}),
            stream=io.StringIO(),
        )
        assert again.counts == {"ok": 1}


@pytest.mark.heavy("record")
@pytest.mark.parametrize("damage", ["flip", "version", "tail"])
def test_a_training_that_is_not_what_was_sealed_is_done_again(bench: Bench, damage: str) -> None:
    bench.kill_at("v4", bench.config("reuse:moody"))
    events = bench.only().events
    data = events.read_bytes()
    if damage == "flip":
        events.write_bytes(data.replace(b'"score":3.0', b'"score":9.0'))
    elif damage == "version":
        assert data.count(b'"plugin":"')
        events.write_bytes(data.replace(b'"plugin":"', b'"plugin":"x', 1))
    else:
        events.write_bytes(
            data + b'{"kind":"job_finished","v":1,"seq":999,"t":"","mono":1,"status":"ok","stop_reason":"x"'
        )
    bench.forget()

    assert bench.resume().counts == {"ok": 1}

    assert (set(bench.measured()) >= TRAINED) is (damage != "tail")
    bench.run({**bench.config("reuse:moody"), "run_id": "calm"})
    assert bench.results() == bench.results("calm")


def test_a_run_whose_runner_was_killed_is_nobody_elses_while_a_helper_lives(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = bench.folder / "wait-a1"
    gate.touch()
    path = bench.folder / "config.yaml"
    path.write_text(yaml.safe_dump(bench.config()))
    process = warm.start("run", "--config", str(path), says="nothing")
    while not bench.measured()["a1"]:
        assert process.poll() is None, "the run ended"
        time.sleep(0.02)
    helpers = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    for pid in helpers:
        os.kill(pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    assert holder_of(RunLayout(bench.run_dir)) == process.pid
    with monkeypatch.context() as hurried:
        hurried.setattr(lock, "PATIENCE", 0.5)
        with pytest.raises(RunDirError, match="held by helpers of a runner that is gone"):
            bench.resume()

    for pid in helpers:
        os.kill(pid, signal.SIGCONT)
    gate.unlink()
    assert bench.resume().counts == {"ok": 1}


def test_a_killed_training_takes_over_what_it_had_measured_and_measures_nothing_twice(bench: Bench) -> None:
    bench.kill_at("b3", bench.config())
    bench.kill_at("b3", bench.config())
    bench.forget()

    assert bench.resume().counts == {"ok": 1}

    assert set(bench.measured()) & TRAINED == {"b3", "a4", "b4"}
    found = evaluations(bench.only())
    assert [event.reused for event in found] == [True] * 5 + [False] * 3
    assert {event.reused_from for event in found if event.reused} == {f"attempts/{bench.only().job_id}.1"}
    result = next(iter(api.load_run(bench.run_dir).results.values()))
    assert (result.reused, result.used.evaluations) == (5, 8)
    bench.run({**bench.config(), "run_id": "calm"})
    assert bench.results() == bench.results("calm")


@pytest.mark.heavy("record")
def test_what_depends_on_more_than_its_values_is_measured_again(bench: Bench) -> None:
    bench.kill_at("b3", bench.config("reuse:moody"))
    bench.forget()
    bench.resume()

    assert set(bench.measured()) >= TRAINED


@pytest.mark.heavy("record")
def test_a_damaged_measurement_is_made_anew(bench: Bench) -> None:
    bench.kill_at("b3", bench.config())
    events = bench.only().events
    events.write_bytes(re.sub(rb'("example":"a","score":)2.0', rb"\g<1>7.0", events.read_bytes()))
    bench.forget()
    bench.resume()

    assert set(bench.measured()) & TRAINED == {"a2", "b3", "a4", "b4"}
    assert [event.score for event in evaluations(bench.only())] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_an_extension_takes_over_what_its_relatives_measured_and_no_other_seed(bench: Bench) -> None:
    bench.run(bench.config())
    bench.forget()
    longer = [{"id": "Climbs", "params_variants": [{}, {"count": 6}]}]

    extended = bench.run(bench.config(trainers=longer, seeds=[1, 2]), extend=True)

    assert extended.counts == {"ok": 4}
    measured = bench.measured()
    assert {key: n for key, n in measured.items() if key in TRAINED} == dict.fromkeys(TRAINED, 2)  # both jobs of seed 2
    run = api.load_run(bench.run_dir)
    assert sorted((run.results[job.job_id].reused, job.seed) for job in run.planned) == [(0, 1), (0, 2), (0, 2), (8, 1)]
