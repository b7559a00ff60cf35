from __future__ import annotations

import io
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine import api
from tracebench_engine.config import parse_config


def run(tmp_path: Path, **trainer: Any) -> api.Run:
    config = {
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "RandomSearch", "params": {"num_steps": 3}, **trainer}],
    }
    return api.load_run(api.run(parse_config({**config, "runs_dir": str(tmp_path)}), stream=io.StringIO()).run_dir)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Read TensorBoard's files: records of length, checksum, event, checksum (TFRecord)."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2", reason="the extra `tensorboard` is not installed")
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for path in folder.glob("events.out.tfevents.*"):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            event = event_pb2.Event.FromString(data[at + 12 : at + 12 + length])
            at += 16 + length
            for value in event.summary.value:
                found[value.tag].append((event.step, value.simple_value))
    return found


def test_tensorboard_gets_every_step_of_the_job(tmp_path: Path) -> None:
    finished = run(tmp_path, logger="TensorboardLogger")

    (job,) = finished.planned
    (result,) = finished.results.values()
    told = scalars(finished.layout.job(job.job_id).tensorboard)
    assert [step for step, _ in told["step/best"]] == [0, 1, 2]
    assert [v for _, v in told["step/best"]] == pytest.approx([s.best for s in result.steps])
    assert [v for _, v in told["used/evaluations"]] == [s.used.evaluations for s in result.steps]
    assert f"jobs/{job.job_id}/tb" in (finished.layout.path / "results.csv").read_text()


def test_the_console_logger_writes_to_the_jobs_output(tmp_path: Path) -> None:
    finished = run(tmp_path, logger="ConsoleLogger")

    text = finished.layout.job(finished.planned[0].job_id).stdout.read_text()
    assert text.count("step ") == 3
    assert "finished: ok (completed)" in text


def test_a_logger_that_cannot_be_built_costs_nothing_but_its_log(tmp_path: Path) -> None:
    finished = run(tmp_path, logger="TensorboardLogger", logger_kwargs={"log_dir": "/proc/no/such/place"})

    (result,) = finished.results.values()
    assert result.status == "ok"
    assert len(result.steps) == 3
