"""`results.json`: one job's reduction as bytes, written so that it survives a power cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobResult, StepResult
from tracebench_core.specs.job import ADDED_TO_RESULTS
from tracebench_runs.journal.trust import Trust, damaged, read_trust
from tracebench_runs.storage import files
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.layout import JobLayout
from tracebench_runs.storage.regular import read_whole

LONG = 1_000_000
"""Bytes of a result from which on its steps are read one after another."""
TOGETHER = 1000
_STEPS = b'\n  "steps": [\n    '
_NO_STEPS = b'\n  "steps": [],\n'
_BETWEEN = b",\n    "
_NEXT = b"\n    },\n    {"
"""The end of a step and the beginning of the next."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result as it lies on disk, with the SHA-256 of its bytes."""

    result: JobResult
    digest: str


def result_bytes(result: JobResult) -> bytes:
    """Return the one text of a result: fields in declared order, two spaces of indent, a final newline; it is `inert`."""
    return _text(result, without=set())


def sealed_bytes(result: JobResult, digest: str) -> bytes | None:
    """Return the text of a result that has this SHA-256, as this version or an older one writes it; None where neither has."""
    for had in range(len(ADDED_TO_RESULTS), -1, -1):  # today's version, the one before it, and so on
        text = _text(result, without=set(ADDED_TO_RESULTS[had:]))
        if content_hash(text) == digest:
            return text
    return None


def write_result(layout: JobLayout, result: JobResult, *, durable: bool = True, digest: str = "") -> StoredResult:
    """Write `results.json`; with `durable` it and the job's folder survive a power cut once this returns.

    A job's process leaves that to the job's commit, which names the digest in the journal. Where it is named already, `digest` says so.
    """
    data = sealed_bytes(result, digest) or result_bytes(result)
    files.write_whole(layout.results, data, durable=durable)
    if durable:
        files.sync_folder(layout.path.parent)
    return StoredResult(result, content_hash(data))


def write_long_result(layout: JobLayout, result: JobResult, steps: Iterable[StepResult]) -> None:
    """Write `results.json` of a result without its steps, which are written as they come: the text is that of `result_bytes`.

    It survives a power cut only after the job's commit.
    """
    before, found, after = result_bytes(result).partition(_NO_STEPS)
    if not found:
        raise ValueError("this result has steps of its own")
    files.write_whole(layout.results, chain([before], _steps_text(steps), [after]))


def read_result(layout: JobLayout) -> StoredResult:
    """Read `results.json`.

    Raises:
        RunDirError: when it is missing, cannot be parsed, or is of another job.
    """
    try:
        data = read_whole(layout.results)
        result = _read(data)
    except FileNotFoundError as err:
        raise RunDirError(f"job `{layout.job_id}` has no `results.json`") from err
    except (OSError, ValidationError) as err:
        raise RunDirError(f"`{layout.results}` cannot be read as a result") from err
    if result.job_id != layout.job_id:
        raise RunDirError(f"`{layout.results}` is the result of job `{result.job_id}`")
    return StoredResult(result, content_hash(data))


def _steps_text(steps: Iterable[StepResult]) -> Iterator[bytes]:
    """Yield the lines of `steps`, some thousand steps at a time."""
    left = iter(steps)
    begin = b'\n  "steps": [\n    '
    while some := [*islice(left, TOGETHER)]:
        yield begin + _BETWEEN.join(escaped(s.model_dump_json(indent=2)).replace("\n", "\n    ").encode() for s in some)
        begin = _BETWEEN
    yield b"\n  ],\n" if begin is _BETWEEN else _NO_STEPS


def _read(data: bytes) -> JobResult:
    """Read a result; the steps of a long one are read one after another, since all at once take several times their memory."""
    begin = data.find(_STEPS) if len(data) > LONG else -1
    end = data.find(b"\n  ],\n", begin)
    if begin < 0 or end < 0:
        return JobResult.model_validate_json(data)
    found = JobResult.model_validate_json(data[:begin] + _NO_STEPS + data[end + 6 :])
    if found.steps:  # named twice
        return JobResult.model_validate_json(data)
    steps: list[StepResult] = []
    at = begin + len(_STEPS)
    while at < end:
        following = data.find(_NEXT, at, end)
        last, then = (end, end) if following < 0 else (following + _NEXT.index(b","), following + len(_NEXT) - 1)
        steps.append(StepResult.model_validate_json(data[at:last]))
        at = then
    return found.model_copy(update={"steps": tuple(steps)})


def _text(result: JobResult, *, without: set[str]) -> bytes:
    return escaped(result.model_dump_json(indent=2, exclude=without)).encode() + b"\n"


def trusted_result(layout: JobLayout, *, trust: Trust) -> JobResult | None:
    """Return a job's result, None where there is none that can be read; of a run under way, what the journal says now decides.

    Raises:
        RunDirError: when it is not what the journal vouches for.
    """
    try:
        stored = read_result(layout)
    except RunDirError:
        stored = None
    digest = stored.digest if stored is not None else None
    job_id = layout.job_id
    if not _fits(digest, trust, job_id) and not _fits(digest, read_trust(layout.run, known=trust), job_id):
        raise damaged(layout.run, layout.results)
    return stored.result if stored is not None else None


def _fits(digest: str | None, trust: Trust, job_id: str) -> bool:
    """Say whether nothing speaks against a result: where a chain was broken, the end record that is missing may be what was changed."""
    end = trust.end(job_id)
    if end is None:
        return digest is None or not (trust.damage and trust.chains)
    return not end.digest or end.digest == digest
