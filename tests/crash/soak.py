"""Kill processes of a run at random moments, resume it to its end, and compare it with a run that nobody disturbed.

`python -m tests.crash.soak --kills 1000` is the long form; the short one is `test_random_kills.py`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tests.crash.processes import everyone, kill, scorers, tree, wait_until_gone

from tracebench_core.specs.events import EvaluationDone
from tracebench_runs.check.fsck import check_run
from tracebench_runs.events.eventlog import stream_events
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.journal.trust import end_records
from tracebench_runs.reading.compare import without_times
from tracebench_runs.reading.reader import load_run
from tracebench_runs.results.rows import SPENT
from tracebench_runs.storage.layout import RunLayout

VICTIMS = ("runner", "template", "job", "gateway", "sandbox")
"""Not the candidate: killed from outside, it is a candidate that crashed, and is measured as one."""
SCORERS = ("scoring template", "scoring")
"""Who scores jobs: the runner has no such child, so these are looked for by name."""
HOLDER = "environments"
ANYBODY = "anybody"
"""In place of a kind: whoever there is at a random instant, the environments' process and what jobs started among them."""
WARD = Path(__file__).with_name("ward.py")
TIMED_COLUMNS = {"run_id", "time_seconds", "started_at", "ended_at"}
ORPHAN_SECONDS = 60.0
"""A process that is still importing notices the end of its runner when it is through."""
MOST_ATTEMPTS = 60
COMMAND = str(Path(sys.executable).parent / "trace-bench")


def matrix(seeds: int, *, has_environments: bool = False) -> dict[str, Any]:
    """Return a config of 6 quick jobs a seed: numbers and sandboxed code, with a model (the stub) and without; 9 with an environment."""
    return {
        "mode": "stub",
        "tasks": ["internal:numeric_param", "ward:doubled", *(["ward:bed"] if has_environments else [])],
        "trainers": [
            "NoOp",
            {"id": "BestOfN", "params_variants": [{"n": 3}]},
            {"id": "SequentialRefine", "params_variants": [{"num_steps": 3}]},
        ],
        "seeds": list(range(seeds)),
        "max_workers": 2,
    }


def install_ward(site: Path) -> None:
    """Install the suite that the matrix takes tasks from where the runs find it: a module and a dist-info folder on the path."""
    info = site / "ward-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(WARD, site)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ward\nVersion: 1.0\nRequires-Dist: tracebench-core>=0.1\n"
    )
    (info / "entry_points.txt").write_text("[tracebench]\nward = ward\n")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])


@dataclass
class Tally:
    """What was done to runs, and what was found wrong with them."""

    runs: int = 0
    jobs: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    late: int = 0
    """Jobs in which the clock ended a candidate that would have answered: a starved machine, whose scores are not the calm run's."""
    problems: list[str] = field(default_factory=list)

    def dealt(self) -> str:
        """Say how many kills there were, and of whom."""
        return f"{self.kills.total()} kills ({', '.join(f'{n} {kind}' for kind, n in self.kills.most_common())})"


class Patient:
    """One run that is disturbed until it has had its kills, and then left to finish."""

    def __init__(
        self,
        folder: Path,
        *,
        config: dict[str, Any],
        rng: random.Random,
        victims: Sequence[str] = VICTIMS,
    ) -> None:
        self.folder = folder
        self._victims = victims
        self.token = f"soak-{os.getpid()}-{rng.getrandbits(40):x}"
        self.run_dir = folder / "runs" / "r"
        self._rng = rng
        self._config = folder / "config.yaml"
        folder.mkdir(parents=True)
        self._config.write_text(yaml.safe_dump({**config, "run_id": "r", "runs_dir": str(folder / "runs")}))
        (folder / self.token).mkdir()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the run, or resume it when it had begun."""
        begun = (self.run_dir / "meta" / "manifest.json").exists()
        argv = ["resume", str(self.run_dir), "--failed"] if begun else ["run", "--config", str(self._config)]
        with (self.folder / "told.log").open("ab") as told:
            return subprocess.Popen(
                [COMMAND, *argv],
                stdout=told,
                stderr=told,
                start_new_session=True,
                env={**os.environ, "SOAK": self.token, "TMPDIR": str(self.folder / self.token)},
            )

    def disturb(self, tally: Tally, *, kills: int, span: float) -> None:
        """Kill `kills` processes, each within `span` seconds of the last, and let the run come to its end."""
        declared: dict[str, EndRecord] = {}
        left = kills
        for _ in range(MOST_ATTEMPTS):
            process = self.start()
            while left > 0 and process.poll() is None:
                time.sleep(self._rng.uniform(0, span))
                victim = self._strike(process)
                if victim:
                    tally.kills[victim] += 1
                    left -= 1
                if victim == "runner":
                    break
            code = process.wait()
            if orphans := wait_until_gone(self.token, seconds=ORPHAN_SECONDS):
                tally.problems.append(f"left running: {orphans}")
            declared = self._still_declared(declared, tally)
            if code == 0:  # finished, perhaps before all kills were dealt
                return
        tally.problems.append(
            f"not finished after {MOST_ATTEMPTS} resumes: {(self.folder / 'told.log').read_text()[-800:]}"
        )

    def _strike(self, process: subprocess.Popen[bytes]) -> str:
        """Choose whom to kill, wait for a moment at which there is one, and kill it; return its kind, or nothing."""
        kind = self._rng.choice(self._victims)
        if kind == ANYBODY:
            there = {pid: its for pid, its in everyone(process.pid).items() if its != "candidate"}
            chosen = self._rng.choice([*there])
            return there[chosen] if process.poll() is None and kill(chosen) else ""
        while process.poll() is None:
            there = scorers(self.token) if kind in SCORERS else tree(process.pid)
            present = [pid for pid, its in there.items() if its == kind]
            if present:
                return kind if kill(self._rng.choice(present)) else ""
            time.sleep(0.01)
        return ""

    def _still_declared(self, before: dict[str, EndRecord], tally: Tally) -> dict[str, EndRecord]:
        now = end_records(self.run_dir) if self.run_dir.is_dir() else {}
        for job_id, end in before.items():
            if end.status == "ok" and now.get(job_id) != end:
                tally.problems.append(f"job {job_id} was declared ok, and then {now.get(job_id)}")
        return now


def derived(run_dir: Path) -> dict[str, Any]:
    """Return what follows from a run's events, without times: results, states, tables. Attempts that were lost are spent, and left out."""
    run = load_run(run_dir)
    found: dict[str, Any] = {}
    for job_id, result in run.results.items():
        found[f"{job_id}/results"] = without_times(result)
        for path in sorted(run.layout.job(job_id).artifacts.rglob("*")):
            if path.is_file():
                found[f"{job_id}/{path.name}"] = path.read_bytes()
    with run.layout.results_csv.open() as table:
        found["results.csv"] = [
            {k: v for k, v in row.items() if k not in {*TIMED_COLUMNS, *SPENT}} for row in csv.DictReader(table)
        ]
    with run.layout.leaderboard_csv.open() as table:
        found["leaderboard.csv"] = [
            {k: v for k, v in row.items() if k not in {*SPENT, "used_seconds"}} for row in csv.DictReader(table)
        ]
    summary = json.loads(run.layout.summary.read_bytes())
    found["summary.json"] = {
        k: v for k, v in summary.items() if k not in {"run_id", "spent", "wall_seconds", "cpu_seconds"}
    }
    return found


def late_jobs(run_dir: Path) -> set[str]:
    """Return the jobs with an evaluation that ended by its time limit: no candidate of the matrix needs it, so the machine was too slow."""
    layout = RunLayout(run_dir)
    return {
        job.job_id
        for job in layout.job_folders()
        if any(isinstance(e, EvaluationDone) and e.status == "timeout" for e in stream_events(job))
    }


def examine(run_dir: Path, *, undisturbed: dict[str, Any], tally: Tally) -> None:
    """Compare a finished run with the undisturbed one, and count how often each job was declared ok."""
    found, late = derived(run_dir), late_jobs(run_dir)
    tally.late += len(late)
    for name in sorted(found.keys() | undisturbed.keys()):
        job, _, file = name.partition("/")
        if late and (not file or job in late):
            continue
        if found.get(name) != undisturbed.get(name):
            tally.problems.append(f"{name} differs: {str(found.get(name))[:300]} != {str(undisturbed.get(name))[:300]}")
    oks: Counter[str] = Counter()
    for path in RunLayout(run_dir).journals():
        for line in path.read_bytes().splitlines():
            record = json.loads(line) if line.endswith(b"}") else {}
            if record.get("kind") == "job_finished" and record["status"] == "ok":
                oks[record["job"]] += 1
    jobs = load_run(run_dir).planned
    tally.problems += [f"job {j.job_id} was declared ok {oks[j.job_id]} times" for j in jobs if oks[j.job_id] != 1]
    tally.problems += [f"fsck: {f.code} {f.path} {f.message}" for f in check_run(run_dir) if f.mended_by != "nothing"]


def soak(
    folder: Path,
    *,
    config: dict[str, Any],
    kills: int,
    seeds: int,
    seed: int = 0,
    victims: Sequence[str] = VICTIMS,
) -> Tally:
    """Disturb runs until `kills` kills were dealt and at least `seeds` runs have been through it."""
    calm = Patient(folder / "calm", config=config, rng=random.Random("calm"))
    started = time.monotonic()
    if code := calm.start().wait():
        raise RuntimeError(f"the undisturbed run ended with {code}: {(calm.folder / 'told.log').read_text()[-2000:]}")
    length = time.monotonic() - started
    span = length / 4 if ANYBODY in victims else min(2.0, length / 2)  # at its start, a run is its runner alone
    undisturbed = derived(calm.run_dir)
    if late := late_jobs(calm.run_dir):
        raise RuntimeError(
            f"the machine is too slow: in {len(late)} undisturbed jobs a candidate reached its time limit"
        )
    tally = Tally()
    share = max(1, kills // seeds)
    while tally.kills.total() < kills or tally.runs < seeds:
        rng = random.Random(f"{seed}:{tally.runs}")
        patient = Patient(folder / f"run{tally.runs}", config=config, rng=rng, victims=victims)
        before = len(tally.problems)
        patient.disturb(tally, kills=share, span=span)
        tally.runs += 1
        tally.jobs += len(undisturbed["results.csv"])
        if len(tally.problems) == before:
            examine(patient.run_dir, undisturbed=undisturbed, tally=tally)
        if len(tally.problems) > before:
            tally.problems[before:] = [f"run {tally.runs - 1}: {problem}" for problem in tally.problems[before:]]
        print(f"run {tally.runs - 1}: {tally.dealt()}, {tally.problems[before:] or 'no difference'}", flush=True)
    return tally


def main() -> int:
    """Run the long form and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=50, help="runs at the least")
    parser.add_argument("--jobs", type=int, default=60, help="jobs of the matrix, rounded to six")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victims", nargs="+", default=VICTIMS, choices=[*VICTIMS, *SCORERS, HOLDER, ANYBODY])
    parser.add_argument("--environments", action="store_true", help="a task with an environment as well")
    parser.add_argument("--folder", type=Path, help="keep the runs here")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = chosen.folder or Path(temporary)
        os.environ["XDG_STATE_HOME"] = str(Path(temporary) / "state")  # the user may calibrate a suite meanwhile
        install_ward(Path(temporary) / "site")
        tally = soak(
            Path(folder),
            config=matrix(max(1, chosen.jobs // 6), has_environments=chosen.environments),
            kills=chosen.kills,
            seeds=chosen.seeds,
            seed=chosen.seed,
            victims=chosen.victims,
        )
    print(f"{tally.dealt()} over {tally.runs} runs of {tally.jobs} jobs in all")
    if tally.late:
        print(f"{tally.late} jobs met the time limit of a candidate and are not compared, nor are their runs' tables")
    print("\n".join(tally.problems) or "nothing lost, nothing twice, nobody left, every derived file as undisturbed")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
