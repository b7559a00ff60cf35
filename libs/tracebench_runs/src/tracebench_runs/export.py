"""Writes the tables of a run for other programs: CSV, JSON Lines, Parquet, a DuckDB database."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TextIO

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.ids import content_hash, suite_of
from tracebench_core.specs.events import BestChanged, CandidateSeen
from tracebench_runs.reading.fields import Column, Kind, printable
from tracebench_runs.reading.reader import Run
from tracebench_runs.reading.tabular import SPECS, TABLES, Row, TableName
from tracebench_runs.results.rows import GroupKey, TaskKey, group_of
from tracebench_runs.storage.drafts import draft_beside

LAYOUT_VERSION = "0.3.18"
"""Of the format's description that IOHexperimenter 0.3.18 writes."""
_NAME_LENGTH = 80


class Course(NamedTuple):
    """One job as a run of IOHprofiler."""

    seed: int
    evaluations: int
    points: tuple[tuple[int, float], ...]
    """Evaluations used, and the best score from there on."""
    dimension: int


def write_ioh(run: Run, folder: Path) -> None:
    """Write the folder; a job that never had a best candidate has no course and is left out."""
    functions: dict[TaskKey, int] = {}
    courses: dict[GroupKey, list[Course]] = defaultdict(list)
    for job in run.planned:
        group = group_of(job)
        functions.setdefault(group.task, len(functions) + 1)
        course = _course(run, job.job_id, seed=job.seed)
        if course is not None:
            courses[group].append(course)
    folder.mkdir()
    for group, of_group in courses.items():
        name = _algorithm(group)
        _write_function(folder / _safe(name), name, group.task, number=functions[group.task], courses=of_group)


def _course(run: Run, job_id: str, *, seed: int) -> Course | None:
    points: list[tuple[int, float]] = []
    dimension = 0
    for event in run.events(job_id):
        if isinstance(event, BestChanged):
            points.append((max(1, event.used.evaluations), event.score))
        elif isinstance(event, CandidateSeen):
            dimension = dimension or len(event.values)
    if not points:
        return None
    return Course(
        seed, max(run.results[job_id].used.evaluations, points[-1][0]), tuple(dict(points).items()), dimension
    )


def _write_function(folder: Path, algorithm: str, task: TaskKey, *, number: int, courses: list[Course]) -> None:
    name = f"f{number}_{_safe(_function(task))}"
    scenarios: list[dict[str, Any]] = []
    by_dimension: dict[int, list[Course]] = defaultdict(list)
    for course in courses:
        by_dimension[course.dimension].append(course)
    (folder / f"data_{name}").mkdir(parents=True)
    for dimension, runs in sorted(by_dimension.items()):
        path = Path(f"data_{name}", f"IOHprofiler_f{number}_DIM{dimension}.dat")
        (folder / path).write_text("".join(map(_lines, runs)), encoding="utf-8")
        scenarios.append({"dimension": dimension, "path": path.as_posix(), "runs": [_run(course) for course in runs]})
    content = {
        "version": LAYOUT_VERSION,
        "suite": suite_of(task.task_id),
        "function_id": number,
        "function_name": _function(task),
        "maximization": True,
        "algorithm": {"name": algorithm, "info": "tracebench-core"},
        "run_attributes": ["seed"],
        "attributes": ["evaluations", "raw_y"],
        "scenarios": scenarios,
    }
    (folder / f"IOHprofiler_{name}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")


def _lines(course: Course) -> str:
    points = [*course.points]
    if points[-1][0] < course.evaluations:
        points.append((course.evaluations, points[-1][1]))
    return "".join(["evaluations raw_y\n", *(f"{used} {score!r}\n" for used, score in points)])


def _run(course: Course) -> dict[str, Any]:
    used, score = course.points[-1]
    best = {"evals": used, "y": score, "x": []}
    return {"instance": 1, "seed": course.seed, "evals": course.evaluations, "best": best}


def _algorithm(group: GroupKey) -> str:
    return " ".join(
        part for part in (group.trainer_id, group.params if group.params != "{}" else "", group.optimizer) if part
    )


def _function(task: TaskKey) -> str:
    parts = (task.task_id, task.guide, task.eval_kwargs if task.eval_kwargs != "{}" else "")
    return " ".join(part for part in parts if part)


def _safe(name: str) -> str:
    """Return a name that a file may have; one that had to be changed ends with a hash of itself, so that two never meet."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:_NAME_LENGTH]
    return plain if plain == name else f"{plain}-{content_hash(name.encode())[:8]}"


Format = Literal["parquet", "csv", "jsonl", "duckdb", "ioh"]
_SQL: Mapping[Kind, str] = MappingProxyType(
    {"text": "VARCHAR", "json": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
)
_LONGEST_LINE = 1 << 30
"""Bytes of one row that DuckDB accepts."""


def export_run(run: Run, target: Path, *, format_: Format) -> list[Path]:
    """Write a run's tables and return the paths written: a database, or a file for each table in the folder `target`.

    `ioh` writes the course of every job's best score in the format of IOHprofiler, a folder for each algorithm.

    Raises:
        MissingRequirementError: when DuckDB is needed, for `duckdb` and `parquet`, and not installed.
        UsageError: when `target` exists already.
    """
    if os.path.lexists(target):
        raise _taken(target)
    with _whole(target) as partial:
        _WRITERS[format_](run, partial)
    return [target] if target.is_file() else sorted(path for path in target.rglob("*") if path.is_file())


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` that takes its name at the end; what an error leaves there is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with draft_beside(target) as partial:
        yield partial
        try:
            if partial.is_dir():
                partial.rename(target)  # never over a folder that holds something
            else:
                os.link(partial, target)  # a rename would take the place of what came meanwhile
        except FileExistsError as err:
            raise _taken(target) from err
        except OSError as err:
            if os.path.lexists(target):
                raise _taken(target) from err
            if partial.is_dir() or err.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}:
                raise
            partial.rename(target)  # a file system without links


def _taken(target: Path) -> UsageError:
    return UsageError(f"`{target}` exists already.", hint="trace-bench export RUN --format FORMAT --to ANOTHER")


def _write_csv(run: Run, folder: Path) -> None:
    def sink(file: TextIO, columns: tuple[Column, ...]) -> Callable[[Row], object]:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        return writer.writerow

    _write_files(run, folder, suffix="csv", sink=sink)


def _write_jsonl(run: Run, folder: Path) -> None:
    def sink(file: TextIO, columns: tuple[Column, ...]) -> Callable[[Row], object]:
        names = [column.name for column in columns]

        def write(cells: Row) -> object:
            return file.write(
                json.dumps(dict(zip(names, map(_json_cell, cells), strict=True)), ensure_ascii=False) + "\n"
            )

        return write

    _write_files(run, folder, suffix="jsonl", sink=sink)


def _write_files(
    run: Run, folder: Path, *, suffix: str, sink: Callable[[TextIO, tuple[Column, ...]], Callable[[Row], object]]
) -> None:
    """Write one file for each table, all in one pass over the run."""
    folder.mkdir()
    with ExitStack() as stack:
        writes: dict[TableName, Callable[[Row], object]] = {}
        for name in TABLES:
            path = folder / f"{name}.{suffix}"
            file = stack.enter_context(path.open("w", encoding="utf-8", errors="backslashreplace", newline=""))
            writes[name] = sink(file, SPECS[name].columns)
        for name, cells in run.tables.all_rows():
            writes[name](cells)


def _write_duckdb(run: Run, target: Path) -> None:
    with _duckdb().connect(str(target)) as database:
        for name, rows in _staged(run, target.parent):
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM {rows}")  # noqa: S608 - our own names


def _write_parquet(run: Run, folder: Path) -> None:
    database = _duckdb().connect()
    folder.mkdir()
    with database:
        for name, rows in _staged(run, folder.parent):
            file = _quoted(folder / f"{name}.parquet")
            database.execute(f"COPY (SELECT * FROM {rows}) TO {file} (FORMAT parquet, COMPRESSION zstd)")  # noqa: S608


def _staged(run: Run, folder: Path) -> Iterator[tuple[TableName, str]]:
    """Yield each table with the SQL that reads it, by way of JSON Lines: DuckDB reads those faster than it takes rows."""
    staging = folder / "staging"
    _write_jsonl(run, staging)
    for name in TABLES:
        types = ", ".join(f"{_quoted(c.name)}: '{_SQL[c.kind]}'" for c in SPECS[name].columns)
        file = _quoted(staging / f"{name}.jsonl")
        yield (
            name,
            f"read_json({file}, format='newline_delimited', columns={{{types}}}, maximum_object_size={_longest(staging, name)})",
        )
    shutil.rmtree(staging)


def _longest(staging: Path, name: str) -> int:
    with (staging / f"{name}.jsonl").open("rb") as lines:
        return min(_LONGEST_LINE, max(map(len, lines), default=0) + 1024)


def _duckdb() -> Any:  # an optional library
    try:
        return import_module("duckdb")
    except ImportError as err:
        raise MissingRequirementError(
            "`duckdb` is not installed; it writes Parquet and its own databases.",
            hint="pip install 'tracebench-engine[export]'; csv, jsonl and ioh need nothing",
        ) from err


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _json_cell(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


_WRITERS: Mapping[Format, Callable[[Run, Path], None]] = MappingProxyType(
    {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet, "duckdb": _write_duckdb, "ioh": write_ioh}
)
FORMATS: tuple[Format, ...] = tuple(_WRITERS)
