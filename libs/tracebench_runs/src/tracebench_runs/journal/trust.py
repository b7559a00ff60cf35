"""What the journals of a run vouch for: read once, asked by everything that reads the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.specs import JobStatus
from tracebench_runs.journal.journal import EndRecord, TrainedRecord
from tracebench_runs.journal.keys import last_seen
from tracebench_runs.journal.lines import STATUSES, JournalReader, TimedEnd
from tracebench_runs.journal.sifted import Sifted, sift
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import Seal, seal_of

_STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
_DIGEST = 32
"""Bytes of a SHA-256."""
_SIZE = 8
"""Bytes of a status and a size."""


class Ends(MutableMapping[str, EndRecord]):
    """Behaves as a dict of end records by job; what it gives is equal to what was put in."""

    def __init__(self) -> None:
        self._kept: dict[str, EndRecord | bytes] = {}

    def __getitem__(self, job_id: str) -> EndRecord:
        kept = self._kept[job_id]
        if isinstance(kept, EndRecord):
            return kept
        parts = [kept[1:_SIZE], kept[_SIZE : _SIZE + _DIGEST], kept[_SIZE + _DIGEST :]]
        seal = Seal(int.from_bytes(parts[0], "big"), parts[2].hex())
        return EndRecord(job_id, _STATUSES[kept[0]], parts[1].hex(), seal)

    def __setitem__(self, job_id: str, end: EndRecord) -> None:
        self._kept[job_id] = _packed(end) if end.job_id == job_id else end

    def __delitem__(self, job_id: str) -> None:
        del self._kept[job_id]

    def clear(self) -> None:
        """Let go of all at once: one by one from its beginning, a dict of n takes the square of n steps."""
        self._kept.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def _packed(end: EndRecord) -> EndRecord | bytes:
    """Return status, size and both digests as bytes; a record that could not be given back as it was stays one."""
    seal = end.events
    if seal is None or not 0 <= seal.size < 1 << 8 * (_SIZE - 1):
        return end
    try:
        digests = [bytes.fromhex(text) for text in (end.digest, seal.sha256)]
    except ValueError:
        return end
    if any(len(d) != _DIGEST for d in digests) or [d.hex() for d in digests] != [end.digest, seal.sha256]:
        return end
    return b"".join([bytes([_STATUSES.index(end.status)]), seal.size.to_bytes(_SIZE - 1, "big"), *digests])


class JournalDamage(NamedTuple):
    """A journal that is not as it was written."""

    path: str
    lines: int
    """Complete lines that were changed, or are missing, doubled or out of place."""
    words: tuple[str, ...] = ()
    """Which, where the chain tells."""


class ChainEnd(NamedTuple):
    """How far the chain of a journal has come."""

    n: int
    """Number of its last line."""
    head: str
    """Digest of that line, which speaks for all lines before it."""
    lost_keys: tuple[str, ...] = ()
    """Ids of the keys that are not here, so that lines could be changed and chained anew."""


@dataclass(slots=True)
class Trust:
    """The content of all journals of a run."""

    ends: Ends = field(default_factory=Ends)
    """By job; of a job that was run again, the last."""
    restarted: set[str] = field(default_factory=set)
    """Jobs that were begun again after their last end record, which then says nothing of the files that lie there."""
    leaning: set[str] = field(default_factory=set)
    """Of those that were begun since their last end record: what lies there is believed only when their runner declares it finished."""
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
    chains: dict[str, ChainEnd] = field(default_factory=dict)
    """By journal; of one that is not chained there is none."""
    damage: list[JournalDamage] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    """Journals with a line that a crash cut short."""
    stamps: tuple[tuple[Any, ...], ...] = ()
    """Of the journals as they were when they were read."""

    def end(self, job_id: str) -> EndRecord | None:
        """Return the end record that speaks of a job's present files."""
        return None if job_id in self.restarted else self.ends.get(job_id)

    def needs_its_runner(self, job_id: str) -> bool:
        """Say whether a job without an end record leans on its runner, or a power cut took its start, and with it whether it does."""
        is_early = not self.meta or any(path.startswith("journal-") for path in self.accepted)
        return job_id in self.leaning or not (is_early or job_id in self.restarted)

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
        hint=f"trace-bench fsck {quoted(layout.path)}",
    )


def read_trust(run_dir: Path | RunLayout, *, known: Trust | None = None) -> Trust:
    """Read every journal of a run. Lines that do not parse, or do not vouch for themselves, are left out and told.

    Return `known`, which was read earlier, where no journal has changed since.
    """
    layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
    if known is not None and known.stamps == _stamps(layout):
        return known
    stamps = _stamps(layout)
    sifted: dict[str, Sifted] = {}
    while (broken := _read(layout, trust := Trust(stamps=stamps), sifted)) is not None:
        sifted[broken.name] = sift(broken, seen=last_seen(layout, broken.name))
    return trust


def _read(layout: RunLayout, trust: Trust, sifted: Mapping[str, Sifted]) -> Path | None:
    """Take in every journal; return the first of those that are not sifted yet and have to be."""
    latest: dict[str, str] = {}
    for path in layout.journals():
        name = path.relative_to(layout.path).as_posix()
        found = sifted.get(name)
        reader = JournalReader(path, seen=last_seen(layout, name))
        ends_here: set[str] = set()
        for record in reader if found is None else found.records:
            with suppress(TypeError, KeyError, ValueError, AttributeError):
                if isinstance(record, TimedEnd) or record["kind"] == "job_finished":
                    _take_end(trust, _end_of(record), latest=latest, ends_here=ends_here)
                else:
                    _take(trust, record)
        if reader.is_broken:
            return path
        damage = JournalDamage(name, reader.damage)
        if found is not None:
            damage = JournalDamage(name, len(found.faults), tuple(found.faults))
        trust.torn += [name] * (reader.torn if found is None else found.torn)
        if damage.lines and not _is_accepted(trust, path, name):
            trust.damage.append(damage)
        if found is not None or reader.is_chained:
            told = found if found is not None else reader
            trust.chains[name] = ChainEnd(told.n, told.head, tuple(told.lost_keys))
    return None


def end_records(run_dir: Path | RunLayout) -> Mapping[str, EndRecord]:
    """Return each job's last end record, whatever happened since."""
    return read_trust(run_dir).ends


def finished_jobs(run_dir: Path | RunLayout) -> dict[str, JobStatus]:
    """Return the status of every job that a journal declares finished."""
    return {job_id: end.status for job_id, end in end_records(run_dir).items()}


def is_settled(run_dir: Path | RunLayout) -> bool:
    """Say whether a journal was settled since the machine started: then nothing that was written can have been lost."""
    boot = files.boot_id()
    return bool(boot) and boot in read_trust(run_dir).boots


def _stamps(layout: RunLayout) -> tuple[tuple[Any, ...], ...]:
    try:
        found = [(path.name, path.stat()) for path in layout.journals()]
    except OSError:
        return ((),)  # which no other reading has
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in found)


def _take(trust: Trust, record: Mapping[str, Any]) -> None:
    match record["kind"]:
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
    (trust.leaning.add if record.get("leans") else trust.leaning.discard)(job)
    trust.begun_since.add(job)
    trust.run_end = {}


def _seals(record: Mapping[str, Any]) -> dict[str, Seal]:
    return {path: seal for path, data in record["files"].items() if (seal := Seal.from_json(data)) is not None}


def _end_of(record: TimedEnd | Mapping[str, Any]) -> TimedEnd:
    """Return an end record as it was read; raises as what is none does."""
    if isinstance(record, TimedEnd):
        return record
    job, status = record["job"], record["status"]
    if status not in STATUSES or not isinstance(job, str):
        raise ValueError(status)
    return TimedEnd(record["t"], EndRecord(job, status, str(record["digest"]), Seal.from_json(record.get("events"))))


def _take_end(trust: Trust, timed: TimedEnd, *, latest: dict[str, str], ends_here: set[str]) -> None:
    """Take an end record: within a journal the later line counts, whatever the clock says; between journals the later time."""
    at, end = timed
    job = end.job_id
    if job not in latest or job in ends_here or at >= latest[job]:
        latest[job] = at
        ends_here.add(job)
        trust.ends[job] = end
        trust.restarted.discard(job)
        trust.leaning.discard(job)
        if end.status != "unscored":  # its training stays as it is, for another scoring
            trust.trained.pop(job, None)


def _is_accepted(trust: Trust, path: Path, name: str) -> bool:
    accepted = trust.accepted.get(name)
    return accepted is not None and seal_of(path, size=accepted.size) == accepted
