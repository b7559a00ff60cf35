"""Reads a recording back: the reply to a request, by job and n-th time of asking, and the nearest one when there is none."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from tracebench_core.errors import RunDirError
from tracebench_core.specs import ModelIdentity, Role
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE, CASSETTE_VERSION, request_content
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens

LLM_FOLDER = "llm"
MOST_COMPARED = 500
"""Recorded requests that are compared with one that is missing."""
SHOWN_AROUND = 30
"""Characters shown on each side of the first difference."""
REPLIES_KEPT = 1024

Entry = dict[str, Any]


class Player:
    """A whole recording, indexed in memory; blobs are read when they are asked for.

    A request is answered as it was for the job that is repeated. Where the recording tells which evaluation asked, that one is answered as
    it was itself, in whatever order those under way together arrive; for proposals, and of older recordings, the n-th time counts. A job
    that is not on the recording is answered as the job of the same seed was, else as the first job that asked the same.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / CALLS_FILE
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        self._by_job: dict[tuple[str, str, int], Entry] = {}
        self._by_seed: dict[tuple[int, str, int], Entry] = {}
        self._by_request: dict[tuple[str, int], Entry] = {}
        self._entries: list[Entry] = []
        for entry in entries(self._path):
            digest, occurrence = entry["digest"], entry["occurrence"]
            # A job that ran twice is answered as it was the last time: that is the try that its results are from.
            self._by_job[entry["job_id"], digest, occurrence] = entry
            self._by_seed.setdefault((entry["seed"], digest, occurrence), entry)
            self._by_request.setdefault((digest, occurrence), entry)
            self._entries.append(entry)
        self._by_asker: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
        for job_id, digest, occurrence in sorted(self._by_job):
            entry = self._by_job[job_id, digest, occurrence]
            if "asker" in entry:
                self._by_asker[job_id, digest, entry["asker"]].append(entry)
        self._content = lru_cache(maxsize=REPLIES_KEPT)(self._blobs.get)

    def reply(self, request: ChatRequest) -> Reply:
        """Return the recorded reply.

        Raises:
            ProviderError: the recorded failure, or `replay_miss` naming the nearest request and the first difference.
        """
        own = self._by_asker.get((request.recorded or request.job_id, request.digest, request.asker), [])
        entry = self._by_arrival(request) if not own else own[request.turn] if request.turn < len(own) else None
        if entry is None:
            raise ProviderError(self._explain_miss(request), kind="replay_miss")
        metered = metered_as_kept(entry)
        if "error" in entry:
            error = entry["error"]
            raise ProviderError(error["message"], kind=error["kind"], status_code=error["status_code"], metered=metered)
        content = json.loads(self._content(entry["reply"]))
        return Reply(content["message"], content["finish_reason"], metered=metered)

    def _by_arrival(self, request: ChatRequest) -> Entry | None:
        """Return what was answered the n-th time that a job asked this."""
        digest, occurrence = request.digest, request.occurrence
        return (
            self._by_job.get((request.recorded or request.job_id, digest, occurrence))
            or self._by_seed.get((request.seed, digest, occurrence))
            or self._by_request.get((digest, occurrence))
        )

    def _explain_miss(self, request: ChatRequest) -> str:
        if self._by_asker.get((request.recorded or request.job_id, request.digest, request.asker)):
            return f"in the recording `{self._path}` this evaluation asked this {request.turn} times, and now once more"
        times = sum(entry["digest"] == request.digest for entry in self._by_request.values())
        if times:
            return f"the recording `{self._path}` answers this request {times} times in a job, not {request.occurrence + 1}"
        wanted = _as_text(request_content(request))
        nearest, likeness = None, -1.0
        for name in list(dict.fromkeys(entry["request"] for entry in self._entries))[:MOST_COMPARED]:
            text = _as_text(json.loads(self._blobs.get(name)))
            ratio = SequenceMatcher(None, wanted, text, autojunk=False).quick_ratio()
            if ratio > likeness:
                nearest, likeness = (name, text), ratio
        if nearest is None:
            return f"the recording `{self._path}` is empty"
        return f"not on the recording `{self._path}`; nearest is `{nearest[0][:12]}`: {_first_difference(wanted, nearest[1])}"


_FIELDS = ("digest", "occurrence", "metered", "job_id", "role", "request")
"""Of each recorded call; beside them there is an error or a reply."""


def check_recording(run_dir: Path) -> None:
    """See that a run has a recording that this version reads.

    Raises:
        RunDirError: saying what is wrong with it.
    """
    next(entries(run_dir / LLM_FOLDER / CALLS_FILE), None)


def recorded_models(run_dir: Path) -> dict[Role, ModelIdentity]:
    """Return who answered each role in a recorded run, so that its replay can ask in the same names.

    Raises:
        RunDirError: when the run has no recording that can be read.
    """
    folder = run_dir / LLM_FOLDER
    blobs = Blobs(folder / BLOBS_FOLDER)
    found: dict[Role, ModelIdentity] = {}
    for entry in entries(folder / CALLS_FILE):
        if entry["role"] not in found:
            found[entry["role"]] = ModelIdentity(**json.loads(blobs.get(entry["request"]))["model"])
            if len(found) == len(get_args(Role)):
                break
    return found


def entries(path: Path) -> Iterator[Entry]:
    """Yield the recorded calls. A torn last line is what a crash leaves; damage before it is not forgiven."""
    if not path.is_file():
        raise RunDirError(
            f"`{path.parent.parent}` was not recorded: there is no `{path}`",
            hint="trace-bench run --config FILE -o llm.record=true",
        )
    with path.open("rb") as lines:
        _check_version(lines.readline(), path)
        damaged = 0
        for number, line in enumerate(lines, start=2):
            if damaged:
                raise RunDirError(f"the recording `{path}` is damaged in line {damaged}")
            try:
                entry = json.loads(line)
                for name in (*_FIELDS, "error" if "error" in entry else "reply"):
                    entry[name]
            except (ValueError, KeyError, TypeError):
                damaged = number
                continue
            yield entry


def _check_version(line: bytes, path: Path) -> None:
    try:
        version = json.loads(line)["cassette"]
    except (ValueError, KeyError, TypeError) as err:
        raise RunDirError(f"`{path}` is no recording: its first line names no version") from err
    if version != CASSETTE_VERSION:
        raise RunDirError(
            f"the recording `{path}` has format {version}; this version reads format {CASSETTE_VERSION}",
            hint="pip install --upgrade tracebench-engine",
        )


def metered_as_kept(entry: Entry) -> Metered:
    """Return what a recorded call cost when it was made."""
    kept = entry["metered"]
    return Metered(**kept | {"tokens": Tokens(**kept["tokens"])})


def _as_text(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False)


def _first_difference(wanted: str, recorded: str) -> str:
    pairs = enumerate(zip(wanted, recorded, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(wanted), len(recorded)))
    start, end = max(0, place - SHOWN_AROUND), place + SHOWN_AROUND
    return f"asked {wanted[start:end]!r}, recorded {recorded[start:end]!r}"
