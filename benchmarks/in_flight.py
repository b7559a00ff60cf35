"""Evaluations that wait, eight in flight, as ratios to the ideal: `python benchmarks/in_flight.py [--rounds N]`.

The task sleeps 0.2 s per evaluation. The ideal is `evaluations / 8` such sleeps one after another; training and scoring are timed from the
job's events, first evaluation to last. Goal: 1.15 each, on a machine that is idle.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

from tracebench_core.specs.events import EvaluationDone
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.events.eventlog import read_events

SECONDS, WORKERS = 0.2, 8
PLUGIN = f"""
import time
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Waiting:
    objective = "Wait."
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {{"train": [Example(id=f"t{{i}}") for i in range(16)], "validation": [Example(id=f"v{{i}}") for i in range(16)],
              "test": [Example(id=f"s{{i}}") for i in range(16)]}}

    def run(self, values, example, context):
        time.sleep({SECONDS})
        return values["x"]

    def guide(self, example, output, context):
        return Feedback(score=output)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="waiting", title="Waiting", loader="waiting_bench:Waiting")]
"""


def once(folder: Path) -> dict[str, float]:
    """Run one job; return the ratio of each phase."""
    config = {
        "tasks": ["waiting_bench:waiting"],
        "trainers": [{"id": "RandomSearch", "params": {"num_steps": 2}}],
        "eval_workers": WORKERS,
        "runs_dir": str(folder),
    }
    run = api.load_run(api.run(parse_config(config), stream=io.StringIO()).run_dir)
    (job,) = run.planned
    done = [e for e in read_events(run.layout.job(job.job_id)).events if isinstance(e, EvaluationDone)]
    ratios = {}
    for phase, by in (("training", "trainer"), ("scoring", "engine")):
        ends = [e.mono for e in done if e.by == by]
        took = max(ends) - min(ends) + SECONDS
        ratios[phase] = took / (math.ceil(len(ends) / WORKERS) * SECONDS)
    return ratios


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        site = Path(name, "site")
        info = site / "waiting_bench-1.0.dist-info"
        info.mkdir(parents=True)
        (site / "waiting_bench.py").write_text(PLUGIN)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waiting-bench\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[tracebench]\nwaiting_bench = waiting_bench\n")
        sys.path.insert(0, str(site))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
        found = [once(Path(name, "runs")) for _ in range(rounds)]
    for phase in ("training", "scoring"):
        ratios = [ratio[phase] for ratio in found]
        print(f"{phase}: {statistics.median(ratios):.2f}x the ideal (of {rounds}: {min(ratios):.2f}-{max(ratios):.2f})")


if __name__ == "__main__":
    main()
