"""What reading and exporting a run costs: `python benchmarks/frames.py [--evaluations 100000] [--jobs 1000]`.

* frame: seconds from a run directory to a data frame of so many evaluations, against `json.loads` of the same lines;
* export: seconds to write a run of so many jobs in every format that is installed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.specs import Budget, BudgetState, JobSpec, TaskVersion
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    EvaluationDone,
    JobFinished,
    JobStarted,
    StepFinished,
)
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.export import FORMATS, export_run
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.reading.reader import load_run
from tracebench_runs.results.results import write_result
from tracebench_runs.storage.layout import RunLayout


def spec(seed: int) -> JobSpec:
    """Return one of many jobs."""
    return JobSpec(
        job_id=f"{seed:012x}", task_id="suite:task", task_version=TaskVersion(), plugin_version="1.0.0", trainer_id="Climber",
        params={}, settings={}, optimizer=None, optimizer_kwargs={}, guide=None, guide_kwargs={}, logger=None, logger_kwargs={},
        eval_kwargs={}, seed=seed, mode="stub", models={}, budget=Budget(),
    )  # fmt: skip


def make_run(folder: Path, *, jobs: int, evaluations: int) -> None:
    """Write a run of so many jobs with so many evaluations each."""
    layout = RunLayout(folder).create()
    specs = [spec(seed) for seed in range(jobs)]
    write_manifest(layout, {}, specs)
    for job in specs:
        writer = EventWriter(layout.job(job.job_id).fresh())
        used = BudgetState(evaluations=evaluations)
        events = [
            JobStarted(
                job_id=job.job_id, task=job.task_id, trainer=job.trainer_id, params={}, seed=job.seed, budget=job.budget,
                mode="stub", versions={},
            ),
            CandidateSeen(id="c0", parents=(), origin="", values={"text": "x" * 100}, step=None),
            *(
                EvaluationDone(
                    candidate="c0", split="train", example=f"e{i}", score=float(i), status="ok", metrics={"length": 3.0},
                    feedback="right", seconds=0.01,
                )
                for i in range(evaluations)
            ),
            BestChanged(candidate="c0", score=1.0, used=used),
            StepFinished(index=0, score=1.0, best=1.0, seconds=0.1, used=used),
            JobFinished(status="ok", stop_reason="completed", used=used),
        ]  # fmt: skip
        written = [writer.write(event) for event in events]
        writer.close(durable=False)
        write_result(writer.layout, reduce_job(written), durable=False)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_run(Path(folder, "long"), jobs=10, evaluations=options.evaluations // 10)
        begun = time.perf_counter()
        for path in Path(folder, "long", "jobs").glob("*/events.jsonl"):
            for line in path.read_bytes().splitlines():
                json.loads(line)
        baseline = time.perf_counter() - begun
        for library in ("columns", "pandas", "polars"):
            if library == "columns" or find_spec(library):
                begun = time.perf_counter()
                load_run(Path(folder, "long")).frame("evaluations", library)
                seconds = time.perf_counter() - begun
                print(
                    f"{options.evaluations} evaluations -> {library}: {seconds:.2f} s, {seconds / baseline:.1f} x json.loads"
                )
        make_run(Path(folder, "wide"), jobs=options.jobs, evaluations=20)
        for format_ in FORMATS:
            if format_ in {"csv", "jsonl", "ioh"} or find_spec("duckdb"):
                begun = time.perf_counter()
                export_run(load_run(Path(folder, "wide")), Path(folder, format_), format_=format_)
                print(f"export of {options.jobs} jobs -> {format_}: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
