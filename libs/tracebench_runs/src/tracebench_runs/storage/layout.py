"""Where everything of a run lies: one property per path of the run format."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_runs.storage import files
from tracebench_runs.storage.regular import open_regular

_RUN_ID = re.compile(rb'\s*"run_id": ("(?:[^"\\]|\\.)*"),?\s*$')
_LINES_TO_RUN_ID = 4
RECORDINGS = ".demos"
"""The folder beside the runs that holds unpacked recordings, each under its archive's hash: no run of the user's is touched."""


@dataclass(frozen=True, slots=True)
class JobLayout:
    """The folder of one job: its latest attempt, and nothing of an earlier one."""

    path: Path

    @property
    def job_id(self) -> str:
        return self.path.name

    @property
    def run(self) -> RunLayout:
        return RunLayout(self.path.parent.parent)

    @property
    def meta(self) -> Path:
        return self.path / "job_meta.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def results(self) -> Path:
        return self.path / "results.json"

    @property
    def scoring(self) -> Path:
        """What a scoring under way has measured."""
        return self.path / "scoring.jsonl"

    @property
    def stdout(self) -> Path:
        return self.path / "stdout.log"

    @property
    def artifacts(self) -> Path:
        return self.path / "artifacts"

    @property
    def initial_state(self) -> Path:
        return self.artifacts / "initial_state.yaml"

    @property
    def best_state(self) -> Path:
        return self.artifacts / "best_state.yaml"

    @property
    def final_state(self) -> Path:
        return self.artifacts / "final_state.yaml"

    @property
    def state_history(self) -> Path:
        return self.artifacts / "state_history.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tb"

    def fresh(self) -> JobLayout:
        """Make the job's folder empty for a new attempt, and return it.

        An earlier attempt moves, whole and in one rename, to `attempts/<job_id>.<n>` of the run: what it paid for stays readable, and
        a job's folder never mixes two attempts. An earlier end record of the job then no longer fits its (missing) result.
        """
        if not files.make_new_dir(self.path) and any(self.path.iterdir()):
            attempts = self.run.attempts
            files.make_dir(attempts)
            files.move(self.path, self.next_attempt().path)
            files.sync_folder(attempts)
            files.sync_folder(self.run.path)
            files.make_dir(self.path)
        return self

    def next_attempt(self) -> JobLayout:
        """Return where the next attempt that is put aside goes."""
        taken = [int(earlier.path.suffix[1:]) for earlier in self.earlier_attempts()]
        return JobLayout(self.run.attempts / f"{self.job_id}.{max(taken, default=0) + 1}")

    def earlier_attempts(self) -> list[JobLayout]:
        """Return the attempts that were put aside, in their order."""
        found = [path for path in self.run.attempts.glob(f"{self.job_id}.*") if path.suffix[1:].isdigit()]
        return [JobLayout(path) for path in sorted(found, key=lambda path: int(path.suffix[1:]))]


@dataclass(frozen=True, slots=True)
class RunLayout:
    """The folder of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """The id that the manifest gives the run, which its folder may no longer be called by; the folder's name before there is one."""
        try:
            with open_regular(self.manifest) as lines:
                for line in islice(lines, _LINES_TO_RUN_ID):
                    if (found := _RUN_ID.match(line)) is not None:
                        return str(json.loads(found[1]))
        except (OSError, ValueError):
            pass
        return self.path.name

    @property
    def is_recording(self) -> bool:
        """Whether it was unpacked from a recording, to be read alone: what changes it damages the recording."""
        return self.path.absolute().parent.parent.name == RECORDINGS

    @property
    def meta(self) -> Path:
        return self.path / "meta"

    @property
    def config_snapshot(self) -> Path:
        return self.meta / "config.snapshot.yaml"

    @property
    def manifest(self) -> Path:
        return self.meta / "manifest.json"

    @property
    def env(self) -> Path:
        return self.meta / "env.json"

    @property
    def git(self) -> Path:
        return self.meta / "git.json"

    @property
    def salts(self) -> Path:
        """What the run's generated instances are drawn from; there is none where they are public."""
        return self.meta / "salts.json"

    @property
    def files_index(self) -> Path:
        return self.meta / "files_index.json"

    @property
    def control(self) -> Path:
        return self.path / "control.jsonl"

    @property
    def mirror(self) -> Path:
        """Second copies of the files of `meta/`."""
        return self.path / "mirror.zip"

    @property
    def regrades(self) -> Path:
        """What stored candidates scored under later judges."""
        return self.path / "regrades.jsonl"

    @property
    def lost_and_found(self) -> Path:
        """What a repair set aside."""
        return self.path / "lost+found"

    def growing(self) -> dict[str, Path]:
        """Return the logs that grow while the run lives and that nothing can rebuild, by their paths in the run directory."""
        return {
            path.relative_to(self.path).as_posix(): path
            for path in (self.ledger, self.calls, self.control, self.regrades)
        }

    def described(self) -> dict[str, Path]:
        """Return the files of `meta/` that say what the run is, by their paths in the run directory."""
        found = (self.config_snapshot, self.manifest, self.env, self.git, self.salts)
        return {path.relative_to(self.path).as_posix(): path for path in found}

    @property
    def run_log(self) -> Path:
        """What a detached runner says."""
        return self.path / "run.log"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"

    @property
    def llm(self) -> Path:
        return self.path / "llm"

    @property
    def calls(self) -> Path:
        return self.llm / "calls.jsonl"

    @property
    def ledger(self) -> Path:
        return self.llm / "ledger.jsonl"

    @property
    def llm_blobs(self) -> Path:
        return self.llm / "blobs"

    @property
    def jobs(self) -> Path:
        return self.path / "jobs"

    @property
    def attempts(self) -> Path:
        return self.path / "attempts"

    @property
    def incoming(self) -> Path:
        """Files of jobs that their executor has not put into `jobs` yet: of no worth to a runner that follows, and cleared by it."""
        return self.path / "incoming"

    @property
    def results_csv(self) -> Path:
        return self.path / "results.csv"

    @property
    def leaderboard_csv(self) -> Path:
        return self.path / "leaderboard.csv"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    def create(self) -> RunLayout:
        """Create the run's folder so that it survives a power cut, and return it; an existing one is fine.

        Raises:
            RunDirError: when that cannot be done.
        """
        try:
            for folder in (self.meta, self.jobs):
                files.make_dir(folder)
            files.sync_folder(self.path)
            files.sync_folder(self.path.parent)
        except OSError as err:
            raise RunDirError(
                f"run directory `{self.path}` cannot be created: {err.strerror}",
                hint="trace-bench run … --runs-dir DIR",
            ) from err
        return self

    def job(self, job_id: str) -> JobLayout:
        """Return the layout of one job's folder, whether or not it exists."""
        return JobLayout(self.jobs / job_id)

    def journal(self, worker: str) -> Path:
        """Return the journal of one writer."""
        return self.path / f"journal-{worker}.jsonl"

    def journals(self) -> list[Path]:
        """Return the journals that exist, by name."""
        return sorted(self.path.glob("journal-*.jsonl"))

    def job_folders(self) -> Iterator[JobLayout]:
        """Yield the job folders that exist, by name."""
        return map(self.job, self.job_ids())

    def job_ids(self) -> Iterator[str]:
        """Yield the names of the job folders that exist, in order: the ids of jobs."""
        if self.jobs.is_dir():
            yield from sorted(entry.name for entry in os.scandir(self.jobs) if entry.is_dir())
