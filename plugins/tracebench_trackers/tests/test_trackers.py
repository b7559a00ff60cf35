"""Real runs with real trackers: MLflow on SQLite, Weights & Biases offline, an OTLP collector that speaks HTTP; and dead ones."""

from __future__ import annotations

import http.server
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine import api
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("trackers"), pytest.mark.filterwarnings("ignore")]
JOBS = 4


def run(folder: Path, logger: str | None, kwargs: dict[str, Any], **more: Any) -> tuple[Path, dict[str, int]]:
    """Run four jobs, two at a time; return the run's folder and how many ended how."""
    from tracebench_engine.config import parse_config

    trainer: dict[str, Any] = {"id": "RandomSearch", "params": {"num_steps": 3}}
    if logger is not None:
        trainer |= {"logger": logger, "logger_kwargs": kwargs}
    config: dict[str, Any] = {
        "runs_dir": str(folder / "runs"), "run_id": "tracked", "tasks": ["internal:numeric_param", "internal:multi_param"],
        "trainers": [trainer], "seeds": [1, 2], "max_workers": 2, "budget": {"evaluations": 20}, **more,
    }  # fmt: skip
    with (folder / "said.txt").open("w") as said:
        summary = api.run(parse_config(config), stream=said)
    return Path(summary.run_dir), dict(summary.counts)


def ok(counts: dict[str, int]) -> bool:
    return {name: n for name, n in counts.items() if n} == {"ok": JOBS}


def records(data: bytes) -> Iterator[Any]:
    """Yield the records of an offline run: a LevelDB log, whose blocks are of 32 KiB, after a header of 7 bytes."""
    from wandb.proto import wandb_internal_pb2

    position, whole = 7, b""
    while position + 7 <= len(data):
        left = 32768 - position % 32768
        length, kind = struct.unpack("<HB", data[position + 4 : position + 7]) if left >= 7 else (0, 0)
        if kind == 0:
            position += left
            continue
        whole += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in {1, 4}:  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


def logs(run_dir: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in run_dir.rglob("*.log"))


@pytest.fixture
def dead() -> str:
    """An address that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def hanging() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_mlflow_has_a_parent_and_a_run_for_each_job(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason='pip install "tracebench-trackers[mlflow]"')
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    artifacts = tmp_path / "artifacts"
    mlflow.MlflowClient(uri).create_experiment("mine", artifact_location=artifacts.as_uri())

    run_dir, counts = run(tmp_path, "MLflowLogger", {"tracking_uri": uri, "experiment": "mine", "patience": 60})

    assert ok(counts), logs(run_dir)
    client = mlflow.MlflowClient(uri)
    runs = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    [parent] = [r for r in runs if "tracebench.job" not in r.data.tags]
    children = [r for r in runs if "tracebench.job" in r.data.tags]
    assert parent.info.run_name == "tracked"
    assert {r.info.run_name for r in children} == {
        f"RandomSearch on internal:{task}, seed {seed}" for task in ("numeric_param", "multi_param") for seed in (1, 2)
    }
    for child in children:
        result = json.loads((run_dir / "jobs" / child.data.params["job_id"] / "results.json").read_text())
        best = result["score_val_best"]
        assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert child.info.status == "FINISHED"
        assert child.data.params["budget.evaluations"] == "20"
        assert child.data.metrics["total/evaluations"] == result["used"]["evaluations"]
        assert child.data.metrics["total/usd"] == 0
        assert child.data.metrics["score/train/best"] == pytest.approx(best)
        by_evaluations = client.get_metric_history(child.info.run_id, "best/by_evaluations")
        assert [m.step for m in by_evaluations] == sorted(m.step for m in by_evaluations)
        assert by_evaluations[-1].step <= 20
        kept = {file.path for file in client.list_artifacts(child.info.run_id)}
        assert kept == {"events.jsonl", "stdout.log", "candidates"}
        texts = {file.path for file in client.list_artifacts(child.info.run_id, "candidates/best")}
        initial = next(api.load_run(run_dir).candidates_of(result["job_id"]))
        assert texts == {f"candidates/best/{name}.txt" for name in initial.values}
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"config.snapshot.yaml"}


def test_mlflow_tells_models_apart_and_keeps_what_it_is_asked_to(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason='pip install "tracebench-trackers[mlflow]"')
    trainer = {
        "id": "SequentialRefine", "label": "refiner", "params": {"num_steps": 2}, "logger": "MLflowLogger",
        "logger_kwargs": {"tracking_uri": "sqlite:///mine.db", "patience": 60, "keep": ["candidates"]},
    }  # fmt: skip
    with FakeOpenAI() as model:
        run_dir, counts = run(
            tmp_path, None, {}, mode="real", llm={"model": "fake", "base_url": model.base_url}, trainers=[trainer]
        )

    assert ok(counts), logs(run_dir)
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/runs/mine.db")
    children = client.search_runs(
        [client.get_experiment_by_name("trace-bench").experiment_id], "tags.`tracebench.job` != ''"
    )
    assert len(children) == JOBS
    for child in children:
        result = json.loads((run_dir / "jobs" / child.data.params["job_id"] / "results.json").read_text())
        usage = result["usage"]["optimizer"]
        assert child.info.run_name.startswith("refiner on internal:")
        assert child.data.params["llm.optimizer.model"] == "fake"
        assert child.data.metrics["usage/prompt_tokens"] == usage["prompt_tokens"] > 0
        assert child.data.metrics["usage/optimizer/completion_tokens"] == usage["completion_tokens"] > 0
        assert child.info.artifact_uri.startswith((tmp_path / "runs/mlartifacts").as_uri())
        assert {file.path for file in client.list_artifacts(child.info.run_id)} == {"candidates"}


def test_wandb_offline_keeps_a_group_with_a_run_for_each_job(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason='pip install "tracebench-trackers[wandb]"')

    run_dir, counts = run(tmp_path, "WandbLogger", {"patience": 60})

    assert ok(counts), logs(run_dir)
    for job in (run_dir / "jobs").iterdir():
        result = json.loads((job / "results.json").read_text())
        kept = [record for path in job.rglob("*.wandb") for record in records(path.read_bytes())]
        runs = [record.run for record in kept if record.WhichOneof("record_type") == "run"]
        assert {each.run_group for each in runs} == {"tracked"}
        assert f"RandomSearch on {result['task_id']}, seed {result['seed']}" in {each.display_name for each in runs}
        [copy] = job.glob("wandb/**/files/**/events.jsonl")
        assert not copy.is_symlink()
        assert not (job / "stdout.log").exists()  # wandb has said nothing there
        config = {
            item.key: json.loads(item.value_json)
            for record in kept
            for item in (*record.config.update, *record.run.config.update)
        }
        assert config["budget.evaluations"] == "20"
        rows = [
            {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for record in kept
            if record.WhichOneof("record_type") == "history"
        ]
        best = [row["used/evaluations"] for row in rows if "best/by_evaluations" in row]
        assert best == sorted(best)
        assert best
        summary = {
            item.key or ".".join(item.nested_key): json.loads(item.value_json)
            for record in kept
            for item in record.summary.update
            if "score/" in item.key or "total/" in item.key
        }
        assert summary["total/evaluations"] == result["used"]["evaluations"]
        assert summary["score/train/best"] == pytest.approx(result["score_val_best"])


@pytest.mark.parametrize("server", ["dead", "hanging"])
def test_a_server_that_is_gone_costs_a_warning_and_no_job(
    tmp_path: Path, server: str, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("mlflow", reason='pip install "tracebench-trackers[mlflow]"')

    run_dir, counts = run(
        tmp_path, "MLflowLogger", {"tracking_uri": request.getfixturevalue(server), "patience": 2}, fail_on_error=0
    )

    assert ok(counts), logs(run_dir)
    assert "MLflowLogger" in logs(run_dir)


def test_each_model_call_is_a_span_at_the_collector(tmp_path: Path) -> None:
    proto = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="tracebench-trackers[otel]"
    )
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='pip install "tracebench-trackers[otel]"')
    bodies: list[tuple[str, bytes]] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}/v1/traces"
    try:
        with FakeOpenAI() as model:
            run_dir, counts = run(
                tmp_path, None, {}, mode="real", llm={"model": "fake", "base_url": model.base_url},
                trainers=[{"id": "SequentialRefine", "params": {"num_steps": 2}}], plugins={"options": {"otel": {"endpoint": endpoint}}},
            )  # fmt: skip
    finally:
        collector.shutdown()
        collector.server_close()

    assert ok(counts), logs(run_dir)
    recorded = [
        event
        for path in run_dir.glob("jobs/*/events.jsonl")
        for event in map(json.loads, path.read_text().splitlines())
        if event["kind"] == "llm_call"
    ]
    spans = []
    for path, body in bodies:
        assert path == "/v1/traces"
        request = proto.ExportTraceServiceRequest.FromString(body)
        spans += [s for resource in request.resource_spans for scope in resource.scope_spans for s in scope.spans]
    assert len(spans) == len(recorded) > 0
    found = [{a.key: a.value.string_value or a.value.int_value for a in span.attributes} for span in spans]
    assert {each["gen_ai.operation.name"] for each in found} == {"chat"}
    assert {each["gen_ai.request.model"] for each in found} == {"fake"}
    assert sum(each["gen_ai.usage.input_tokens"] for each in found) == sum(e["prompt_tokens"] for e in recorded)
    assert sum(each["gen_ai.usage.output_tokens"] for each in found) == sum(e["completion_tokens"] for e in recorded)
    assert len({span.trace_id for span in spans}) == JOBS
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)
    assert not any("sk-" in str(each) for each in found)


def test_a_collector_that_is_gone_costs_a_warning_and_no_job(tmp_path: Path, dead: str) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='pip install "tracebench-trackers[otel]"')

    with FakeOpenAI() as model:
        run_dir, counts = run(
            tmp_path, None, {}, mode="real", llm={"model": "fake", "base_url": model.base_url},
            trainers=[{"id": "SequentialRefine", "params": {"num_steps": 2}}], plugins={"options": {"otel": {"endpoint": dead}}},
        )  # fmt: skip

    assert ok(counts), logs(run_dir)
    assert "otel is off" in logs(run_dir)


def test_mlflow_goes_on_with_a_job_whose_versions_are_others_now(tmp_path: Path) -> None:
    """As of a run that is resumed after an upgrade: MLflow lets nobody change a parameter."""
    mlflow = pytest.importorskip("mlflow", reason='pip install "tracebench-trackers[mlflow]"')
    from tracebench_trackers.mlflow_sink import MLflowLogger
    from tracebench_trackers.readings import Configured, Numbers

    job = tmp_path / "runs" / "r" / "jobs" / "j"
    job.mkdir(parents=True)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    for version in ("1", "2"):
        logger = MLflowLogger(job, tracking_uri=uri)
        tracker = logger.open()
        tracker.take(Configured("it", {"versions.core": version, "settings.a (b)": "x"}))
        tracker.take(Numbers({f"metric/gain ({version})": 1.0}, at=0))
        logger.close()
    client = mlflow.MlflowClient(uri)
    [found] = client.search_runs(["1"], "tags.`tracebench.job` != ''")
    assert found.data.params["versions.core"] == "1"
    assert found.data.tags["tracebench.now.versions.core"] == "2"
    assert sum(name.startswith("metric/gain") for name in found.data.metrics) == 2
