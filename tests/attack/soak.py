"""Honest jobs beside jobs whose every candidate is an attack: `python -m tests.attack.soak --jobs 3000`.

The honest jobs run twice, once alone and once beside the attackers, and have to come to the same results.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tracebench_engine import api
from tracebench_engine.config import parse_config

PLUGIN = """
import runpy
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

SOURCES = [c.source for f in {files!r} for n, found in runpy.run_path(f).items() if n in ("CANDIDATES", "ESCAPES") for c in found]
HONEST = "import random\\ndef transform(x):\\n    return 2 * x + {{shift}} + random.random()\\n"

class Attacker:
    def __init__(self, settings): pass
    def train(self, problem):
        for k in range(8):
            source = SOURCES[(problem.seed * 8 + k) % len(SOURCES)].replace("{{secret}}", "/x").replace("{{outside}}", "/x")
            problem.evaluate({{"code": source + "\\ndef transform(x):\\n    return attack()\\n"}})

class Worker:
    def __init__(self, settings): pass
    def train(self, problem):
        for k in range(4):
            problem.evaluate({{"code": HONEST.format(shift=(problem.seed + k) % 5)}})

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name=n, loader=f"attackers:{{n}}", uses_model=False) for n in ("Attacker", "Worker")]
"""
COMPARED = (
    "status",
    "stop_reason",
    "score_val_initial",
    "score_val_best",
    "score_val_final",
    "score_test_initial",
    "score_test",
    "best_candidate",
    "not_measured",
    "metrics_best",
)


def install(site: Path) -> None:
    """Make a plugin of the attacker and the honest worker, as a module and its metadata."""
    site.mkdir()
    here = Path(__file__).parent
    (site / "attackers.py").write_text(PLUGIN.format(files=[str(here / "candidates.py"), str(here / "escapes.py")]))
    info = site / "attackers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: attackers\nVersion: 1.0\nRequires-Dist: tracebench-core>=0.1\n"
    )
    (info / "entry_points.txt").write_text("[tracebench]\nattackers = attackers\n")


def results(runs_dir: Path, *trainers: str, seeds: range, workers: int) -> dict[int, dict[str, Any]]:
    """Return by seed what became of the honest jobs."""
    config = {
        "tasks": ["internal:code_param"],
        "trainers": list(trainers),
        "seeds": list(seeds),
        "max_workers": workers,
        "job_timeout": 600,
        "runs_dir": str(runs_dir),
    }
    summary = api.run(parse_config(config), stream=io.StringIO())
    found = api.load_run(summary.run_dir).results.values()
    return {r.seed: r.model_dump(include=set(COMPARED)) for r in found if r.trainer_id == "Worker"}


def differences(folder: Path, *, seeds: range, workers: int) -> list[str]:
    """Return how honest jobs beside attackers differ from the same jobs alone."""
    alone = results(folder / "alone", "Worker", seeds=seeds, workers=workers)
    beside = results(folder / "beside", "Worker", "Attacker", seeds=seeds, workers=workers)
    return [
        f"seed {s}: {alone[s]} -> {beside.get(s)}"
        for s in seeds
        if alone[s] != beside.get(s) or alone[s]["status"] != "ok"
    ]


def main() -> int:
    """Run by the hundred, and tell what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--jobs", type=int, default=3000, help="jobs in all: honest ones alone, honest ones beside, attackers"
    )
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    started, lost = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        install(Path(name, "site"))
        sys.path.insert(0, str(Path(name, "site")))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(name, "site")), os.environ.get("PYTHONPATH", "")])
        for first in range(0, given.jobs // 3, 100):
            seeds = range(first, min(first + 100, given.jobs // 3))
            folder = Path(name, str(first))
            folder.mkdir()
            found = differences(folder, seeds=seeds, workers=given.workers)
            lost += len(found)
            print(
                "\n".join(
                    [
                        *found,
                        json.dumps(
                            {"jobs": 3 * seeds.stop, "different": lost, "seconds": round(time.monotonic() - started)}
                        ),
                    ]
                ),
                flush=True,
            )
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
