"""How long `resume` and `show` take with many finished jobs, and what they hold: `python benchmarks/many_jobs.py [N]`.

The baseline reads the manifest and every result, and takes their digests: the least that a decision can rest on. The run is a real one of
NoOp jobs that is killed at its beginning; all jobs but one are then laid down as copies of one that finished, and the journal declares them
finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from descendants import watch

from tracebench_core.ids import content_hash
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.storage.seal import Seal

TASKS = ["internal:numeric_param", "internal:multi_param"]
TRAINERS = ["NoOp", "RandomSearch", "BestOfN", "Anneal", "SequentialRefine"]
KINDS = len(TASKS) * len(TRAINERS)
MODELS = 20
"""Real jobs of each kind that the others are copies of."""
READERS = (
    ("show",),
    ("show", "--all"),
    ("compare",),
    ("report", "-o", "{}/report.html"),
    ("runs", "--runs-dir", "{}/runs"),
)
"""Commands that read a finished run; `{}` is the benchmark's folder."""
COMMAND = str(Path(sys.executable).with_name("trace-bench"))


def _config(folder: Path, seeds: int) -> str:
    path = folder / f"{seeds}.json"
    config = {"tasks": TASKS, "trainers": TRAINERS, "seeds": [*range(seeds)], "mode": "stub", "max_workers": 2}
    path.write_text(json.dumps(config | {"budget": {"evaluations": 5}}))
    return str(path)


def begin(folder: Path, jobs: int) -> Path:
    """Start a run of so many jobs, kill it once a few have finished, and return its directory."""
    runs = folder / "runs"
    argv = [COMMAND, "run", "--config", _config(folder, jobs // KINDS), "--runs-dir", str(runs)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while not (logs := [*runs.glob("*/journal-main.jsonl")]) or logs[0].read_bytes().count(b'"job_finished"') < 4:
        if process.poll() is not None:
            raise SystemExit("the run ended before it could be killed")
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1)  # its helpers end when they notice
    return logs[0].parent


def lay_down(run_dir: Path) -> str:
    """Write every job but the last as a copy of a real one of its trainer and task, and declare it finished; return the id of the last."""
    folder = run_dir.parent.parent
    argv = [COMMAND, "run", "--config", _config(folder, MODELS), "--runs-dir", str(folder / "models")]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (real,) = (folder / "models").iterdir()
    models: dict[tuple[str, str], list[dict[str, bytes]]] = {}
    for home in sorted((real / "jobs").iterdir()):
        files = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
        result = json.loads(files["results.json"])
        models.setdefault((result["task_id"], result["trainer_id"]), []).append(files | {"": home.name.encode()})
    manifest = json.loads((run_dir / "meta" / "manifest.json").read_text())
    journal = (run_dir / "journal-main.jsonl").read_text().splitlines()
    done = {record["job"] for line in journal if (record := json.loads(line))["kind"] == "job_finished"}
    ends = []
    for job in manifest["jobs"][:-1]:
        job_id, seed = job["job_id"], job["seed"]
        if job_id in done:
            continue
        home = run_dir / "jobs" / job_id
        home.mkdir(exist_ok=True)
        model = models[job["task_id"], job["trainer_id"]][seed % MODELS]
        for name, data in model.items():
            if name:
                (home / name).write_bytes(_renamed(name, data, model[""].decode(), job_id, seed))
        events = (home / "events.jsonl").read_bytes()
        seal = Seal(len(events), hashlib.sha256(events).hexdigest())
        ends.append(EndRecord(job_id, "ok", content_hash((home / "results.json").read_bytes()), seal))
    with Journal(run_dir) as log:
        log.jobs_finished(ends)
    return str(manifest["jobs"][-1]["job_id"])


def _renamed(name: str, data: bytes, model: str, job: str, seed: int) -> bytes:
    data = data.replace(model.encode(), job.encode())
    if name not in {"results.json", "job_meta.json"}:
        return data
    return json.dumps({**json.loads(data), "seed": seed}, indent=2).encode() + b"\n"


def decided(run_dir: Path, job: str) -> float:
    """Return when a job was started for the first time, on the clock of `time.time`."""
    for line in (run_dir / "journal-main.jsonl").read_text().splitlines():
        if f'"job_started","job":"{job}"' in line:
            stamp = json.loads(line)["t"].removesuffix("Z")
            whole, _, fraction = stamp.partition(".")
            return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(f"0.{fraction}")
    raise SystemExit("the last job was never started")


def main() -> None:
    """Make the run, then measure."""
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as temporary:
        run_dir = begin(Path(temporary), jobs)
        last = lay_down(run_dir)
        started = time.perf_counter()
        json.loads((run_dir / "meta" / "manifest.json").read_text())
        for home in (run_dir / "jobs").iterdir():
            if (home / "results.json").exists():
                content_hash((home / "results.json").read_bytes())
        baseline = time.perf_counter() - started
        code, began, wall, cpu, memory, _ = watch(COMMAND, "resume", str(run_dir))
        decision = decided(run_dir, last) - began
        print(f"{jobs:,} jobs; baseline, manifest and results read and hashed: {baseline:.2f} s")
        print(f"resume (exit {code}): decided after {decision:.2f} s = {decision / baseline:.2f}x of the baseline;")
        print(f"  whole {wall:.1f} s, {cpu:.1f} s of CPU, {memory:.0f} MB")
        for command, *options in READERS:
            names = [str(run_dir)] if command != "runs" else []
            code, began, wall, cpu, memory, _ = watch(COMMAND, command, *names, *(o.format(temporary) for o in options))
            told = " ".join([command, *(o for o in options if "{}" not in o)])
            print(
                f"{told} (exit {code}): {wall:.2f} s = {wall / baseline:.2f}x, {cpu:.2f} s of CPU, {memory:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
