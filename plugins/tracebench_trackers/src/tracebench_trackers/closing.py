"""What a job has come to, read from its log once that has ended: tokens by kind, texts of candidates, files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator

from tracebench_core.specs import JobResult
from tracebench_core.specs.events import CandidateSeen
from tracebench_runs import BlobStore, JobLayout, reduce_job, stream_events
from tracebench_trackers.readings import Kept, Numbers
from tracebench_trackers.settings import Part

INITIAL = "c0"
"""The id of the candidate that a job begins with."""
LARGEST = 20_000_000
"""Bytes of a file that is kept."""
LONGEST_NAME = 150
"""Bytes of a file's name."""
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "llm_calls")


def closing(layout: JobLayout, *, keep: Collection[Part]) -> Iterator[Numbers | Kept]:
    """Yield what a tracker is told of a job before its end: usage of each role, then of `keep` what there is."""
    result = reduce_job(stream_events(layout))
    usage = {
        f"usage/{role}/{name}": float(getattr(used, name)) for role, used in result.usage.items() for name in COUNTS
    }
    for name in COUNTS:
        usage[f"usage/{name}"] = float(sum(getattr(used, name) for used in result.usage.values()))
    yield Numbers(usage, at=None)
    if "candidates" in keep:
        yield from _candidates(layout, result)
    for part, path in (("events", layout.events), ("log", layout.stdout)):
        if part in keep and path.is_file() and path.stat().st_size <= LARGEST:
            yield Kept(path.name, path=path)


def _candidates(layout: JobLayout, result: JobResult) -> Iterator[Kept]:
    """Yield each parameter of the initial and of the best candidate as a text of its own."""
    wanted = {INITIAL: "initial", result.best_candidate: "best"}
    blobs = BlobStore(layout.blobs)
    for event in stream_events(layout):
        if isinstance(event, CandidateSeen) and event.id in wanted:
            for name, value in blobs.expand(event.values).items():
                text = value if isinstance(value, str) else json.dumps(value, indent=2)
                yield Kept(f"candidates/{wanted[event.id]}/{_file_name(name)}.txt", text)


def _file_name(parameter: str) -> str:
    """Return a name that any file may have; what is changed in it, or cut off, is told from others by a digest."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in parameter).lstrip(".")
    short = safe.encode()[:LONGEST_NAME].decode(errors="ignore")
    digest = hashlib.sha256(parameter.encode(errors="surrogatepass")).hexdigest()[:8]
    return short if short == parameter and short else f"{short or '_'}-{digest}"
