"""Random faults to runs on three workers, and the laws that hold after them.

    python -m plugins.tracebench_workers.tests.faults --faults 200 --log faults.jsonl
    python -m plugins.tracebench_workers.tests.faults --table faults.jsonl

Each round is one run of real processes, with files in a shared folder or streamed. Faults befall it until it has ended: see
`FAULTS`. What ended before its time is resumed, by workers or on this machine alone. Then each job has one end, none was started
again and no call of a model was made again without a word, the files are sound, and nothing is left running. `--table` counts
the faults of such logs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from plugins.tracebench_workers.tests.laws import TRAINER, begun, demand, ends
from plugins.tracebench_workers.tests.proxy import Proxy
from plugins.tracebench_workers.tests.world import Process, World
from tests.processes import is_alive

JOBS = 14
PATIENCE = 1200.0
"""Seconds for what takes a few, on a machine that may have any load."""
CONFIG = """
run_id: r
tasks: [internal:numeric_param]
trainers: ["./asks.py:Asks", BestOfN]
seeds: {seeds}
mode: stub
budget: {{llm_calls: 4}}
max_workers: 3
executor: workers
plugins: {{options: {{workers: {{files: {files}, listen: "127.0.0.1:{port}", reach: "127.0.0.1:{reach}", ticket: ticket, lease: 6}}}}}}
"""
FAULTS = {
    "worker": "kill -9 of a worker",
    "runner": "kill -9 of the run, then `resume`, on workers or on one machine alone",
    "gateway": "kill -9 of the gateway",
    "stop": "SIGSTOP of a worker's own process for 10 s",
    "node held": "SIGSTOP of all processes of a worker for 10 s",
    "node gone": "the same for good: no connection is closed",
    "cut": "all connections cut at once",
    "cut in files": "all cut within the next MiB, of which nearly all is files where these are streamed",
    "cut in words": "all cut within the next 3,000 bytes: orders, ends, signs of life",
    "cut in a call": "a new connection cut after its handshake, in what is asked: a call of a model, seldom a worker that joins",
    "cut in an answer": "the same in what is answered, so that a call was made and paid for, and its answer is lost",
    "silence": "nothing passes for 1 or 10 s, no connection is closed",
    "cancel": "`cancel` of the run, then `resume`",
}
HERE = ("runner", "gateway", "cancel")
"""Those that befall a run on one machine, too."""
CALLS_CUT = {"cut in a call": (420, 9000), "cut in an answer": (1230, 5000)}
"""After how many bytes of a connection: a handshake has 414 and 1,218, the four calls of a job more than 9,000 and 5,000."""
MARK = "FAULTS_WORKER"


class Round:
    """One run, what befalls it, and what must hold after it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.world = World(folder, environ={"XDG_STATE_HOME": str(folder / "state")})
        self.run_dir = folder / "runs/r"
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.proxy = Proxy(port)
        (folder / "asks.py").write_text(TRAINER)
        seeds = [*range(1, JOBS // 2 + 1)]
        self.files = chance.choice(("shared", "streamed"))
        config = CONFIG.format(seeds=seeds, port=port, reach=self.proxy.port, files=self.files)
        (folder / "run.yaml").write_text(config)
        self.workers: list[Process] = []
        self.frozen: set[int] = set()
        self.executor = "workers"
        self.befell: list[str] = []
        self.told: list[str] = []
        self.run = self._started("run", "--config", "run.yaml")

    def befall(self) -> None:
        """Do one thing at a moment of its own; go on with a run that it ended."""
        before = self._begun()
        until = time.monotonic() + 120
        while self.run.poll() is None and self._begun() == before and time.monotonic() < until:
            self._keep_three()
            time.sleep(0.1)
        time.sleep(self.chance.uniform(0.0, 2.0))
        if self.run.poll() is not None:
            return
        what = self.chance.choice([*FAULTS] if self.executor == "workers" else HERE)
        of_workers = {"worker", "stop", "node held", "node gone"}
        if (what in of_workers and not self._there()) or (what == "gateway" and not self._gateways()):
            return
        self.befell.append(what)
        if what in of_workers:
            self._hit(self.chance.choice(self._there()), what)
        elif what == "gateway":
            for pid in self._gateways():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif what in {"runner", "cancel"}:
            self._end_run(what)
        elif what == "silence":
            self.proxy.swallow(self.chance.choice((1.0, 10.0)))
        elif what in CALLS_CUT:
            self._cut_in_a_call(CALLS_CUT[what], is_answer=what == "cut in an answer")
        else:
            most = {"cut in files": 1 << 20, "cut in words": 3000}.get(what, 0)
            self.proxy.cut(self.chance.randrange(1, most) if most else 0)

    def conclude(self) -> None:
        """Let the run end, and hold it to its laws."""
        until = time.monotonic() + PATIENCE
        while self.run.poll() is None:
            assert time.monotonic() < until, f"the run does not end: {self.befell}"
            self._keep_three()
            time.sleep(0.2)
        self.told.append(self.run.communicate(timeout=60)[0])
        if self.run.returncode != 0:
            self.befell.append(f"rc {self.run.returncode}")
            self.run = self._started("resume", "runs/r", "--executor", "local")
            self.told.append(self.run.communicate(timeout=PATIENCE)[0])
        assert self.run.returncode == 0, self.told[-1]
        self._hold_laws()

    def close(self) -> None:
        """Leave nothing."""
        for pid in self.frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.proxy.close()
        self.world.close()

    def _hold_laws(self) -> None:
        stops = sum(what in {"runner", "cancel"} or what.startswith("rc") for what in self.befell)
        for worker in self.workers:
            if worker.pid not in self.frozen:
                with suppress(subprocess.TimeoutExpired):
                    worker.wait(PATIENCE)
        lively = [worker for worker in self.workers if worker.pid not in self.frozen]
        assert all(worker.poll() is not None for worker in lively), "a worker is left"
        until = time.monotonic() + 60
        while (left := self._left()) and time.monotonic() < until:
            time.sleep(0.2)
        assert not left, f"processes are left: {[*map(_told_of, left)]}"
        demand(self.world, jobs=JOBS, told=self.told, stops=stops)

    def _left(self) -> list[int]:
        """Return what runs yet of the jobs and workers, but for those whose node is gone."""
        jobs = {pid for _, pid in begun(self.world.folder)}
        marked = {pid for number in range(len(self.workers)) for pid in self._tree(f"w{number}")}
        return [pid for pid in (jobs | marked) - self.frozen if is_alive(pid)]

    def _tree(self, name: str) -> set[int]:
        """Return all processes of a worker, those of its jobs and of what holds them included: they have its environment."""
        mark = f"{MARK}={self.world.folder}/{name}".encode()
        found = set()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (place / "environ").read_bytes().split(b"\0"):
                    found.add(int(place.name))
        return found

    def _there(self) -> list[Process]:
        return [worker for worker in self.workers if worker.poll() is None and worker.pid not in self.frozen]

    def _cut_in_a_call(self, after: tuple[int, int], *, is_answer: bool) -> None:
        """Wait for one: a job opens its connection with its first call."""
        before = self.proxy.ambushed
        self.proxy.cut_the_next(self.chance.randrange(*after), is_answer=is_answer)
        until = time.monotonic() + 30
        while self.run.poll() is None and self.proxy.ambushed == before and time.monotonic() < until:
            self._keep_three()
            time.sleep(0.1)
        self.proxy.spare()
        if self.proxy.ambushed == before:
            self.befell[-1] = "no call came"

    def _begun(self) -> int:
        return len(begun(self.world.folder)) + sum(ends(self.run_dir).values())

    def _started(self, *words: str) -> Process:
        return self.world.start(*words)

    def _keep_three(self) -> None:
        if (self.world.folder / "ticket").exists():
            for _ in range(3 - len(self._there())):
                name = f"w{len(self.workers)}"
                self.workers.append(self.world.worker(name, **{MARK: f"{self.world.folder}/{name}"}))

    def _hit(self, victim: Process, what: str) -> None:
        if what == "worker":
            victim.kill()
            return
        pids: set[int] = set()
        while new := ({victim.pid} if what == "stop" else self._tree(f"w{self.workers.index(victim)}")) - pids:
            for pid in new:  # one of them may just have begun another
                self._signal(pid, signal.SIGSTOP)
            pids |= new
        if what == "node gone":
            self.frozen |= pids
            return
        time.sleep(10)
        for pid in pids:
            self._signal(pid, signal.SIGCONT)

    @staticmethod
    def _signal(pid: int, signum: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signum)

    def _gateways(self) -> list[int]:
        children = Path(f"/proc/{self.run.pid}/task/{self.run.pid}/children")
        with suppress(OSError):
            found = [int(pid) for pid in children.read_text().split()]
            return [pid for pid in found if b"tracebench_gateway" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return []

    def _end_run(self, what: str) -> None:
        if what == "runner":
            self.run.kill()
        elif self.world.asked("cancel", "runs/r", "--reason", "a fault").returncode != 0:
            self.befell[-1] = "cancel came too early or too late"
            return
        self.told.append(self.run.communicate(timeout=PATIENCE)[0])
        for worker in self.workers:
            if worker.pid not in self.frozen:
                worker.wait(PATIENCE)
        finished = ends(self.run_dir)
        self.executor = self.chance.choice(("workers", "workers", "local"))
        (self.world.folder / "ticket").unlink(missing_ok=True)
        self.run = self._started("resume", "runs/r", "--executor", self.executor)
        self.befell.append(f"resumed by {self.executor}, {len(finished)} finished")


def _told_of(pid: int) -> str:
    """Return in words what a process is, what state it and its parent are in, and of which worker it is."""
    found = f"{pid}"
    with suppress(OSError, IndexError):
        place = Path(f"/proc/{pid}")
        state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
        above = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[0]
        words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80]
        marks = [each for each in (place / "environ").read_bytes().split(b"\0") if each.startswith(MARK.encode())]
        found += f" {state}, its parent {parent} {above}, {words!r}, {[mark.decode() for mark in marks]}"
    return found


def table(logs: Sequence[Path]) -> str:
    """Return in Markdown how often each fault befell, by the lines of logs."""
    rounds = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    counted = {
        mode: Counter(f for r in rounds if r["files"] == mode for f in r["befell"]) for mode in ("shared", "streamed")
    }
    lines = ["| fault | files shared | files streamed |", "|---|---|---|"]
    lines += [f"| {FAULTS[f]} | {counted['shared'][f]} | {counted['streamed'][f]} |" for f in FAULTS]
    both = [sum(counted[mode][f] for f in FAULTS) for mode in counted]
    broken = [f"seed {r['seed']}: {r['broke']}" for r in rounds if r["broke"]]
    lines.append(f"| together {sum(both)} in {len(rounds)} runs of {JOBS} jobs | {both[0]} | {both[1]} |")
    again = sum(r["again"] for r in rounds)
    return "\n".join([*lines, "", f"Told as run again: {again}. Laws broken: {len(broken)}", *broken])


def one_round(seed: int, faults: int) -> dict[str, Any]:
    """Have a round, and return what befell it, and which law did not hold."""
    broke = ""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        one = Round(Path(folder), random.Random(seed))
        try:
            for _ in range(faults):
                one.befall()
            one.conclude()
        except AssertionError as err:
            broke = str(err)
        finally:
            one.close()
    again = sum(told.count("is run again") for told in one.told)
    return {"seed": seed, "files": one.files, "befell": one.befell, "again": again, "broke": broke[-2000:]}


def main() -> None:
    """Run rounds until so many faults have befallen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=6, help="faults of one run, at most")
    parser.add_argument("--log", type=Path, default=Path("faults.jsonl"))
    parser.add_argument("--table", type=Path, nargs="+")
    options = parser.parse_args()
    befell, seed, broken = 0, options.seed, 0
    while not options.table and befell < options.faults:
        found = one_round(seed, options.each)
        befell, seed, broken = (
            befell + sum(f in FAULTS for f in found["befell"]),
            seed + 1,
            broken + bool(found["broke"]),
        )
        with options.log.open("a") as log:
            log.write(json.dumps(found) + "\n")
        print(f"seed {found['seed']}: {', '.join(found['befell'])}{found['broke'] and ': LAW BROKEN'}", flush=True)
    print(table(options.table or [options.log]))
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
