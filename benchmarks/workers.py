"""Runs on workers beside the same runs on the local executor, as ratios within one go: `python benchmarks/workers.py [PART...]`.

`short` has jobs that wait for 100 ms on two workers of this machine; `noop` has 2,000 jobs of NoOp there. Both count ends a second
in the journal, from the first to the last, and the baseline is the local executor with two jobs at a time, in turns with it.

`crowd` has one run serve 256 workers that only wait: four processes of its own (`--speakers`) speak for all of them, keep each job
for `--wait` seconds, half of them in its training and half in its scoring, and send the files of a job that really ran, under the
order's id. Told are ends of jobs a second, in all, in the first tenth of them and in the last, seconds of the processor that the run's
own process used in each second between, and the most memory that it held. `join` says how long a worker takes to join, imports aside.

`--jobs` and `--workers` change the numbers, `--files` how files come to the run.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from tracebench_workers.fitting import boot
from tracebench_workers.frames import Ear, Post, connect
from tracebench_workers.shared import Corner
from tracebench_workers.ticket import Ticket

COMMAND = str(Path(sys.executable).with_name("trace-bench"))
WAITS = """
import time
class Waits:
    def __init__(self, settings): ...
    def train(self, problem): time.sleep(0.1)
"""
PHASES = 2
"""Orders of one job: its training, and its scoring."""
TICKS = os.sysconf("SC_CLK_TCK")


def write(folder: Path, trainer: str, jobs: int, **more: Any) -> None:
    """Write the config of a run of so many jobs."""
    (folder / "waits.py").write_text(WAITS)
    config = {
        "tasks": ["internal:numeric_param"],
        "trainers": [trainer],
        "seeds": [*range(1, jobs + 1)],
        "mode": "stub",
        "max_workers": 2,
        **more,
    }
    (folder / "run.json").write_text(json.dumps(config))


def start(folder: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a run in a folder; what it prints goes into a file there."""
    argv = [COMMAND, "run", "--config", "run.json", "-o", f"run_id={name}", *options]
    with (folder / f"{name}.log").open("wb") as sink:
        return subprocess.Popen(argv, cwd=folder, stdout=sink, stderr=sink)


def ends(run_dir: Path) -> list[float]:
    """Return when jobs were declared finished, in seconds of the epoch, in order."""
    lines = (run_dir / "journal-main.jsonl").read_text().splitlines()
    stamps = [json.loads(line)["t"] for line in lines if '"kind":"job_finished"' in line]
    return sorted(datetime.fromisoformat(stamp).timestamp() for stamp in stamps)


def rate(folder: Path, name: str, *options: str) -> float:
    """Run it; return ends a second, from the first to the last."""
    run = start(folder, name, *options)
    if run.wait() != 0:
        raise SystemExit((folder / f"{name}.log").read_text())
    return a_second_of(ends(folder / "runs" / name))


def a_second_of(told: list[float]) -> float:
    """Return ends a second, from the first to the last."""
    return (len(told) - 1) / (told[-1] - told[0])


def beside(folder: Path, title: str, trainer: str, jobs: int, *, rounds: int, files: str) -> None:
    """Print ends a second on workers by those of the local executor, round by round."""
    write(folder, trainer, jobs)
    ratios = []
    for number in range(rounds):
        local = rate(folder, f"{title}-local-{number}", "-o", "executor=local")
        own = [f"plugins.options.workers.{option}" for option in ("start=2", f"files={files}")]
        there = rate(folder, f"{title}-workers-{number}", "-o", "executor=workers", "-o", own[0], "-o", own[1])
        ratios.append(there / local)
        print(
            f"{title}, files {files}: {jobs:,} jobs, local {local:.1f} a second, two workers {there:.1f} = {there / local:.2f}x",
            flush=True,
        )
    print(f"{title}: median of {rounds} rounds {statistics.median(ratios):.2f}x")


class Crowd:
    """Workers that only wait, on one thread; others write their files, because each waits for the disk."""

    def __init__(self, ticket: Ticket, model: Path, number: int, wait: float) -> None:
        """`model` is the folder of a job that has finished."""
        self._ticket = ticket
        self._model = model.name
        self._files = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
        self._writers = ThreadPoolExecutor(32)
        self._number = number
        self._wait = wait
        self._corners: dict[str, Corner] = {}

    async def work(self) -> None:
        """Join, and work until the run is over."""
        await asyncio.gather(*(self._member(number) for number in range(self._number)))

    async def _member(self, number: int) -> None:
        reader, writer = await connect(self._ticket)
        post, ear = Post(writer), Ear(reader)
        session = uuid.uuid4().hex
        hello = {
            "kind": "worker",
            "session": session,
            "name": f"c{number}",
            "slots": 1,
            "boot": boot(),
            "host": "here",
        }
        post.send({**hello, "token": self._ticket.token, "has": [], "is_back": False})
        tasks = set()
        beat = None
        while (message := await ear.hear()) is not None:
            words = message[0]
            if "needs" in words:
                if words["folder"] is not None:
                    self._corners[session] = Corner(words["folder"], session)
                post.send({"fits": True, "seen": self._corners[session].proof} if words["folder"] else {"fits": True})
                beat = asyncio.create_task(self._beat(post, float(words["lease"]) / 6))
            elif "number" in words:
                task = asyncio.create_task(self._end(post, words, self._corners.get(session)))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            elif "over" in words:
                break
        if beat is not None:
            beat.cancel()
        post.close()

    async def _beat(self, post: Post, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            post.send({"alive": time.monotonic()})

    async def _end(self, post: Post, words: dict[str, Any], corner: Corner | None) -> None:
        job = json.loads(words["order"])["job"]
        await asyncio.sleep(self._wait / PHASES)
        files = renamed(self._model, self._files, job["job_id"], job["seed"])
        body = packed(job["job_id"], files) if corner is None else b""
        if corner is not None:
            folder = corner.path / "jobs" / job["job_id"]
            await asyncio.get_running_loop().run_in_executor(self._writers, laid, folder, files)
        post.send({"end": words["number"], "exit": "done", "detail": ""}, body)


def laid(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files of a job into a folder of its own."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def renamed(model: str, files: dict[str, bytes], job: str, seed: int) -> dict[str, bytes]:
    """Return the files of a finished job under another id and seed."""
    made = {name: found.replace(model.encode(), job.encode()) for name, found in files.items()}
    for name in {"results.json", "job_meta.json"} & made.keys():
        made[name] = json.dumps({**json.loads(made[name]), "seed": seed}, indent=2).encode() + b"\n"
    return made


def packed(job: str, files: dict[str, bytes]) -> bytes:
    """Return them as a worker sends them."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz", compresslevel=1) as parcel:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{job}/{name}")
            info.size = len(data)
            parcel.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def used(pid: int) -> tuple[float, float]:
    """Return a process's seconds of the processor, and the most MB that it has held."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return (int(fields[11]) + int(fields[12])) / TICKS, int(peak[1]) / 1024 if peak else 0.0


def crowd(folder: Path, jobs: int, *, workers: int, wait: float, files: str, speakers: int) -> None:
    """Print what one run needs to serve many workers."""
    write(folder, "NoOp", 1)
    if start(folder, "model").wait() != 0:
        raise SystemExit((folder / "model.log").read_text())
    (model,) = (folder / "runs/model/jobs").iterdir()
    ticket = folder / "ticket"
    serves = {"listen": "127.0.0.1:0", "ticket": str(ticket), "files": files}
    write(folder, "NoOp", jobs, max_workers=workers, executor="workers", plugins={"options": {"workers": serves}})
    run = start(folder, "crowd")
    while not ticket.exists():
        if run.poll() is not None:
            raise SystemExit((folder / "crowd.log").read_text())
        time.sleep(0.05)
    member = [sys.executable, __file__, "member", str(ticket), str(model), "--wait", str(wait), "--workers"]
    each = [workers // speakers + (number < workers % speakers) for number in range(speakers)]
    there = [subprocess.Popen([*member, str(number)]) for number in each if number]
    seen = []
    while run.poll() is None:
        with suppress(OSError, IndexError):
            seen.append((time.time(), *used(run.pid)))
        time.sleep(0.2)
    for speaker in there:
        speaker.wait()
    told = ends(folder / "runs/crowd")
    a_second, tenth = a_second_of(told), len(told) // 10
    between = [each for each in seen if told[0] <= each[0] <= told[-1]]
    busy = (between[-1][1] - between[0][1]) / (between[-1][0] - between[0][0])
    print(
        f"crowd, files {files}: {workers} workers of {speakers} processes, {len(told):,} jobs that wait {wait:g} s (exit {run.returncode}):"
        f" {a_second:.0f} ends a second of {workers / wait:.0f} at most, {a_second_of(told[:tenth]):.0f} in the first tenth,"
        f" {a_second_of(told[-tenth:]):.0f} in the last; the run's process: {busy:.2f} s of the processor a second,"
        f" {1000 * busy / a_second:.2f} ms an end,"
        f" {max(each[2] for each in between):.0f} MB at most until the last end, {max(each[2] for each in seen):.0f} in all"
    )


def join(folder: Path, rounds: int) -> None:
    """Print how long a worker takes from its start until it is let in, beside its imports alone."""
    imports = "import typer, tracebench_workers.member, tracebench_workers.sandboxes, tracebench_core.plugins"
    for _ in range(rounds):
        began = time.monotonic()
        subprocess.run([sys.executable, "-P", "-c", imports], check=True)
        alone = time.monotonic() - began
        write(
            folder,
            "NoOp",
            1,
            executor="workers",
            plugins={"options": {"workers": {"listen": "127.0.0.1:0", "ticket": "ticket"}}},
        )
        name = f"join-{uuid.uuid4().hex[:6]}"
        (folder / "ticket").unlink(missing_ok=True)
        run = start(folder, name)
        while not (folder / "ticket").exists():
            time.sleep(0.02)
        began = time.monotonic()
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "tracebench_workers", "--ticket", "ticket"],
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        while "has joined" not in (folder / f"{name}.log").read_text():
            time.sleep(0.02)
        joined = time.monotonic() - began
        run.wait()
        worker.wait()
        print(
            f"join: let in after {joined:.2f} s, of which an interpreter with its imports {alone:.2f} s: {joined - alone:.2f} s",
            flush=True,
        )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["short", "noop", "crowd", "join"])
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--workers", type=int, default=256)
    parser.add_argument("--wait", type=float, default=0.85)
    parser.add_argument("--files", choices=["shared", "streamed"], default="shared")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--speakers", type=int, default=4)
    options = parser.parse_args()
    if options.parts[0] == "member":
        ticket, model = Ticket.parse(Path(options.parts[1]).read_text()), Path(options.parts[2])
        asyncio.run(Crowd(ticket, model, options.workers, options.wait).work())
        return
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    for part in options.parts:
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            if part == "short":
                beside(here, part, "./waits.py:Waits", options.jobs or 100, rounds=options.rounds, files=options.files)
            elif part == "noop":
                beside(here, part, "NoOp", options.jobs or 2000, rounds=options.rounds, files=options.files)
            elif part == "crowd":
                crowd(
                    here,
                    options.jobs or 10_000,
                    workers=options.workers,
                    wait=options.wait,
                    files=options.files,
                    speakers=options.speakers,
                )
            else:
                join(here, options.rounds)


if __name__ == "__main__":
    main()
