"""What the list pages ask: the runs with their state, their jobs, and what failed, from the index and the runs under way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError
from tracebench_engine.api.records import LiveRun, RunLayout, live_runs
from tracebench_viewer.following import Followed
from tracebench_viewer.index import Index, Refreshed, index_file
from tracebench_viewer.verdicts import Verdicts

PATIENCE = 1.0
"""Seconds between two looks at the folder, at the least, and seconds that one may take."""
SOON = 0.2
"""Seconds that the first look may take, so that a page stands soon, and seconds until the next where runs are left to be read."""
FAILED = ("failed", "timeout", "cancelled", "skipped")
_LISTS = ("tags", "tasks", "trainers", "models")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs are wanted; empty is no wish."""

    tasks: Sequence[str] = ()
    trainers: Sequence[str] = ()
    models: Sequence[str] = ()
    tags: Sequence[str] = ()
    text: str = ""

    def takes(self, run: dict[str, Any]) -> bool:
        """Tell whether a run is wanted."""
        wishes = {"tasks": self.tasks, "trainers": self.trainers, "models": self.models, "tags": self.tags}
        return all(not wish or {*wish} & {*run[name]} for name, wish in wishes.items()) and (
            self.text.casefold() in f"{run['name']} {run['run_id']}".casefold()
        )


class Shelf:
    """The runs of one folder as they are now. Thread-safe; one for all sessions."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self.index = Index(runs_dir, file=index_file(runs_dir))
        self.verdicts = Verdicts(runs_dir, self.index)
        self.followed = Followed()
        self.last = Refreshed((), (), 0)
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._live: dict[str, LiveRun] = {}

    def look(self, *, now: bool = False) -> Refreshed:
        """See what is new, unless that was done a moment ago and it need not be `now`.

        Which runs are under way is asked first: one that ends meanwhile is read at the next look, never half written as ended.

        Raises:
            RunDirError: when the folder is gone or closed.
        """
        with self._lock:
            if now or time.monotonic() - self._looked >= (SOON if self.last.left else PATIENCE):
                live = {Path(run.run_dir).name: run for run in _alive(self.runs_dir)}
                try:
                    self.last = self.index.refresh(seconds=PATIENCE if self._looked > 0 else SOON)
                except OSError as err:
                    raise RunDirError(
                        f"`{self.runs_dir}` cannot be read: {err.strerror}.", hint="trace-bench ui --runs-dir DIR"
                    ) from err
                self._live = live
                self._looked = time.monotonic()
            return self.last

    def runs(self, wanted: Filter | None = None) -> list[dict[str, Any]]:
        """Return the runs, the latest first, with `state`, `done`, `running` and `idle` (seconds since anything was written)."""
        rows = self.index.rows("select * from runs order by coalesce(created_at, '') desc, name desc")
        runs = [self._told(row) for row in rows]
        return [run for run in runs if wanted is None or wanted.takes(run)]

    def run(self, name: str) -> dict[str, Any] | None:
        """Return one run, None when there is none of that name."""
        rows = self.index.rows("select * from runs where name = ?", name)
        return self._told(rows[0]) if rows else None

    def jobs(self, name: str) -> list[dict[str, Any]]:
        """Return the jobs of a run in plan order; one under way is `running`."""
        live = self._live.get(name)
        running = set(live.running) if live is not None else set()
        rows = self.index.rows("select * from jobs where name = ? order by rowid", name)
        return [row | ({"status": "running"} if row["job_id"] in running else {}) for row in rows]

    def failures(self) -> list[dict[str, Any]]:
        """Return what failed, in groups by error, task and trainer, the largest first, each with its runs and one reason."""
        rows = self.index.rows(
            """select coalesce(error_type, status) as error, task, trainer, status, count(*) as jobs, max(feedback) as said,
                max(stop_reason) as stop_reason, json_group_array(distinct name) as runs, min(job_id) as job_id, min(name) as name,
                max(error_type) as error_type
                from jobs where status in (select value from json_each(?)) group by 1, 2, 3, 4 order by jobs desc""",
            json.dumps(FAILED),
        )
        return [row | {"runs": sorted(json.loads(row["runs"]))} for row in rows]

    def choices(self, column: str, runs: Iterable[dict[str, Any]]) -> list[str]:
        """Return every value that runs have in a column that lists several."""
        return sorted({value for run in runs for value in run[column]})

    def live(self, name: str) -> LiveRun | None:
        """Return a run under way, None when it is not."""
        return self._live.get(name)

    def _told(self, row: dict[str, Any]) -> dict[str, Any]:
        lists = {name: json.loads(row[name] or "[]") for name in _LISTS}
        counts = json.loads(row["counts"] or "{}")
        live = self._live.get(row["name"])
        planned = row["jobs"] or 0
        done = planned - counts.get("not_run", 0) if live is None else live.done
        return row | lists | {
            "counts": counts, "budget": json.loads(row["budget"] or "{}"), "done": done, "state": _state(row, live),
            "running": list(live.running) if live is not None else [],
            "idle": _idle(self.runs_dir / row["name"], live.running) if live is not None else None,
        }  # fmt: skip


def _alive(runs_dir: Path) -> list[LiveRun]:
    here = runs_dir.resolve()
    return [run for run in live_runs(runs_dir) if Path(run.run_dir).parent == here]


def _state(row: dict[str, Any], live: LiveRun | None) -> str:
    if live is not None:
        return live.state.partition(":")[0]
    if row["problem"]:
        return "unreadable"
    return "stopped" if row["exit_code"] is None or json.loads(row["counts"]).get("not_run") else "ended"


def _idle(run_dir: Path, running: Sequence[str]) -> float | None:
    """Return for how long no job under way has written anything, in seconds; None where nothing was written at all."""
    layout = RunLayout(run_dir)
    times = []
    for job_id in running:
        try:
            times.append(layout.job(job_id).events.stat().st_mtime)
        except OSError:
            continue
    return max(0.0, time.time() - max(times)) if times else None
