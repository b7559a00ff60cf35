"""What the journals of a run vouch for: read once, asked by everything that reads the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobStatus
from tracebench_core.store import files
from tracebench_core.store.journal import EndRecord, TrainedRecord, has_sum, is_sound
from tracebench_core.store.layout import RunLayout
from tracebench_core.store.seal import Seal, seal_of

_STATUSES = frozenset(get_args(JobStatus))


class JournalDamage(NamedTuple):
    """A journal that is not as it was written."""

    path: str
    lines: int
    """Complete lines that were changed, or are missing, doubled or out of place."""


@dataclass(slots=True)
class Trust:
    """The content of all journals of a run."""

    ends: dict[str, EndRecord] = field(default_factory=dict)
    """By job; of a job that was run again, the last."""
    restarted: set[str] = field(default_factory=set)
    """Jobs that were begun again after their last end record, which then says nothing of the files that lie there."""
    trained: dict[str, TrainedRecord] = field(default_factory=dict)
    """Jobs whose training is over and whose scoring was not declared finished."""
    meta: dict[str, set[str]] = field(default_factory=dict)
    """SHA-256 of the files of `meta/`, by path: all that they were."""
    seals: dict[str, Seal] = field(default_factory=dict)
    """Of files that grow, by path: the latest."""
    accepted: dict[str, Seal | None] = field(default_factory=dict)
    """Damage that a person took as it is, by path."""
    boots: set[str] = field(default_factory=set)
    """Starts of the machine on which the run was settled."""
    run_end: dict[str, Any] = field(default_factory=dict)
    """The last `run_ended` record; empty when the run went on since."""
    index: Seal | None = None
    """Of the index of files."""
    begun_since: set[str] = field(default_factory=set)
    """Jobs that were begun since the index was written."""
    damage: list[JournalDamage] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    """Journals with a line that a crash cut short."""

    def end(self, job_id: str) -> EndRecord | None:
        """Return the end record that speaks of a job's present files."""
        return None if job_id in self.restarted else self.ends.get(job_id)

    def is_intact(self, layout: RunLayout, path: str, expected: Seal | None) -> bool:
        """Say whether a file, or its beginning, is what it was sealed as, or what a person accepted in its place."""
        if path in self.accepted:
            accepted = self.accepted[path]
            return accepted == seal_of(layout.path / path, size=accepted.size if accepted else None)
        return expected is None or seal_of(layout.path / path, size=expected.size) == expected

    def is_whole(self, layout: RunLayout, path: str, expected: Seal | None) -> bool:
        """Say whether a file is what it was sealed as, with nothing after it."""
        if path in self.accepted:
            return self.is_intact(layout, path, expected)
        return expected is None or seal_of(layout.path / path) == expected

    def holds_meta(self, layout: RunLayout, path: str) -> bool:
        """Say whether a file of `meta/` is one that the journal knows; of a run without such records every file is."""
        known = self.meta.get(path)
        if known is None:
            return True
        found = seal_of(layout.path / path)
        return found is not None and (found.sha256 in known or self.accepted.get(path) == found)

    def demand_meta(self, layout: RunLayout, path: Path) -> None:
        """Refuse a damaged file of `meta/`.

        Raises:
            RunDirError: when it is not what the journal knows.
        """
        if not self.holds_meta(layout, path.relative_to(layout.path).as_posix()):
            raise damaged(layout, path)

    def demand_growing(self, layout: RunLayout) -> None:
        """Refuse a run whose ledger, recording or control log lost or changed what the journal sealed.

        Raises:
            RunDirError: naming the first that did.
        """
        for name, path in layout.growing().items():
            if not self.is_intact(layout, name, self.seals.get(name)):
                raise damaged(layout, path)


def damaged(layout: RunLayout, path: Path) -> RunDirError:
    """Return the error for a file that is not what the journal vouches for."""
    return RunDirError(
        f"`{path}` is not the file that the journal of the run vouches for: it was damaged or edited.",
        hint=f"trace-bench fsck {layout.path}",
    )


def read_trust(run_dir: Path | RunLayout) -> Trust:
    """Read every journal of a run. Lines that do not parse, or do not vouch for themselves, are left out and told."""
    layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
    trust = Trust()
    latest: dict[str, str] = {}
    for path in layout.journals():
        name = path.relative_to(layout.path).as_posix()
        ends_here: dict[str, str] = {}
        for record in _sound_records(path, name, trust):
            try:
                _take(trust, record, latest=latest, ends_here=ends_here)
            except (TypeError, KeyError, ValueError, AttributeError):
                continue
    return trust


def end_records(run_dir: Path | RunLayout) -> dict[str, EndRecord]:
    """Return each job's last end record, whatever happened since."""
    return read_trust(run_dir).ends


def finished_jobs(run_dir: Path | RunLayout) -> dict[str, JobStatus]:
    """Return the status of every job that a journal declares finished."""
    return {job_id: end.status for job_id, end in end_records(run_dir).items()}


def is_settled(run_dir: Path | RunLayout) -> bool:
    """Say whether a journal was settled since the machine started: then nothing that was written can have been lost."""
    boot = files.boot_id()
    return bool(boot) and boot in read_trust(run_dir).boots


def _take(trust: Trust, record: Mapping[str, Any], *, latest: dict[str, str], ends_here: dict[str, str]) -> None:
    match record["kind"]:
        case "job_finished":
            _take_end(trust, record, latest=latest, ends_here=ends_here)
        case "job_started" | "job_trained":
            _take_progress(trust, record)
        case "opened":
            for path, seal in _seals(record).items():
                trust.meta.setdefault(path, set()).add(seal.sha256)
        case "sealed":
            trust.seals |= _seals(record)
        case "settled":
            trust.boots.add(str(record["boot"]))
        case "run_ended":
            trust.run_end = dict(record)
        case "indexed":
            trust.index = Seal.from_json(record["index"])
            trust.begun_since.clear()
        case "accepted":
            trust.accepted[str(record["path"])] = Seal.from_json(record["now"])


def _take_progress(trust: Trust, record: Mapping[str, Any]) -> None:
    job = str(record["job"])
    if record["kind"] == "job_trained":
        if (events := Seal.from_json(record["events"])) is not None:
            trust.trained[job] = TrainedRecord(events, str(record["ended"]), str(record["attempt"]))
        return
    if record.get("phase") != "score":
        trust.trained.pop(job, None)
    trust.restarted.add(job)
    trust.begun_since.add(job)
    trust.run_end = {}


def _seals(record: Mapping[str, Any]) -> dict[str, Seal]:
    return {path: seal for path, data in record["files"].items() if (seal := Seal.from_json(data)) is not None}


def _take_end(trust: Trust, record: Mapping[str, Any], *, latest: dict[str, str], ends_here: dict[str, str]) -> None:
    """Take an end record: within a journal the later line counts, whatever the clock says; between journals the later time."""
    at, job, status = record["t"], record["job"], record["status"]
    if status not in _STATUSES or not isinstance(job, str):
        return
    if job not in latest or job in ends_here or at >= latest[job]:
        latest[job] = ends_here[job] = at
        trust.ends[job] = EndRecord(job, status, str(record["digest"]), Seal.from_json(record.get("events")))
        trust.restarted.discard(job)
        trust.trained.pop(job, None)


def _sound_records(path: Path, name: str, trust: Trust) -> Iterator[Any]:
    """Yield the records of one journal that are as they were written, each once, and note what is not."""
    lines, torn = files.read_lines(path)
    unsound = damage = 0
    expected: int | None = None
    seen: set[int] = set()
    sums_began = False
    for line in lines:
        if not is_sound(line):
            if not sums_began and not has_sum(line):
                yield from _parsed(line)  # written by an older version
            unsound += 1
            continue
        record = json.loads(line)
        number = int(record["n"])
        first_expected = number if lines and not has_sum(lines[0]) else 0
        wanted = expected if expected is not None else first_expected
        if number == wanted:
            trust.torn += [name] * (unsound > 0 and sums_began)
        else:
            damage += 1
        expected = max(number, wanted - 1) + 1
        unsound, sums_began = 0, True
        if number not in seen:
            seen.add(number)
            yield record
    if sums_began and unsound:
        if torn and unsound == 1:
            trust.torn.append(name)
        else:
            damage += unsound
    if damage and not _is_accepted(trust, path, name):
        trust.damage.append(JournalDamage(name, damage))


def _is_accepted(trust: Trust, path: Path, name: str) -> bool:
    accepted = trust.accepted.get(name)
    return accepted is not None and seal_of(path, size=accepted.size) == accepted


def _parsed(line: bytes) -> Iterator[Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return
    if isinstance(record, dict):
        yield record
