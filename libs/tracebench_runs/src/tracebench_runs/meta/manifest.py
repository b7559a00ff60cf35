"""`meta/manifest.json`: what the run is made of, with one line per job, so that 100,000 jobs stream in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.specs import JobSpec
from tracebench_runs.storage import files
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import open_regular

FORMAT_VERSION = 1
_OPEN = b'  "jobs": [\n'
_CLOSE = b"  ]\n}\n"


def write_manifest(
    layout: RunLayout, head: Mapping[str, Any], jobs: Iterable[JobSpec], *, durable: bool = True
) -> None:
    """Write the manifest: the fields of `head` (`format_version` and `run_id` come first), then one line per job.

    `head` is JSON data: `config_hash`, `created_at`, `versions` (core, plugins), `tasks` (versions and data hashes), `prices`,
    `features`, and whatever else holds for the whole run.
    """
    write_manifest_lines(layout, head, (escaped(job.model_dump_json()).encode() for job in jobs), durable=durable)


def write_manifest_lines(
    layout: RunLayout, head: Mapping[str, Any], lines: Iterable[bytes], *, durable: bool = True
) -> None:
    """Write the manifest from jobs that are JSON already."""
    if "jobs" in head:
        raise ValueError("`jobs` is not part of the manifest's head")
    files.make_dir(layout.meta)
    files.write_whole(
        layout.manifest,
        _chunks({"format_version": FORMAT_VERSION, "run_id": layout.run_id, **head}, lines),
        durable=durable,
    )


def read_head(layout: RunLayout) -> dict[str, Any]:
    """Return the manifest without its jobs.

    Raises:
        RunDirError: when there is no manifest, when it cannot be read, or when its format is newer than this reader.
    """
    text = bytearray()
    for line in _lines(layout):
        if line == _OPEN:
            text += b'  "jobs": []\n}\n'
            break
        text += line
    try:
        head = json.loads(text)
        version = head["format_version"]
        del head["jobs"]
    except (ValueError, TypeError, KeyError) as err:
        raise RunDirError(f"`{layout.manifest}` is not the manifest of a run") from err
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise RunDirError(
            f"run `{layout.run_id}` is of format version {version}; this version of tracebench-core reads up to {FORMAT_VERSION}",
            hint="pip install --upgrade tracebench-engine",
        )
    return dict(head)


def iter_job_lines(layout: RunLayout) -> Iterator[bytes]:
    """Yield every job of the manifest as one JSON text, in plan order."""
    inside = False
    for line in _lines(layout):
        if line == _OPEN:
            inside = True
        elif inside and line == b"  ]\n":
            return
        elif inside:
            yield line.strip().removesuffix(b",")
    if not inside:
        jobs = _reformatted(layout)
        yield from (json.dumps(job).encode() for job in jobs)


def _chunks(head: Mapping[str, Any], lines: Iterable[bytes]) -> Iterator[bytes]:
    fields = ["{"] + [f"  {json.dumps(k)}: {escaped(json.dumps(v, ensure_ascii=False))}," for k, v in head.items()]
    buffer = [("\n".join(fields) + "\n").encode(), _OPEN]
    separator = b"    "
    for line in lines:
        buffer += [separator, line]
        separator = b",\n    "
        if len(buffer) >= 512:  # noqa: PLR2004 - lines per write
            yield b"".join(buffer)
            buffer = []
    if separator != b"    ":
        buffer.append(b"\n")
    yield b"".join([*buffer, _CLOSE])


def _lines(layout: RunLayout) -> Iterator[bytes]:
    hint = f"trace-bench fsck {quoted(layout.path)} --repair" if layout.mirror.is_file() else ""
    try:
        with open_regular(layout.manifest) as lines:
            yield from lines
    except (FileNotFoundError, NotADirectoryError) as err:
        raise RunDirError(f"`{layout.path}` is not a run directory: it has no `meta/manifest.json`", hint=hint) from err
    except OSError as err:
        raise RunDirError(f"`{layout.manifest}` cannot be read: {err.strerror}.", hint=hint) from err


def _reformatted(layout: RunLayout) -> list[Any]:
    """Read a manifest that a person or tool has laid out anew."""
    try:
        jobs = json.loads(b"".join(_lines(layout)))["jobs"]
    except (ValueError, TypeError, KeyError) as err:
        raise RunDirError(f"`{layout.manifest}` is not the manifest of a run") from err
    if not isinstance(jobs, list):
        raise RunDirError(f"`{layout.manifest}` is not the manifest of a run")
    return jobs
