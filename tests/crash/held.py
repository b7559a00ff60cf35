"""Hold processes of a run, or have them refuse to die, and see the run end all the same: `python -m tests.crash.held`.

Every kind of process, held by SIGSTOP or deaf to SIGTERM, SIGINT and SIGHUP from a moment drawn by chance, while the run goes on to its
end, or is ended by Ctrl-C, by SIGTERM, or by `trace-bench cancel`; then `resume --failed` has to finish it. It prints the table of what
came of it. Exit code 1 when a run did not end in time, left a process, or could not be finished.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests import warm
from tests.crash.processes import bearers, children, command, everyone, kill, scorers, wait_until_gone
from tests.crash.refusing import MAY_NOT, READY
from tests.crash.soak import COMMAND, SCORERS, install_ward, matrix

from tracebench_runs.check.fsck import check_run

PROCESSES = (
    "runner", "server of helpers", "gateway", "sandbox", "candidate", "environments", "template", "job", "scoring template",
    "scoring",
)  # fmt: skip
WAYS = ("held", "refuses")
ENDS = ("its end", "Ctrl-C", "SIGTERM", "cancel")
LIMITS = {"its end": 150.0, "Ctrl-C": 60.0, "SIGTERM": 60.0, "cancel": 60.0}
"""Seconds within which a run, hurried as below, has to end once it was struck, or asked; a machine with other work included."""
FINISHED_WITHIN = 300.0
RESUMES = 3
"""Within as many, a run has to be whole: on a starved machine a job may meet its time limit, which is short here."""
HELD_RUNNER = 3.0
"""Seconds for which the runner is held: nobody is there to end what it began, so that it is let go."""
TRIES = 4
"""Runs at most that may end before what is to be struck was there."""
HURRIED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever began this in the background may ignore it
from tracebench_engine.measure.environments import client
from tracebench_engine.run import supervisor
from tracebench_engine.run.local import process
from tracebench_sandbox.forkserver import launch
supervisor.ASK_AFTER, supervisor.HELD, supervisor.ENDING, supervisor.STARTING = 0.4, 4.0, 1.0, 40.0
process.TICK, process.PING_AFTER, process.LIFELESS, process.STARTING, process.CLOSING = 0.1, 0.5, 4.0, 40.0, 2.0
client.CLOSE_SECONDS = 6.0
asks = sys.modules["tracebench_sandbox.forkserver.launch"]  # the package has a function of that name
asks.ANSWER_SECONDS, asks._PATIENCE = 2.0, 0.5
from tracebench_engine.cli.app import main
main()
"""
"""The command with little patience: what waits for a minute or two there waits for seconds here."""


@dataclass
class Outcome:
    """What came of one cell of the table."""

    code: int | None = None
    seconds: float = 0.0
    """Until the run had ended, since it was struck or asked to end."""
    wrong: list[str] = field(default_factory=list)

    def cell(self) -> str:
        """Return it in a few characters."""
        return f"WRONG: {self.wrong[0][:60]}" if self.wrong else f"{self.code}, {self.seconds:.0f} s"


class Held:
    """One run, one of whose processes is struck."""

    def __init__(self, folder: Path, process: str, way: str, end: str, *, seed: int = 0) -> None:
        self._process, self._way, self._end = process, way, end
        self._rng = random.Random(f"{seed} {process} {way} {end}")
        self.token = f"held-{os.getpid()}-{self._rng.getrandbits(40):x}"
        self._folder = folder
        self._outcome = Outcome()
        self._refusers: list[subprocess.Popen[bytes]] = []

    def go_through(self) -> Outcome:
        """Start it, strike, have it end, and resume it; a run that ended too early is begun anew."""
        for turn in range(TRIES):
            run = self._folder / f"run{turn}"
            process = self._start(run)
            try:
                struck = self._strike(process)
                if struck:
                    self._see_it_end(process, run, struck)
                    self._see_it_finished(run)
                    return self._outcome
            finally:
                self._clear(process)
        self._outcome.wrong.append(f"no {self._process} was there in {TRIES} runs")
        return self._outcome

    def _start(self, run: Path) -> subprocess.Popen[bytes]:
        config = {**matrix(2, has_environments=True), "job_timeout": 15, "scoring_timeout": 6, "run_id": run.name}
        run.parent.mkdir(parents=True, exist_ok=True)
        file = run.with_suffix(".yaml")
        file.write_text(yaml.safe_dump({**config, "runs_dir": str(self._folder)}))
        with run.with_suffix(".log").open("wb") as told:
            return subprocess.Popen(
                [sys.executable, "-c", HURRIED, "run", "--config", str(file)],
                stdout=told,
                stderr=told,
                start_new_session=True,
                env={**os.environ, "HELD": self.token},
            )

    def _strike(self, process: subprocess.Popen[bytes]) -> list[int]:
        """Hold such a process, or have it refuse, once jobs are under way; return whom, or nobody where the run ended before."""
        moment: float | None = None
        if self._way == "refuses":
            self._refusers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.crash.refusing"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                )
            )
        while process.poll() is None:
            there = self._there(process.pid)
            if moment is None and "job" in there.values():
                moment = time.monotonic() + self._rng.uniform(0, 1.5)
            victims = [pid for pid, kind in there.items() if kind == self._process]
            if moment is not None and time.monotonic() >= moment and victims:
                pid = self._rng.choice(victims)
                if self._way == "held":
                    if kill(pid, signal.SIGSTOP):
                        return [pid]
                elif self._refuses(pid):
                    return [pid]
            time.sleep(0.01)
        return []

    def _there(self, pid: int) -> dict[int, str]:
        told = {**everyone(pid), **(scorers(self.token) if self._process in SCORERS else {})}  # they take long to find
        helpers = {child for child in children(pid) if "starts helpers" in command(child)}
        return told | dict.fromkeys(helpers, "server of helpers")

    def _refuses(self, pid: int) -> bool:
        refuser = self._refusers[-1]
        assert refuser.stdin is not None
        assert refuser.stdout is not None
        refuser.stdin.write(b"%d\n" % pid)
        refuser.stdin.flush()
        answer = refuser.stdout.readline()
        if answer == MAY_NOT:
            raise PermissionError("no process may be traced here")
        return answer == READY

    def _see_it_end(self, process: subprocess.Popen[bytes], run: Path, struck: Sequence[int]) -> None:
        began, most = time.monotonic(), LIMITS[self._end]
        asking = None
        if self._end == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it; helpers have groups of their own
        elif self._end == "SIGTERM":
            process.terminate()
        elif self._end == "cancel":
            asking = warm.start("cancel", str(run), "--reason", "held", says="nothing")
        if self._process == "runner" and self._way == "held":
            time.sleep(HELD_RUNNER)
            kill(process.pid, signal.SIGCONT)
            began += HELD_RUNNER
        refuses_to_end = self._process == "runner" and self._way == "refuses" and self._end in {"Ctrl-C", "SIGTERM"}
        try:
            code = process.wait(most if not refuses_to_end else LIMITS["its end"])
            self._outcome.code, self._outcome.seconds = code, time.monotonic() - began
            if asking is not None:
                asking.wait(most)
        except subprocess.TimeoutExpired:
            self._outcome.wrong.append(f"still there after {most:.0f} s")
            return
        finally:
            if asking is not None and asking.poll() is None:
                asking.kill()
                asking.wait()
        said = run.with_suffix(".log").read_text(errors="replace")
        if "Traceback" in said or "internal error" in said or code not in {0, 1, 130}:
            self._outcome.wrong.append(f"ended with {code}: {said[-500:]}")
        if left := wait_until_gone(self.token, seconds=15.0):
            self._outcome.wrong.append(f"left running: {left}")

    def _see_it_finished(self, run: Path) -> None:
        if self._outcome.wrong:
            return
        argv = [COMMAND, "resume", str(run), "--failed"]
        for _ in range(RESUMES):
            try:
                done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=FINISHED_WITHIN)
            except subprocess.TimeoutExpired:
                self._outcome.wrong.append("its resume does not end")
                return
            if done.returncode != 1:
                break
        if done.returncode != 0 or "Traceback" in done.stderr:
            self._outcome.wrong.append(f"resumed: {done.returncode}, {(done.stdout + done.stderr)[-500:]}")
        self._outcome.wrong += [f"fsck: {f.code} {f.path}" for f in check_run(run) if f.mended_by != "nothing"]

    def _clear(self, process: subprocess.Popen[bytes]) -> None:
        """End whatever is left, so that the next cell has the machine to itself."""
        if process.poll() is None:
            process.kill()
        process.wait()
        for _ in range(20):
            left = [int(bearer.partition(":")[0]) for bearer in bearers(self.token)]
            for pid in left:
                kill(pid)
            if not left:
                break
            time.sleep(0.1)
        for refuser in self._refusers:  # each ends with whom it traces
            refuser.kill()
            refuser.communicate()
        self._refusers.clear()


def cells(processes: Sequence[str] = PROCESSES) -> Iterator[tuple[str, str, str]]:
    """Yield every cell of the table."""
    yield from ((process, way, end) for process in processes for way in WAYS for end in ENDS)


def table(found: dict[tuple[str, str, str], Outcome]) -> str:
    """Return the table in Markdown: the run's exit code, and the seconds that it took."""
    lines = [f"| process | way | {' | '.join(ENDS)} |", f"|---|---|{'---|' * len(ENDS)}"]
    for process, way in dict.fromkeys((process, way) for process, way, _ in found):
        told = [found[process, way, end].cell() if (process, way, end) in found else "" for end in ENDS]
        lines.append(f"| {process} | {way} | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> int:
    """Go through the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.held", description=__doc__)
    parser.add_argument("--processes", nargs="+", default=PROCESSES, choices=PROCESSES, help="these alone")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="runs side by side")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found: dict[tuple[str, str, str], Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="held-") as temporary:
        os.environ["XDG_STATE_HOME"] = str(Path(temporary) / "state")
        install_ward(Path(temporary) / "site")

        def tried(turn: int, cell: tuple[str, str, str]) -> tuple[tuple[str, str, str], Outcome]:
            return cell, Held(Path(temporary) / f"cell{turn}", *cell, seed=asked.seed).go_through()

        todo = [*cells(asked.processes)]
        with ThreadPoolExecutor(asked.workers) as pool:
            for cell, outcome in pool.map(tried, range(len(todo)), todo):
                found[cell] = outcome
                print(f"{', '.join(cell)}: {outcome.cell()}", flush=True)
                for words in outcome.wrong:
                    print(f"    {words}", flush=True)
    wrong = sum(bool(outcome.wrong) for outcome in found.values())
    print(f"\n{table(found)}\n\n{len(found)} runs, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
