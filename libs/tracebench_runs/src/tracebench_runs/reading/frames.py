"""Tables of a run as data frames: pandas, polars, or a plain dict of columns where neither is installed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_runs.reading.fields import Column, Kind
from tracebench_runs.reading.tabular import Row

Library = Literal["pandas", "polars", "columns"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "columns")
_PANDAS: dict[Kind, str] = {
    "text": "string",
    "json": "string",
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
}
_POLARS: dict[Kind, str] = {
    "text": "String",
    "json": "String",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "Boolean",
}


def make_frame(columns: tuple[Column, ...], rows: Iterable[Row], *, library: Library | None) -> Any:
    """Return rows as a frame of `library`; when None, of pandas if it is installed, else of polars, else a dict of lists.

    Raises:
        MissingRequirementError: when the library is asked for by name and not installed.
        UsageError: when there is no such library.
    """
    if library is not None and library not in LIBRARIES:
        raise UsageError(
            f"`{library}` makes no data frames.{did_you_mean(library, LIBRARIES)}", hint="pandas, polars or columns"
        )
    chosen: str = library or next((name for name in LIBRARIES if name == "columns" or find_spec(name)), "columns")
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    if chosen == "columns":
        return {column.name: list(values) for column, values in zip(columns, cells, strict=True)}
    try:
        module = import_module(chosen)
    except ImportError as err:
        raise MissingRequirementError(
            f"`{chosen}` is not installed.", hint=f"pip install 'tracebench-engine[{chosen}]'"
        ) from err
    make = _pandas if chosen == "pandas" else _polars
    return make(module, columns, cells)


def _pandas(pandas: Any, columns: tuple[Column, ...], cells: list[tuple[Any, ...]]) -> Any:
    return pandas.DataFrame(
        {
            column.name: pandas.Series(list(values), dtype=_PANDAS[column.kind])
            for column, values in zip(columns, cells, strict=True)
        }
    )


def _polars(polars: Any, columns: tuple[Column, ...], cells: list[tuple[Any, ...]]) -> Any:
    schema = {column.name: getattr(polars, _POLARS[column.kind]) for column in columns}
    return polars.DataFrame([list(values) for values in cells], schema=schema, orient="col")
