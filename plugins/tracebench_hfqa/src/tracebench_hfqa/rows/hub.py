"""Rows from the hub, by `datasets`, in a process of its own with a deadline; kept as JSON Lines under the commit they came from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.rows.shapes import Row, flattened

DEADLINE = 600.0
DEADLINE_VARIABLE = "TRACEBENCH_HF_DEADLINE"
"""Seconds that one split may take to download."""
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
        target.parent.mkdir(exist_ok=True)
        (Path(part) / "rows.jsonl").replace(target)
        if entry.revision is None:
            (Path(part) / "revision").write_text(found, encoding="utf-8")
            (Path(part) / "revision").replace(pin)
    return target, found


def read_kept(path: Path) -> Iterator[Row]:
    """Yield the rows of a kept split."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield from flattened(json.loads(line))


def _download(entry: Entry, split: str, revision: str | None, *, into: Path) -> str:
    """Have a process download a split into `rows.jsonl`; return the commit."""
    seconds = float(os.environ.get(DEADLINE_VARIABLE) or DEADLINE)
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
            timeout=seconds,
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
