"""Writes the files of `meta/` that are written once: config snapshot, environment, git state, index of files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tracebench_core.specs import JobSpec, RunConfig
from tracebench_core.store import files
from tracebench_core.store.environment import GitState, read_environment
from tracebench_core.store.layout import JobLayout, RunLayout

_CHUNK = 1 << 20


def write_config(layout: RunLayout, config: RunConfig) -> None:
    """Write the resolved config. It names the variables that hold keys; keys themselves have no place in a config."""
    files.make_dir(layout.meta)
    text: str = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    files.write_whole(layout.config_snapshot, text.encode("utf-8", "backslashreplace"), durable=True)


def write_environment(layout: RunLayout, *, git: GitState, secrets: Iterable[str] = (), isolation: str = "") -> None:
    """Write `env.json` and `git.json`; `secrets` are names of variables that are told as set or unset only.

    `isolation` is how this machine holds untrusted code, empty for a run that has none.
    """
    files.make_dir(layout.meta)
    files.write_whole(layout.env, _json({**read_environment(secrets=secrets), "isolation": isolation}))
    files.write_whole(layout.git, _json(git.as_json()))


def write_job_meta(layout: JobLayout, job: JobSpec, *, status: str, extra: dict[str, Any] | None = None) -> None:
    """Write `job_meta.json`: the job as it was planned, its status (`running` until it ends), and what `extra` adds.

    Not flushed: the job's commit does that.
    """
    content = {**job.model_dump(mode="json"), **(extra or {}), "status": status}
    files.write_whole(layout.meta, _json(content))


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of a run as the index knows it."""

    path: str
    """Relative to the run directory, with `/`."""
    size: int
    sha256: str


def write_files_index(layout: RunLayout) -> None:
    """List every file of the run with its size and SHA-256, one line each, but for those that `iter_paths` leaves out."""
    files.make_dir(layout.meta)
    files.write_whole(layout.files_index, _index_lines(iter_files(layout)))


def iter_files(layout: RunLayout) -> Iterator[IndexedFile]:
    """Yield the files of a run as they are now, by path."""
    for path in iter_paths(layout):
        try:
            size, digest = _measure(path)
        except FileNotFoundError:
            continue  # a job that is still going on replaced it
        yield IndexedFile(path.relative_to(layout.path).as_posix(), size, digest)


def iter_paths(layout: RunLayout) -> Iterator[Path]:
    """Yield the paths of a run's files, by name within each folder, without the index, the lock, the log and temporary files."""
    left_out = {layout.files_index, layout.lock, layout.run_log}  # the log goes on after the index is written
    for folder, folders, names in os.walk(layout.path):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path not in left_out and not name.endswith(files.TEMPORARY_SUFFIX) and path.is_file():
                yield path


def read_files_index(layout: RunLayout) -> list[IndexedFile] | None:
    """Return the index as it was written, or None when there is none that can be read."""
    try:
        return [IndexedFile(**entry) for entry in json.loads(layout.files_index.read_bytes())["files"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _index_lines(entries: Iterable[IndexedFile]) -> Iterator[bytes]:
    yield b'{\n  "files": [\n'
    separator = b"    "
    for entry in entries:
        line = json.dumps({"path": entry.path, "size": entry.size, "sha256": entry.sha256})
        yield separator + line.encode()
        separator = b",\n    "
    yield b"\n  ]\n}\n"


def _measure(path: Path) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=True).encode() + b"\n"
