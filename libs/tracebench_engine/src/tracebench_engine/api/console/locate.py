"""Find the run or job that a user names: by path, by id, or by the start of an id."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tracebench_core.errors import OutputError, RunDirError, UsageError
from tracebench_core.ids import did_you_mean

DEFAULT_RUNS_DIR = "runs"
RECORDED = "recording:"
"""What the name of a recorded run that is installed begins with, where a run is only read."""


def find_run(name: str, *, runs_dir: str | None = None) -> Path:
    """Return the directory of a run.

    Raises:
        RunDirError: there is no such run, or several could be meant.
    """
    if is_run(Path(name)):
        return Path(name)
    folder = Path(runs_dir or DEFAULT_RUNS_DIR)
    runs = {path.name: path for path in sorted(folder.glob("*")) if is_run(path)} if folder.is_dir() else {}
    return runs[_chosen(name, list(runs), what="run", where=folder)]


def find_to_read(name: str, *, runs_dir: str | None = None) -> Path:
    """Return the directory of a run that is only read: `find_run`'s, or of `recording:NAME`, unpacked beside the runs on first use.

    Raises:
        RunDirError, UsageError: there is no such run, no distribution offers such a recording, or it is damaged.
        OutputError: it cannot be unpacked there.
    """
    if not name.startswith(RECORDED):
        return find_run(name, runs_dir=runs_dir)
    from tracebench_engine.api.rundirs.demos import demo_named, unpacked

    demo, folder = demo_named(name.removeprefix(RECORDED)), Path(runs_dir or DEFAULT_RUNS_DIR)
    try:
        return unpacked(demo, folder)
    except OSError as err:
        raise OutputError(f"`{folder}` cannot be written: {err.strerror}.", hint="--runs-dir DIR") from err


def find_job(name: str, *, runs_dir: str | None = None) -> Path | None:
    """Return the directory of a job, by path or by id in any run of `runs_dir`; None when no job is called so.

    Raises:
        RunDirError: jobs of several runs are called so.
    """
    path = Path(name)
    if path.parent.name == "jobs" and is_run(path.parent.parent):
        return path
    found = sorted(Path(runs_dir or DEFAULT_RUNS_DIR).glob(f"*/jobs/{name}")) if name.isalnum() else []
    if len(found) > 1:
        raise RunDirError(
            f"Job `{name}` is in {len(found)} runs: {', '.join(p.parent.parent.name for p in found)}.",
            hint=shlex.join(["trace-bench", "show", str(found[-1])]),
        )
    return found[0] if found else None


def is_run(path: Path) -> bool:
    """Tell whether a folder is a run directory."""
    return (path / "meta" / "manifest.json").is_file() or (path / "mirror.zip").is_file()


def spare_runs(out: Path) -> None:
    """Refuse to write a result over what a run keeps.

    Raises:
        UsageError: when a file is one of a run's own, there or not.
    """
    from tracebench_engine.api.records import RunLayout  # only where something is written

    place = Path(os.path.realpath(out))
    try:
        run = next((folder for folder in place.parents if is_run(folder)), None)
    except OSError:  # whoever writes there tells it
        return
    if run is None:
        return
    layout = RunLayout(run)
    own = {
        layout.meta, layout.jobs, layout.llm, layout.attempts, layout.incoming, layout.lost_and_found, layout.mirror, layout.control,
        layout.regrades, layout.results_csv, layout.leaderboard_csv, layout.summary, layout.run_log, layout.lock, *layout.journals(),
    }  # fmt: skip
    if run / place.relative_to(run).parts[0] in own:
        raise UsageError(
            f"`{out}` is of the run `{run.name}`, and only the run itself writes there.", hint=f"--output {place.name}"
        )


def _with_whole_id(name: str, run_id: str) -> str:
    """Return the command that was typed with the id of a run in place of the start of it."""
    typed = sys.argv[1:] if name in sys.argv[2:] else ["show", name]
    return shlex.join(["trace-bench", typed[0], *(run_id if word == name else word for word in typed[1:])])


def _chosen(name: str, known: Sequence[str], *, what: str, where: Path) -> str:
    if name in known:
        return name
    matches = [k for k in known if name and k.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise RunDirError(
            f"`{name}` could be any of {len(matches)} runs: {', '.join(f'`{m}`' for m in matches[:5])}.",
            hint=_with_whole_id(name, matches[-1]),
        )
    look = f"ls {shlex.quote(str(where))}" if where.is_dir() else "trace-bench runs"
    if Path(name).exists():
        raise RunDirError(f"`{name}` is not a run directory: it has no `meta/manifest.json`.", hint=look)
    raise UsageError(f"There is no {what} `{name}` in `{where}`.{did_you_mean(name, known)}", hint=look)
