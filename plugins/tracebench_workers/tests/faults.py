"""Random faults to runs on three workers, and the laws that hold after them.

    python -m plugins.tracebench_workers.tests.faults --faults 200

Each round is one run of real processes. Faults befall it until it has ended: kill -9 of a worker, the runner, the gateway;
SIGSTOP for ten seconds; connections cut in the middle of whatever passes, or silent for a while; a cancel of the run.
What ended before its time is resumed, by workers or on this machine alone. Then each job has one end, none was started
again without a word, the files are sound, and nothing is left running.
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
from contextlib import suppress
from pathlib import Path

from plugins.tracebench_workers.tests.proxy import Proxy
from plugins.tracebench_workers.tests.world import World, is_there

JOBS = 10
PATIENCE = 1200.0
"""Seconds for what takes a few, on a machine that may have any load."""
TRAINER = """
import os, time
from pathlib import Path
class Asks:
    def __init__(self, settings): ...
    def train(self, problem):
        with open(Path(__file__).parent / "begun", "a") as log:
            log.write(f"{problem.seed} {os.getpid()}\\n")
        print(os.urandom(1 << 19).hex())
        for _ in range(6):
            problem.evaluate(problem.initial)
            time.sleep(0.3)
"""
CONFIG = """
run_id: r
tasks: [internal:numeric_param]
trainers: ["./asks.py:Asks", BestOfN]
seeds: {seeds}
mode: stub
budget: {{llm_calls: 4}}
max_workers: 3
executor: workers
plugins: {{options: {{workers: {{listen: "127.0.0.1:{port}", reach: "127.0.0.1:{reach}", ticket: ticket, lease: 4}}}}}}
"""
FAULTS = ("worker", "runner", "gateway", "stop", "cut", "cut within", "silence", "cancel")


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
        (folder / "run.yaml").write_text(CONFIG.format(seeds=seeds, port=port, reach=self.proxy.port))
        self.workers: list[subprocess.Popen[str]] = []
        self.executor = "workers"
        self.befell: list[str] = []
        self.told: list[str] = []
        self.run = self._started("run", "--config", "run.yaml")

    def befall(self) -> None:
        """Do one thing at a moment of its own; go on with a run that it ended."""
        begun = self._begun()
        until = time.monotonic() + 120
        while self.run.poll() is None and self._begun() == begun and time.monotonic() < until:
            self._keep_three()
            time.sleep(0.1)
        time.sleep(self.chance.uniform(0.0, 2.0))
        if self.run.poll() is not None:
            return
        what = self.chance.choice(FAULTS if self.executor == "workers" else ("runner", "gateway", "cancel"))
        there = [worker for worker in self.workers if worker.poll() is None]
        if (what in {"worker", "stop"} and not there) or (what == "gateway" and not self._gateways()):
            return
        self.befell.append(what)
        if what in {"worker", "stop"}:
            self._hit(self.chance.choice(there), what)
        elif what == "gateway":
            for pid in self._gateways():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif what in {"runner", "cancel"}:
            self._end_run(what)
        elif what == "silence":
            self.proxy.swallow(self.chance.choice((1.0, 10.0)))
        else:
            self.proxy.cut(self.chance.randrange(1, 1 << 20) if what == "cut within" else 0)

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
        self.proxy.close()
        self.world.close()

    def ends(self) -> Counter[str]:
        """Return how often the journals declare each job finished."""
        lines = [line for path in self.run_dir.glob("journal-*.jsonl") for line in path.read_bytes().splitlines()]
        records = []
        for line in lines:
            with suppress(ValueError):
                records.append(json.loads(line))
        return Counter(r["job"] for r in records if r.get("kind") == "job_finished")

    def _hold_laws(self) -> None:
        ends = self.ends()
        assert len(ends) == JOBS, ends
        assert set(ends.values()) == {1}, f"a job ended twice: {ends}"
        results = [json.loads(path.read_text()) for path in self.run_dir.glob("jobs/*/results.json")]
        assert [r["status"] for r in results] == ["ok"] * JOBS, Counter(r["status"] for r in results)
        again = sum(told.count("is run again") for told in self.told)
        begun = (self.world.folder / "begun").read_text().split("\n")
        starts = Counter(line.split()[0] for line in begun if line)
        stops = sum(what in {"runner", "cancel"} or what.startswith("rc") for what in self.befell)
        assert sum(starts.values()) - len(starts) <= again + stops * 3, f"started again without a word: {starts}"
        checked = self.world.asked("fsck", "runs/r")
        assert checked.returncode == 0, checked.stdout
        for worker in self.workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(PATIENCE)
        assert all(worker.poll() is not None for worker in self.workers), "a worker is left"
        left = [int(line.split()[1]) for line in begun if line and is_there(int(line.split()[1]))]
        assert not left, f"jobs are left: {left}"

    def _begun(self) -> int:
        log = self.world.folder / "begun"
        return len(log.read_text().split("\n")) + sum(self.ends().values()) if log.exists() else 0

    def _started(self, *words: str) -> subprocess.Popen[str]:
        return self.world.start(*words)

    def _keep_three(self) -> None:
        if (self.world.folder / "ticket").exists():
            there = [worker for worker in self.workers if worker.poll() is None]
            for _ in range(3 - len(there)):
                self.workers.append(self.world.worker(f"w{len(self.workers)}"))

    def _hit(self, victim: subprocess.Popen[str], what: str) -> None:
        if what == "worker":
            victim.kill()
            return
        victim.send_signal(signal.SIGSTOP)
        time.sleep(10)
        victim.send_signal(signal.SIGCONT)

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
            worker.wait(PATIENCE)
        finished = self.ends()
        self.executor = self.chance.choice(("workers", "workers", "local"))
        (self.world.folder / "ticket").unlink(missing_ok=True)
        self.run = self._started("resume", "runs/r", "--executor", self.executor)
        self.befell.append(f"resumed by {self.executor}, {len(finished)} finished")


def main() -> None:
    """Run rounds until so many faults have befallen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counted: Counter[str] = Counter()
    number = 0
    while sum(counted[what] for what in FAULTS) < options.faults:
        seed = options.seed + number
        number += 1
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            one = Round(Path(folder), random.Random(seed))
            try:
                for _ in range(4):
                    one.befall()
                one.conclude()
            except BaseException:
                print(f"seed {seed} broke a law after {one.befell}", flush=True)
                raise
            finally:
                one.close()
            counted.update(one.befell)
            print(f"seed {seed}: {', '.join(one.befell)}", flush=True)
    print(f"{sum(counted[what] for what in FAULTS)} faults in {number} runs, no law broken: {dict(counted)}")


if __name__ == "__main__":
    main()
