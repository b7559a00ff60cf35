"""The process that ShinkaEvolve starts for each evaluation: a program file in, metrics and feedback as files out."""

import argparse
import json
from pathlib import Path

import tracebench_client

from .shinka_markers import without_markers
from .task import Task, mean


def main():
    """Measure one program on all of train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    given, _ = parser.parse_known_args()
    task = Task(tracebench_client.connect())
    (name,) = task.initial
    found = task.measure({name: without_markers(Path(given.program_path).read_text())}, origin="shinka")
    measured = all(m.status == "ok" for m in found)
    metrics = {
        "combined_score": mean([m.score for m in found]),
        "public": {},
        "private": {},
        "text_feedback": "\n".join(dict.fromkeys(m.feedback for m in found)),
    }
    folder = Path(given.results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    words = None if measured else metrics["text_feedback"]
    (folder / "correct.json").write_text(json.dumps({"correct": measured, "error": words}))
