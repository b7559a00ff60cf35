"""How concurrent and how lean is a question-answering evaluation? `python benchmarks/hf_load.py concurrency|memory`.

`concurrency`: a local server that takes 200 ms an answer; 100 examples at 32 at a time, against the ideal of ceil(100 / 32) answers in
a row; then the same beside a second job that began earlier, each against its fair share: as long as both together would take at the
same 32. `memory`: 1,000 examples evaluated for 20 candidates; how much the job's peak memory grows over that for the first candidate.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TRACEBENCH_HF_SOURCE"] = "folder"

from tracebench_engine.api import load_config, run
from tracebench_testing.fake_openai import FakeOpenAI

LATENCY = 0.2
AT_ONCE = 32
EXAMPLES = 100
MANY = 1_000
WHOLE = {"id": "NoOp", "params_variants": [{"validation_size": EXAMPLES}]}
FREE = {"prompt": 0, "completion": 0}
SEARCH = {"num_steps": 19, "num_proposals": 1, "validation_size": MANY}


def rows(folder: Path, number: int) -> None:
    """Write a data set of our own in the shape of GSM8K."""
    (folder / "gsm8k").mkdir(parents=True)
    with (folder / "gsm8k" / "train.jsonl").open("w") as file:
        for i in range(number):
            file.write(
                json.dumps({"question": f"What is {i} plus {i}? " + "Think. " * 20, "answer": f"#### {2 * i}"}) + "\n"
            )


def config(folder: Path, url: str, *, seeds: int, examples: int, trainer: Any, **more: Any) -> dict[str, Any]:
    """Return a run of `hf:gsm8k` with plain instructions and one job a seed."""
    return {
        "runs_dir": str(folder / "runs"), "mode": "real", "seeds": [*range(seeds)], "max_workers": seeds, "eval_workers": AT_ONCE,
        "llm": {"model": "openai/slow", "base_url": url, "max_concurrency": AT_ONCE, "prices": {"openai/slow": FREE}},
        "tasks": [{"id": "hf:gsm8k", "eval_kwargs": {"num_train": 1, "num_validate": examples, "num_test": 0, "program": "instructions"}}],
        "trainers": [trainer], **more,
    }  # fmt: skip


def concurrency(folder: Path) -> None:
    """Print both ratios."""
    rows(folder, EXAMPLES + 1)
    os.environ["TRACEBENCH_HF_DATA"] = str(folder)
    for jobs in (1, 2):
        with FakeOpenAI(delay=LATENCY, reply=lambda _: "#### 4") as server:
            told = config(folder, server.base_url, seeds=jobs, examples=EXAMPLES, trainer=WHOLE)
            (folder / "c.json").write_text(json.dumps(told))
            done = run(load_config(folder / "c.json"))
        ideal = math.ceil(jobs * EXAMPLES / AT_ONCE) * LATENCY
        for path in sorted(Path(done.run_dir).glob("jobs/*/events.jsonl")):
            times = [
                (e["mono"] - e["seconds"], e["mono"])
                for e in map(json.loads, path.read_text().splitlines())
                if e["kind"] == "evaluation" and e["by"] == "trainer"
            ]
            took = max(end for _, end in times) - min(start for start, _ in times)
            print(
                f"{jobs} job(s): {len(times)} examples in {took:.2f} s, ideal {ideal:.2f} s, ratio {took / ideal:.2f} (goal 1.5)"
            )


def memory(folder: Path) -> None:
    """Print how much the process that writes the job's events grows from its first candidate's last example to its end."""
    rows(folder, MANY + 1)
    told = config(folder, "", seeds=1, examples=MANY, trainer={"id": "RandomSearch", "params_variants": [SEARCH]})
    told |= {"mode": "stub", "llm": {"stub": "empty"}, "eval_workers": 1, "run_id": "m"}
    (folder / "m.json").write_text(json.dumps(told))
    events, resident, seen = [], {}, 0
    command = [sys.executable, "-m", "tracebench_engine.cli", "run", "--config", str(folder / "m.json")]
    process = subprocess.Popen(
        command,
        env={**os.environ, "TRACEBENCH_HF_DATA": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        time.sleep(0.25)
        events = events or list(folder.glob("runs/m/jobs/*/events.jsonl"))
        if events and (held := _resident(events[0])) is not None:
            seen = _lines(events[0])
            resident[seen] = max(held, resident.get(seen, 0))
    evaluations = sum('"evaluation"' in line for line in events[0].read_text().splitlines())
    first = min(m for n, m in resident.items() if n >= MANY)
    grown = (max(resident.values()) - first) / 1024
    print(
        f"{evaluations} evaluations; {first / 1024:.0f} MB after the first candidate, {grown:.1f} MB more at the most (goal 50)"
    )


def _resident(events: Path) -> int | None:
    """Return the kilobytes that the process which holds this file open has in memory; None when there is none."""
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if descriptor.readlink() == events.resolve():
                status = (descriptor.parent.parent / "status").read_text()
                return int(status.partition("VmRSS:")[2].split()[0])
        except (OSError, IndexError):
            continue
    return None


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("concurrency", "memory"))
    what = parser.parse_args().what
    with tempfile.TemporaryDirectory() as folder:
        {"concurrency": concurrency, "memory": memory}[what](Path(folder))


if __name__ == "__main__":
    main()
