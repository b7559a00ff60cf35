"""Each library's own program beside the trainer that is built on it: what is the same, and what the trainer adds in seconds.

    python benchmarks/twins.py [TRAINER …]     those whose libraries are here, or these

Each trainer runs against a scripted model and is recorded; `trace-bench verify --twin` then runs the library's own program, which knows
nothing of Trace-Bench, on the recorded replies, and replays the job by Trace-Bench. Seconds are of the training; processor seconds
of a job are those of its whole replay, with the start of the helpers and the engine's own scoring.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plugins.tracebench_trainers_ext.tests.scripted import KEY, is_here, run
from plugins.tracebench_trainers_ext.tests.test_twins import CASES, Case

from tracebench_testing.fake_openai import FakeOpenAI


def main() -> int:
    """Print a table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainers", nargs="*", metavar="TRAINER")
    asked = parser.parse_args().trainers
    cases = [case for param in CASES for case in param.values if isinstance(case, Case)]
    code = 0
    for case in cases:
        if case.trainer in asked or (not asked and is_here(case.trainer)):
            with tempfile.TemporaryDirectory() as folder:
                code |= _row(case, Path(folder))
    return code


def _row(case: Case, folder: Path) -> int:
    os.environ["FAKE_KEY"] = KEY
    with FakeOpenAI(reply=case.model()) as server:
        trainer = {"id": case.trainer, "params": dict(case.params)}
        _, run_dir = run(folder, server, [trainer], budget=dict(case.budget), tasks=[case.task], record=True)
    command = Path(sys.executable).with_name("trace-bench")
    done = subprocess.run([command, "verify", "--twin", run_dir], capture_output=True, text=True, check=False)
    print(done.stdout or f"{case.trainer}\t{done.stderr.strip()}", end="" if done.stdout else "\n", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
