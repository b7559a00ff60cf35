"""A job that goes on from what a job of another run found."""

from __future__ import annotations

import io
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI

NUMBER = "internal:numeric_param"
REFINE = {"id": "SequentialRefine", "optimizer": "Reflective", "params": {"num_steps": 12}}


def run(runs: Path, *, task: Any = NUMBER, trainers: Any = (REFINE,), **fields: Any) -> Any:
    config = {"runs_dir": str(runs), "tasks": [task], "trainers": [*trainers], **fields}
    return api.load_run(api.run(parse_config(config), stream=io.StringIO()).run_dir)


def going_on(source: Any, **fields: Any) -> dict[str, Any]:
    return {"id": NUMBER, "initial": {"run": str(source.layout.path), **fields}}


def candidates(found: Any) -> list[Any]:
    [job] = found.planned
    return [*found.candidates_of(job.job_id)]


@pytest.fixture(name="first", scope="module")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(tmp_path_factory.mktemp("runs"), run_id="first")


def best_of(found: Any) -> Any:
    [result] = found.results.values()
    return next(c for c in candidates(found) if c.id == result.best_candidate)


def test_training_begins_from_the_best_and_is_compared_with_the_tasks_own(tmp_path: Path, first: Any) -> None:
    second = run(tmp_path / "second", task=going_on(first))
    [result], [before] = second.results.values(), first.results.values()
    assert result.status == "ok"
    assert result.score_val_initial == before.score_val_initial
    assert result.score_val_best >= before.score_val_best > before.score_val_initial
    taken = next(c for c in candidates(second) if c.origin.startswith("from "))
    assert taken.values == best_of(first).values
    [job] = first.planned
    assert taken.origin == f"from first/{job.job_id}/{best_of(first).id}"
    evaluated = [e for e in second.events(second.planned[0].job_id) if e.kind == "evaluation" and e.by == "trainer"]
    assert evaluated[0].candidate == taken.id


@pytest.mark.heavy("record")
def test_the_jobs_id_contains_the_values_and_not_where_they_lie(tmp_path: Path, first: Any) -> None:
    cold = run(tmp_path / "cold").planned[0].job_id
    warm = run(tmp_path / "warm", task=going_on(first)).planned[0].job_id
    moved = shutil.copytree(first.layout.path, tmp_path / "elsewhere")
    again = run(tmp_path / "again", task={"id": NUMBER, "initial": {"run": str(moved)}}).planned[0].job_id
    assert cold != warm == again


@pytest.mark.heavy("record")
def test_a_run_of_the_same_folder_is_found_by_its_name_and_jobs_by_their_beginning(tmp_path: Path, first: Any) -> None:
    prefix = first.planned[0].job_id[:4]
    task = {"id": NUMBER, "initial": {"run": "first", "job": prefix}}
    found = run(first.layout.path.parent, task=task, run_id="next")
    assert found.planned[0].start.values == (best_of(first).values,)


@pytest.mark.heavy("record")
def test_a_run_goes_on_and_is_replayed_from_the_same_start(tmp_path: Path, first: Any) -> None:
    numbers = itertools.count(1)
    with FakeOpenAI(reply=lambda _messages: json.dumps({"values": {"x": next(numbers) / 10}})) as server:
        llm = {"model": "m", "base_url": server.base_url, "record": True}
        second = run(tmp_path / "runs", task=going_on(first), mode="real", llm=llm, run_id="warm")
        asked = len(server.log.served)
        [job] = second.planned
        second.layout.job(job.job_id).results.unlink()
        resumed = run(tmp_path / "runs", task=going_on(first), mode="real", llm=llm, run_id="warm", resume="none")
        assert len(server.log.served) == 2 * asked
    assert resumed.planned == second.planned
    config = {"mode": "replay", "replay_from": str(second.layout.path)}
    replayed = run(tmp_path / "replayed", task=going_on(first), **config)
    assert replayed.planned[0].start == second.planned[0].start
    assert [c.values for c in candidates(replayed)] == [c.values for c in candidates(resumed)]


@pytest.mark.parametrize(
    ("fields", "task", "why"),
    [
        ({"run": "nowhere"}, NUMBER, "there is no run `nowhere`"),
        ({"job": "zzzz"}, NUMBER, "has no job `zzzz`"),
        ({}, "internal:code_param", "optimised `internal:numeric_param`, not `internal:code_param`"),
        ({"take": "front"}, NUMBER, "has no front"),
        ({"take": "worst"}, NUMBER, "take"),
    ],
)
def test_what_cannot_be_taken_is_told_with_a_command(
    tmp_path: Path, first: Any, fields: dict[str, str], task: str, why: str
) -> None:
    entry = {**going_on(first, **fields), "id": task}
    with pytest.raises(ConfigError, match=why) as told:
        run(tmp_path / "second", task=entry)
    if fields.get("take") != "worst":
        assert told.value.hint.startswith("trace-bench ")
        assert told.value.field[:3] == ("tasks", 0, "initial")


@pytest.mark.heavy("record")
def test_one_of_several_jobs_must_be_named(tmp_path: Path) -> None:
    several = run(tmp_path / "first", seeds=[1, 2])
    with pytest.raises(ConfigError, match=r"several jobs of run .* fit"):
        run(tmp_path / "second", task=going_on(several))
    second = run(tmp_path / "second", task=going_on(several, job=several.planned[1].job_id))
    assert second.planned[0].start.job == several.planned[1].job_id


@pytest.mark.heavy("record")
def test_a_front_is_taken_in_whole(tmp_path: Path) -> None:
    pytest.importorskip("tracebench_opto")
    tasks = "internal:multiobjective_convex"
    trainer = {"id": "ParetoSearch", "optimizer": "Reflective", "params": {"num_steps": 6}}
    first = run(tmp_path / "first", task=tasks, trainers=[trainer])
    [result] = first.results.values()
    assert len(result.front) > 1
    entry = {"id": tasks, "initial": {"run": str(first.layout.path), "take": "front"}}
    second = run(tmp_path / "second", task=entry, trainers=[trainer | {"params": {"num_steps": 1}}])
    [after] = second.results.values()
    assert after.status == "ok"
    taken = [c for c in candidates(second) if c.origin.startswith("from ")]
    assert len(taken) == len(result.front)
