"""The program that ShinkaEvolve starts for each evaluation: a program file in, metrics as files out."""

import argparse
import json
import os
import sys
from pathlib import Path

sys.path[:0] = [os.environ["TWINS"]]
from texts import evaluated  # noqa: E402

arguments = argparse.ArgumentParser()
arguments.add_argument("--program_path")
arguments.add_argument("--results_dir")
given, _ = arguments.parse_known_args()
lines = Path(given.program_path).read_text().splitlines(keepends=True)
metrics, words = evaluated("".join(line for line in lines if "EVOLVE-BLOCK" not in line))
folder = Path(given.results_dir)
folder.mkdir(parents=True, exist_ok=True)
told = {"combined_score": metrics["combined_score"], "public": {}, "private": {}, "text_feedback": words}
(folder / "metrics.json").write_text(json.dumps(told))
(folder / "correct.json").write_text(json.dumps({"correct": True, "error": None}))
