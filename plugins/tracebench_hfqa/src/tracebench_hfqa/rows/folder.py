"""Rows from a local folder: json, jsonl or parquet, named for its splits or one file for all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families.family import RowError
from tracebench_hfqa.rows.shapes import SHAPES, Row, flattened, rows_of

ENDINGS = (".parquet", ".jsonl", ".json", ".dev", ".train", ".test")
SAME = {"validation": ("validation", "valid", "val", "dev"), "train": ("train", "training"), "test": ("test",)}
STAND_IN = {"train": "validation", "test": "validation"}
"""Which split stands in for one that has no file."""
WHOLE = ("hf", "data", "all")


def files_for(root: Path, entry: Entry, split: str, *, subtask: str | None) -> list[Path]:
    """Return the files that hold a split (shards in order).

    Raises:
        ConfigError: when the folder holds no data of the task; the words list what it holds.
    """
    places = [p for p in _places(root, entry) if p.is_dir()]
    if subtask is not None:
        names = (
            f"{subtask}.jsonl",
            f"{subtask}.json",
            f"{subtask}.parquet",
            f"bbeh_{subtask}/task.json",
            f"{subtask}/task.json",
        )
        for place in places:
            found = [place / name for name in names if (place / name).is_file()]
            shards = (*sorted(place.glob(f"data/{subtask}-*.parquet")), *sorted(place.glob(f"{subtask}-*.parquet")))
            if found or shards:
                return found[:1] or [*shards]
        raise _nothing(root, entry, f"`{subtask}`", places)
    for place in places:
        files = sorted(f for f in (*place.glob("*"), *place.glob("data/*")) if f.suffix in ENDINGS and f.is_file())
        if chosen := _of_split(files, split) or _of_split(files, STAND_IN.get(split, "")) or _whole(files, entry):
            return chosen
    raise _nothing(root, entry, f"the split `{split}`", places)


def read_file(path: Path) -> Iterator[Row]:
    """Yield the rows of a file.

    Raises:
        ConfigError: naming the file and the line when it cannot be read, and its half-downloaded part.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise ConfigError(f"`{path}` cannot be read: {err}.", hint="download the file again") from err
    if text.startswith("version https://git-lfs"):
        raise ConfigError(f"`{path}` is a pointer of Git LFS, not the data.", hint="git lfs pull")
    if path.suffix == ".json":
        try:
            yield from rows_of(json.loads(text))
        except ValueError as err:
            known = isinstance(err, RowError)
            raise ConfigError(
                f"`{path}` {err}." if known else f"`{path}` is not JSON: {err}.",
                hint=SHAPES if known else "download the file again",
            ) from err
        return
    yield from _lines(path, text)


def _lines(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as err:
                raise ConfigError(f"`{path}`, line {number}: not JSON: {err}.", hint="download the file again") from err
            if not isinstance(row, dict):
                raise ConfigError(
                    f"`{path}`, line {number}: a row is a mapping of columns.", hint="one JSON object a line"
                )
            try:
                yield from flattened(row)
            except RowError as err:
                raise ConfigError(f"`{path}`, line {number}: the row {err}.", hint=SHAPES) from err


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - heavy, and only this needs it
    except ImportError as err:
        raise MissingRequirementError(
            f"`{path}` is a parquet file.", hint='pip install "tracebench-hfqa[parquet]"'
        ) from err
    try:
        yield from (flat for row in parquet.read_table(path).to_pylist() for flat in flattened(row))
    except RowError as err:
        raise ConfigError(f"`{path}` {err}.", hint=SHAPES) from err
    except (OSError, ValueError) as err:
        raise ConfigError(f"`{path}` cannot be read: {err}.", hint="download the file again") from err


def _places(root: Path, entry: Entry) -> list[Path]:
    """Return the folders in which a data set may lie, the most particular first."""
    owner_name, name = entry.dataset_id, entry.dataset_id.rsplit("/", 1)[-1]
    bases = [root / entry.id, root / owner_name, root / name, root / "benchmark_tasks", root / "bbeh"]
    inner = [b / part for b in bases for part in (entry.dataset_config, "benchmark_tasks") if part]
    others = [] if any(b.is_dir() for b in bases[:3]) else [root]
    return [*bases[:3], *inner, *(bases[3:] if entry.subtasks else ()), *others]


def _of_split(files: Sequence[Path], split: str) -> list[Path]:
    """Return the files whose name says the split; of several kinds of file the first kind."""
    words = SAME.get(split, ())
    whole = re.compile(
        rf"(?<![a-z0-9]){re.escape(split.lower())}(?![a-z0-9])"
    )  # `train_sft` is no word, and the name of a split
    named = [
        f
        for f in files
        if set(words) & set(re.split(r"[^a-z]+", f.name.lower())) or (split and whole.search(f.name.lower()))
    ]
    return _one_kind(named)


def _whole(files: Sequence[Path], entry: Entry) -> list[Path]:
    named = [f for f in files if f.stem in {*WHOLE, entry.id}]
    return _one_kind(named or (files if len({f.suffix for f in files}) == len(files) else ()))


def _one_kind(files: Sequence[Path]) -> list[Path]:
    kinds = sorted({f.suffix for f in files}, key=ENDINGS.index)
    return [f for f in files if f.suffix == kinds[0]] if kinds else []


def _nothing(root: Path, entry: Entry, wanted: str, places: Sequence[Path]) -> ConfigError:
    held = sorted({f.name for p in places for f in p.iterdir()})[:12] if places else []
    holds = f"; it holds {', '.join(f'`{h}`' for h in held)}" if held else ""
    return ConfigError(
        f"`hf:{entry.id}`: no file for {wanted} in `{places[0] if places else root / entry.id}`{holds}.",
        hint=f"put `{wanted.strip('`').split('`')[-1] or 'train'}.jsonl` there, or unset TRACEBENCH_HF_DATA",
    )
