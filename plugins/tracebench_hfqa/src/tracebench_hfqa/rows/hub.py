"""Rows from the hub, by `datasets`, in a process of its own with a deadline; kept as JSON Lines under the commit they came from."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families.family import RowError
from tracebench_hfqa.rows.shapes import SHAPES, Row, flattened

DEADLINE = 600.0
DEADLINE_VARIABLE = "TRACEBENCH_HF_DEADLINE"
"""Seconds that one split may take to download."""
ENDLESS = 1e6
"""From so many seconds on there is no deadline: the system cannot be asked to wait longer."""
LAST = 400


def cache_root() -> Path:
    """Return the folder of what was downloaded."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "trace-bench" / "hf"


def open_split(entry: Entry, split: str) -> tuple[Path, str]:
    """Return the file of a split, downloaded on first use, and the commit it came from.

    Raises:
        ConfigError: when the hub cannot be reached, is too slow, or has no such data set, revision or split.
        MissingRequirementError: when `datasets` is not installed.
    """
    folder = cache_root() / entry.dataset_id.replace("/", "--") / (entry.dataset_config or "default")
    pin = folder / "revision"
    revision = entry.revision or (pin.read_text(encoding="utf-8").strip() if pin.is_file() else None)
    if revision and (kept := folder / revision / f"{split}.jsonl").is_file():
        return kept, revision
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="part-") as part:
        found = _download(entry, split, revision, into=Path(part))
        target = folder / found / f"{split}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)  # a revision may be `refs/convert/parquet`
        (Path(part) / "rows.jsonl").replace(target)
        if entry.revision is None:
            (Path(part) / "revision").write_text(found, encoding="utf-8")
            (Path(part) / "revision").replace(pin)
    return target, found


def read_kept(path: Path) -> Iterator[Row]:
    """Yield the rows of a kept split.

    Raises:
        ConfigError: naming the file and the line of a row in no known shape.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield from flattened(json.loads(line))
            except RowError as err:
                raise ConfigError(f"`{path}`, line {number}: the row {err}.", hint=SHAPES) from err


def deadline() -> float:
    """Return the seconds that one split may take.

    Raises:
        ConfigError: when the environment says what is no number above 0.
    """
    told = os.environ.get(DEADLINE_VARIABLE) or str(DEADLINE)
    try:
        seconds = float(told)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ConfigError(
            f"`{DEADLINE_VARIABLE}` is `{told}`, which is no number of seconds above 0.",
            hint=f"export {DEADLINE_VARIABLE}={DEADLINE:g}",
        )
    return seconds


def _download(entry: Entry, split: str, revision: str | None, *, into: Path) -> str:
    """Have a process download a split into `rows.jsonl`; return the commit."""
    seconds = deadline()
    order = json.dumps([entry.dataset_id, entry.dataset_config, split, revision, str(into / "rows.jsonl")])
    what = f"`hf:{entry.id}`: the split `{split}` of `{entry.dataset_id}`" + (f" at `{revision}`" if revision else "")
    hint = (
        "TRACEBENCH_HF_DATA=<folder> takes local files, TRACEBENCH_HF_SOURCE=sample the rows that come with the plugin"
    )
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "tracebench_hfqa.rows.downloading", order],
            capture_output=True,
            text=True,
            timeout=seconds if seconds < ENDLESS else None,
            check=False,
        )
    except subprocess.TimeoutExpired as err:
        raise ConfigError(f"{what} was not there after {seconds:g} seconds ({DEADLINE_VARIABLE}).", hint=hint) from err
    if done.returncode == 3:  # noqa: PLR2004 - the code for a missing extra
        raise MissingRequirementError(
            f"{what} needs the library `datasets`.", hint='pip install "tracebench-hfqa[datasets]"'
        )
    if done.returncode != 0:
        words = " ".join(done.stderr.strip().splitlines()[-1:])[-LAST:]
        raise ConfigError(f"{what} could not be downloaded: {words or f'exit code {done.returncode}'}.", hint=hint)
    return done.stdout.strip().splitlines()[-1]
