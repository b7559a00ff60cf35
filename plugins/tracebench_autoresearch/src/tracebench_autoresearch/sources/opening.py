"""From an experiment to its files: clone what is remote, take the snapshot, prepare once per revision."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tracebench_autoresearch.experiment import Prepare, SystemExperiment
from tracebench_autoresearch.sources.cache import cache, locked
from tracebench_autoresearch.sources.git import CLONE_SECONDS, git
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot, matches, read_entry, take_snapshot, write_files
from tracebench_core.errors import UsageError
from tracebench_engine.api.programs import passed

_TAIL = 2000


def open_snapshot(experiment: SystemExperiment) -> Snapshot:
    """Return all files of an experiment, prepared ones included.

    Raises:
        UsageError: when the repository cannot be read or a step of `prepare` fails.
    """
    place = locate(experiment)
    snapshot = take_snapshot(place, experiment.revision, guarded=experiment.editable)
    if experiment.prepare is None:
        return snapshot
    return snapshot.with_files(_prepared(experiment.prepare, snapshot))


def locate(experiment: SystemExperiment) -> Path:
    """Return the folder of the repository; a remote one is cloned into the cache, without a working tree, once."""
    if not experiment.is_remote:
        return Path(experiment.repo)
    place = cache() / "clones" / hashlib.sha256(experiment.repo.encode()).hexdigest()[:20]
    with locked(place):
        if place.is_dir() and _knows(place, experiment.revision or "HEAD"):
            return place
        if place.is_dir():
            git(place, "fetch", "--quiet", "--tags", "origin", "+refs/heads/*:refs/heads/*", seconds=CLONE_SECONDS)
            return place
        partial = Path(tempfile.mkdtemp(dir=place.parent))
        try:
            git(partial, "clone", "--quiet", "--bare", "--", experiment.repo, ".", seconds=CLONE_SECONDS)
            partial.rename(place)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return place


def _knows(place: Path, revision: str) -> bool:
    with suppress(UsageError):
        git(place, "cat-file", "-e", f"{revision}^{{commit}}")
        return True
    return False


def _prepared(prepare: Prepare, snapshot: Snapshot) -> dict[str, Entry]:
    key = hashlib.sha256(f"{snapshot.revision}\0{prepare.model_dump_json()}".encode()).hexdigest()[:24]
    place = cache() / "prepared" / key
    with locked(place):
        if not place.is_dir():
            _run_steps(prepare, snapshot, place)
    files = [p for p in sorted(place.rglob("*")) if p.is_file()]
    return {p.relative_to(place).as_posix(): read_entry(p) for p in files}


def _run_steps(prepare: Prepare, snapshot: Snapshot, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        work, kept = Path(scratch, "work"), Path(scratch, "kept")
        work.mkdir()
        kept.mkdir()
        write_files(snapshot, work)
        for number, step in enumerate(prepare.steps, start=1):
            _run_step(step, number, work, prepare.seconds)
        for path in (p for p in work.rglob("*") if p.is_file() and not p.is_symlink()):
            name = path.relative_to(work).as_posix()
            if matches(name, prepare.keep):
                (kept / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept / name)
        if not any(kept.iterdir()):
            raise UsageError(f"`prepare` made no file that matches {', '.join(f'`{g}`' for g in prepare.keep)}.")
        kept.rename(place)


def _run_step(step: tuple[str, ...], number: int, work: Path, seconds: float) -> None:
    argv = [sys.executable, *step[1:]] if step[0] == "python" else list(step)
    what = f"Step {number} of `prepare` (`{' '.join(step)}`)"
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(  # noqa: S603 - the experiment's own
                argv,
                cwd=work,
                env=passed(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as err:
            raise UsageError(f"{what} cannot be started: {err.strerror}.") from err
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired as err:
            raise UsageError(f"{what} took longer than {seconds:g} s.") from err
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
            raise UsageError(f"{what} ended with exit code {code}:\n{log.read().decode(errors='replace').strip()}")
