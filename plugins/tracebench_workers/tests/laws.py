"""What must hold of a run on workers whatever befell it, and jobs that tell of themselves: they say when they begin, and ask a model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from plugins.tracebench_workers.tests.world import World

CALLS = 4
"""Of a model, of one attempt at a job, at most."""
TRAINER = """
import os, time
from pathlib import Path
class Asks:
    def __init__(self, settings): ...
    def train(self, problem):
        with open(Path(__file__).parent / "begun", "a") as log:
            log.write(f"{problem.seed} {os.getpid()}\\n")
        print(os.urandom(1 << 19).hex())
        for step in range(6):
            problem.evaluate(problem.initial)
            if step < 4:
                problem.complete([{"role": "user", "content": f"{problem.seed} {step} " + "word " * 300}])
            time.sleep(0.6)
"""


def ends(run_dir: Path) -> Counter[str]:
    """Return how often the journals of a run declare each job finished."""
    lines = [line for path in run_dir.glob("journal-*.jsonl") for line in path.read_bytes().splitlines()]
    records = []
    for line in lines:
        with suppress(ValueError):
            records.append(json.loads(line))
    return Counter(r["job"] for r in records if r.get("kind") == "job_finished")


def begun(folder: Path) -> list[tuple[str, int]]:
    """Return seed and process of each training that has begun."""
    log = folder / "begun"
    found = [line.split() for line in log.read_text().split("\n") if line] if log.exists() else []
    return [(seed, int(pid)) for seed, pid in found]


def demand(world: World, *, jobs: int, told: Sequence[str], stops: int = 0) -> None:
    """Demand that each job of the run `r` has one end, that none was begun again and no call made again without a word, and sound files.

    `told` is what its commands have printed; `stops` is how often it was stopped, each with three jobs under way at most.
    """
    run_dir = world.folder / "runs/r"
    found = ends(run_dir)
    assert len(found) == jobs, found
    assert set(found.values()) == {1}, f"a job ended twice: {found}"
    results = [json.loads(path.read_text()) for path in run_dir.glob("jobs/*/results.json")]
    assert [r["status"] for r in results] == ["ok"] * jobs, Counter(r["status"] for r in results)
    again = sum(words.count("is run again") for words in told)
    starts = Counter(seed for seed, _ in begun(world.folder))
    assert sum(starts.values()) - len(starts) <= again + stops * 3, f"started again without a word: {starts}"
    summary = json.loads((run_dir / "summary.json").read_text())
    calls = summary["spent"]["total"]["llm_calls"] - summary["usage"]["total"]["llm_calls"]
    assert 0 <= calls <= CALLS * (again + stops * 3), f"{calls} calls are paid for again without a word"
    assert calls == 0 or any(run_dir.glob("attempts/*")) or again or stops, "what was paid again is not kept"
    checked = world.asked("fsck", "runs/r")
    assert checked.returncode == 0, checked.stdout
    incoming = run_dir / "incoming"
    assert not incoming.exists() or not any(incoming.iterdir()), "files are left"
