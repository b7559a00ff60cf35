"""Writes the tables of a run for other programs: CSV, JSON Lines, Parquet, a DuckDB database."""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TextIO

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_runs.ioh import write_ioh
from tracebench_runs.reading.fields import Column, Kind, printable
from tracebench_runs.reading.reader import Run
from tracebench_runs.reading.tabular import SPECS, TABLES, Row, TableName

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
    if target.exists():
        raise UsageError(f"`{target}` exists already.", hint="trace-bench export RUN --format FORMAT --to ANOTHER")
    with _whole(target) as partial:
        _WRITERS[format_](run, partial)
    return [target] if target.is_file() else sorted(path for path in target.rglob("*") if path.is_file())


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` that takes its name at the end; what an error leaves there is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        partial = Path(folder, target.name)
        yield partial
        partial.rename(target)


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
