"""The index of a folder of runs: a SQLite file beside nothing that matters, made of each run's small files, and thrown away at will.

A run is read again when one of the files it was read from changed; nothing else is opened. Where no file can be kept the index lives in
memory.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import yaml

from tracebench_core.errors import TraceBenchError
from tracebench_core.ids import content_hash
from tracebench_engine.api.records import RunLayout, iter_job_lines, open_regular, read_head, read_whole

VERSION = 3
SHOWN_TEXT = 400
"""Characters of an error or a reason that the index keeps."""
JOB_COLUMNS = {
    "job_id": "job_id", "task": "task_id", "trainer": "trainer_id", "params": "params", "seed": "seed", "mode": "mode",
    "model": "llm_model", "status": "status", "stop_reason": "stop_reason", "initial": "score_val_initial",
    "best": "score_val_best", "test": "score_test", "evaluations": "evaluations", "llm_calls": "llm_calls",
    "prompt_tokens": "prompt_tokens", "completion_tokens": "completion_tokens", "usd": "usd", "seconds": "time_seconds",
    "error_type": "error_type", "feedback": "feedback", "isolation": "isolation", "started_at": "started_at", "ended_at": "ended_at",
}  # fmt: skip
"""Columns of the index by those of `results.csv`."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HERE = RunLayout(Path())
_WATCHED = tuple(map(str, (_HERE.manifest, _HERE.mirror, _HERE.results_csv, _HERE.summary)))
"""What a run is read from, in its folder."""
_REAL = {"initial", "best", "test", "usd", "seconds"}
_WHOLE = {"seed", "evaluations", "llm_calls", "prompt_tokens", "completion_tokens"}
RUN_COLUMNS = (
    "name", "run_id", "created_at", "mode", "tags", "tasks", "trainers", "models", "protection", "jobs", "counts",
    "exit_code", "wall_seconds", "evaluations", "llm_calls", "tokens", "usd", "budget", "problem", "stamp",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What one look at the folder found."""

    read: tuple[str, ...]
    """Runs that were read, for they are new or changed."""
    gone: tuple[str, ...]
    left: int
    """Runs that are still to be read, for time was up."""


class Index:
    """Rows about the runs of one folder and their jobs. Thread-safe."""

    def __init__(self, runs_dir: Path, *, file: Path | None) -> None:
        self._runs_dir = runs_dir
        self._lock = threading.RLock()
        self._db = _open(file)

    def refresh(self, *, seconds: float = 1e9) -> Refreshed:
        """Read the runs that are new or changed, the latest first, for at most some `seconds`.

        Raises:
            OSError: when the folder cannot be listed.
        """
        with self._lock:
            deadline = time.monotonic() + seconds
            stamps = {name: stamp for name, path in _folders(self._runs_dir) if (stamp := _stamp(path))}
            known = dict(self._db.execute("select name, stamp from runs"))
            gone = tuple(known.keys() - stamps.keys())
            stale = sorted((name for name, stamp in stamps.items() if known.get(name) != stamp), reverse=True)
            read: list[str] = []
            with self._db:
                for name in gone:
                    self._forget(name)
                for name in stale:
                    if read and time.monotonic() > deadline:
                        break
                    self._take(name, stamps[name])
                    read.append(name)
            return Refreshed(tuple(read), gone, len(stale) - len(read))

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Return what a query finds."""
        with self._lock:
            cursor = self._db.execute(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def kept(self, key: str) -> Any:
        """Return a document that was kept under a key, or None."""
        found = self.rows("select body from documents where key = ?", key)
        return json.loads(found[0]["body"]) if found else None

    def keep(self, key: str, document: Any) -> None:
        """Keep a document; the oldest go when there are many."""
        with self._lock, self._db:
            self._db.execute(
                "insert or replace into documents values (?, ?, ?)", (key, time.time(), json.dumps(document))
            )
            self._db.execute(
                "delete from documents where key not in (select key from documents order by at desc limit 200)"
            )

    def note_verdict(self, name: str, stamp: str, sentence: str) -> None:
        """Keep what the comparison of a run says, for as long as the run is as `stamp` says."""
        with self._lock, self._db:
            self._db.execute("insert or replace into verdicts values (?, ?, ?)", (name, stamp, sentence))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _take(self, name: str, stamp: str) -> None:
        layout = RunLayout(self._runs_dir / name)
        self._forget(name)
        try:
            run, jobs = read_rows(layout)
        except (TraceBenchError, OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as err:
            run, jobs = {"problem": f"{err}"[:SHOWN_TEXT] or type(err).__name__}, []
        row = {**dict.fromkeys(RUN_COLUMNS), "run_id": name, **run, "name": name, "stamp": stamp}
        self._db.execute(_insert("runs", RUN_COLUMNS), [_cell(row[column]) for column in RUN_COLUMNS])
        self._db.executemany(
            _insert("jobs", ("name", *JOB_COLUMNS)), [(name, *(job[column] for column in JOB_COLUMNS)) for job in jobs]
        )

    def _forget(self, name: str) -> None:
        self._db.execute("delete from runs where name = ?", (name,))
        self._db.execute("delete from jobs where name = ?", (name,))


def index_file(runs_dir: Path) -> Path:
    """Return where the index of a folder is kept: among this user's caches."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "trace-bench" / f"viewer-{content_hash(os.fsencode(runs_dir.resolve()))[:16]}.sqlite"


def _open(file: Path | None) -> sqlite3.Connection:
    """Open the index, anew when it is of another version or damaged; in memory where it cannot be kept."""
    if file is not None:
        for _ in range(2):
            try:
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                return _prepared(sqlite3.connect(file, check_same_thread=False, timeout=10))
            except sqlite3.DatabaseError as err:
                if "locked" in str(err):
                    break
                with suppress(OSError):
                    file.unlink()
            except OSError:
                break
    return _prepared(sqlite3.connect(":memory:", check_same_thread=False))


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = off")  # what is lost is read again
    if db.execute("pragma user_version").fetchone()[0] != VERSION:
        with db:
            for table in ("runs", "jobs", "documents", "verdicts"):
                db.execute(f"drop table if exists {table}")
            db.execute(f"create table runs ({', '.join(RUN_COLUMNS)}, primary key (name))")
            db.execute(f"create table jobs (name, {', '.join(JOB_COLUMNS)}, primary key (name, job_id))")
            db.execute("create index jobs_by_status on jobs (status)")
            db.execute("create table documents (key primary key, at real, body)")
            db.execute("create table verdicts (name primary key, stamp, sentence)")
            db.execute(f"pragma user_version = {VERSION}")
    return db


def _folders(runs_dir: Path) -> Iterator[tuple[str, str]]:
    with os.scandir(runs_dir) as entries:
        yield from ((entry.name, entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _stamp(run_dir: str) -> str:
    """Return what tells whether a run changed, empty when a folder is no run."""
    found = [_state(f"{run_dir}/{name}") for name in _WATCHED]
    return ";".join(found) if found[0] or found[1] else ""


def _state(path: str) -> str:
    try:
        state = os.stat(path)  # noqa: PTH116 - thousands at a time: a path as an object costs ten times the look
    except OSError:
        return ""
    return f"{state.st_mtime_ns}:{state.st_size}:{state.st_ino}"


def read_rows(layout: RunLayout) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a run and its jobs in plan order as the index keeps them.

    Raises:
        TraceBenchError, OSError, ValueError, KeyError, TypeError, AttributeError: when the folder is damaged or is no run.
    """
    head = read_head(layout)
    planned = [json.loads(line) for line in iter_job_lines(layout)]
    ended = {job["job_id"]: job for job in _results(layout.results_csv)}
    jobs = [ended.get(job["job_id"]) or _not_run(job) for job in planned]
    summary = _summary(layout.summary)
    usage = summary.get("usage", {}).get("total", {})
    first = planned[0] if planned else {}
    run = {
        "run_id": head.get("run_id"),
        "created_at": head.get("created_at"),
        "mode": first.get("mode"),
        "tags": _tags(layout.config_snapshot),
        "tasks": sorted({job["task_id"] for job in planned}),
        "trainers": sorted({_called(job) for job in planned}),
        "models": sorted({m["model"] for job in planned for m in job.get("models", {}).values()}),
        "protection": ", ".join(sorted({job["isolation"] for job in jobs if job["isolation"]})),
        "jobs": len(planned),
        "counts": dict(Counter(job["status"] for job in jobs)),
        "exit_code": summary.get("exit_code"),
        "wall_seconds": summary.get("wall_seconds"),
        "evaluations": sum(job["evaluations"] or 0 for job in jobs),
        "llm_calls": usage.get("llm_calls"),
        "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0) if usage else None,
        "usd": usage.get("usd"),
        "budget": {axis: cap for axis, cap in (first.get("budget") or {}).items() if cap is not None},
    }
    return run, jobs


def _results(path: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(sys.maxsize)
    with suppress(OSError), TextIOWrapper(open_regular(path), "utf-8", "replace", newline="") as lines:
        for row in csv.DictReader(lines):
            told = {name: _value(name, row.get(source)) for name, source in JOB_COLUMNS.items()}
            yield told | {"trainer": row.get("label") or told["trainer"]}


def _called(job: Mapping[str, Any]) -> str:
    """Return what people read of a planned job's trainer: see `JobSpec.called`."""
    return str(job.get("label") or job["trainer_id"])


def _not_run(job: Mapping[str, Any]) -> dict[str, Any]:
    model = next((m["model"] for m in job.get("models", {}).values()), None)
    known = {"task": job["task_id"], "trainer": _called(job), "params": json.dumps(job["params"]), "model": model}
    given = {name: job[name] for name in ("job_id", "seed", "mode")}
    return {**dict.fromkeys(JOB_COLUMNS), **known, **given, "status": "not_run"}


def _value(name: str, text: str | None) -> Any:
    if not text:
        return None
    try:
        if name in _WHOLE:
            return int(text)
        return float(text) if name in _REAL else text[:SHOWN_TEXT] if name == "feedback" else text
    except ValueError:
        return None


def _tags(path: Path) -> list[str]:
    try:
        found = yaml.load(read_whole(path), Loader=_LOADER)["tags"]  # noqa: S506 - a safe one
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return []
    return [str(tag) for tag in found] if isinstance(found, list) else []


def _summary(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_whole(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _insert(table: str, columns: tuple[str, ...]) -> str:
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    return f"insert or replace into {table} ({names}) values ({marks})"  # noqa: S608 - names of ours alone


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
